// SPDX-License-Identifier: Apache-2.0
import { join } from "node:path";
import { type TempFolder, tempFolder } from "@purlin/base/testing/temp-folder";
import { fromJson, RunFunctionRequest, RunFunctionResponse } from "@purlin/function-protocol";
import type { KubeObject } from "@purlin/kube-objects/object";
import { openRunStore, type Run, type RunStepMessages, readRunStore } from "@purlin/run-store";

type RunRecord = Parameters<ReturnType<typeof openRunStore>["record"]>[0];
type StepRecord = RunRecord["steps"][number];

const xr: KubeObject = {
  ...{ apiVersion: "acme.org/v1", kind: "App", metadata: { name: "shop", namespace: "dev", uid: "u" } },
  spec: { size: "s" },
};
const revision: KubeObject = {
  ...{ apiVersion: "apiextensions.crossplane.io/v1", kind: "CompositionRevision" },
  metadata: { name: "apps-1", labels: { "crossplane.io/composition-name": "apps" } },
};
const observed = { composite: { resource: xr } };
const box = (spec: object): object => ({ resource: { apiVersion: "acme.org/v1", kind: "Box", spec } });

function step(index: number, name: string, messages: readonly object[], more: Partial<StepRecord> = {}): StepRecord {
  const [request = {}, response] = messages;
  const call = {
    request: fromJson(RunFunctionRequest, { observed, ...request }),
    response: response && fromJson(RunFunctionResponse, response),
  };
  return {
    ...{ index, name, functionName: `function-${name}`, revisionName: `function-${name}-abc`, packageRef: "p" },
    ...{ durationMs: 12.4, isCached: false, calls: [call], ...more },
  };
}

/** Later than now, so that no run is too old. */
const start = Date.parse("2090-01-02T03:04:05Z");

const record = (minute: number, more: Partial<RunRecord>): RunRecord => ({
  ...{ xr, after: xr, cause: "spec", beganMs: start + minute * 60_000, endedMs: start + minute * 60_000 + 20 },
  ...{ revision, steps: [], writes: [], outcome: "composed", ...more },
});

/** A response, or a request, that wants one box. */
export const desired = (spec: object): object => ({ desired: { resources: { box: box(spec) } } });
const condition = { type: "Ready", status: "True", reason: "Available", message: "fine" };

/** Oldest first: two that differ in a field, one that failed in its second step, and one that ended before its pipeline. */
const records: readonly RunRecord[] = [
  record(0, {
    steps: [step(0, "compose", [{ input: { mode: "a" } }, desired({ size: "s", n: 1 })])],
  }),
  record(1, {
    steps: [
      step(0, "compose", [{ input: { mode: "b" } }, desired({ size: "s", n: 2 })]),
      step(1, "ready", [
        desired({ size: "s", n: 2 }),
        {
          desired: { resources: { box: { ...box({ size: "s" }), ready: "READY_TRUE" }, extra: box({ a: 1 }) } },
          results: [{ severity: "SEVERITY_WARNING", message: "careful\u001b[2J" }],
        },
      ]),
    ],
    after: { ...xr, status: { conditions: [condition] } },
    writes: [{ verb: "apply", apiVersion: "acme.org/v1", kind: "Box", name: "shop-box", after: xr }],
  }),
  record(2, {
    steps: [
      step(0, "compose", [desired({}), desired({})], { isCached: true, revisionName: "fn@localhost:9443" }),
      step(1, "ready", [{}], { error: "deadline exceeded" }),
    ],
    outcome: "failed",
    error: { reason: "ComposeResources", message: "cannot compose" },
  }),
  record(3, { outcome: "failed", revision: undefined, error: { reason: "SelectComposition", message: "none" } }),
];

/** A folder with recorded runs in `runs`, and their identifiers, oldest first. */
export interface RecordedFolder extends TempFolder {
  readonly ids: readonly string[];
}

/** Records four runs of the composite resource App shop. */
export function recordedFolder(): RecordedFolder {
  const folder = tempFolder();
  const directory = join(folder.path, "runs");
  using store = openRunStore({ directory });
  for (const one of records) store.record(one);
  store.flush();
  using reader = readRunStore(directory);
  const ids = reader.list().map(({ id }) => id);
  return { ...folder, ids: ids.toReversed(), [Symbol.dispose]: () => folder[Symbol.dispose]() };
}

/** A step of a recorded run with one call, whose messages are protobuf-JSON. */
export function recordedStep(
  name: string,
  {
    request = {},
    response,
    ...members
  }: { readonly request?: object; readonly response?: object } & Partial<RunStepMessages> = {},
): RunStepMessages {
  const answered = response === undefined ? {} : { response: fromJson(RunFunctionResponse, response) };
  return {
    ...{ index: 0, name, function: `function-${name}`, package: `example.org/${name}:v1`, revision: `${name}-1` },
    ...{ cached: false, durationMs: 12.4, bytesIn: 100, bytesOut: 200 },
    calls: [{ request: fromJson(RunFunctionRequest, request), ...answered }],
    ...members,
  } as RunStepMessages;
}

/** A recorded run of the composite resource App shop. */
export function recordedRun(members: Partial<Run> = {}): Run {
  return {
    ...{ id: "01ABCDEFGH", xr: { apiVersion: "acme.org/v1", kind: "App", name: "shop" }, uid: "u", generation: 1 },
    ...{ resourceVersion: "5", composition: "apps", compositionRevision: "apps-1", cause: "spec", conditions: [] },
    ...{ began: "2026-01-01T00:00:00Z", last: "2026-01-01T00:00:00Z", durationMs: 20, outcome: "composed" },
    ...{ steps: [], writes: [], repeats: 0 },
    composite: { apiVersion: "acme.org/v1", kind: "App", metadata: { name: "shop" }, spec: { size: "s" } },
    ...members,
  } as Run;
}
