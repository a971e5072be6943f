// SPDX-License-Identifier: Apache-2.0
// Causes that need recorded runs, and the output without a recorder.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import type { JsonObject } from "@purlin/kube-objects/json";
import type { KubeObject } from "@purlin/kube-objects/object";
import {
  app,
  type ConditionInput,
  creating,
  failed,
  ready,
  type StaticCluster,
  startStaticCluster,
  stored,
  withStatus,
} from "../test/platform.ts";
import { explainObject } from "./explain.ts";
import type { Explanation, RecordedRun, RunHistory } from "./model/explanation.ts";
import { explanationText } from "./print-explanation.ts";

let cluster: StaticCluster;
before(async () => {
  cluster = await startStaticCluster();
});
after(() => cluster[Symbol.asyncDispose]());

type Desired = RecordedRun["desired"];
type Step = RecordedRun["steps"][number];

const time = "2026-01-01T00:00:00Z";
const web = (spec: JsonObject): JsonObject => ({
  apiVersion: "apps/v1",
  kind: "Deployment",
  metadata: { name: "web", namespace: "default" },
  spec,
});
const one = (object: JsonObject, state: "True" | "False" | "Unspecified" = "True"): Desired => ({
  resources: { web: { object, ready: state } },
});

function run(
  desired: Desired,
  {
    step = {},
    observed = {},
    id = "r1",
    observedHash = "h",
  }: {
    readonly step?: Partial<Step>;
    readonly observed?: RecordedRun["observed"];
    readonly id?: string;
    readonly observedHash?: string;
  } = {},
): RecordedRun {
  const own: Step = {
    step: "render",
    functionName: "fn",
    durationMs: 10,
    rounds: [],
    missing: [],
    warnings: [],
    desired,
    ...step,
  };
  return { id, time, observedHash, observed, steps: [own], desired };
}

const historyOf = (...runs: readonly RecordedRun[]): RunHistory => ({
  runsOf: async (_, limit) => runs.slice(0, limit),
});

async function explain(
  name: string,
  conditions: readonly ConditionInput[],
  history?: RunHistory,
  spec: JsonObject = {},
): Promise<Explanation> {
  const object = withStatus(app(name, spec), conditions);
  await cluster.put(object);
  return explainObject(await stored(cluster, object), { client: cluster.client, history });
}

function check(explanation: Explanation, code: string, says: RegExp): void {
  assert.equal(explanation.causes[0]?.code, code, explanationText(explanation));
  assert.match(explanation.causes[0]?.sentence ?? "", says);
}

const circuitOpen: ConditionInput = {
  type: "Responsive",
  status: "False",
  reason: "WatchCircuitOpen",
  message: "Too many watch events from Deployment/web (default). Allowing events periodically.",
};
const map = { what: "resource", apiVersion: "v1", kind: "ConfigMap", name: "regions", namespace: "default" } as const;

test("E30: requirements that change show what each call asked for", async () => {
  const text = `cannot compose resources: cannot run Composition pipeline step "render": cannot run Function "fn": requirements didn't stabilize after the maximum number of iterations (5)`;
  const history = historyOf(run({ resources: {} }, { step: { rounds: [["a"], ["b"], ["a"]] } }));
  check(await explain("unstable", [failed(text)], history), "E30", /it asked for a, then b, then a$/);
});

test("E31: a required object that does not exist; one that was created since is not a cause", async () => {
  const history = historyOf(run({ resources: {} }, { step: { missing: [map] } }));
  check(
    await explain("requires", creating(), history),
    "E31",
    /Step "render" requires ConfigMap default\/regions, which does not exist/,
  );
  await cluster.put({ apiVersion: "v1", kind: "ConfigMap", metadata: { name: "regions", namespace: "default" } });
  const later = await explain("requires", creating(), history);
  assert.deepEqual([later.verdict, later.causes], ["waiting", []]);
});

test("a step that misses an object and says that the composite resource is not ready is one cause", async () => {
  const absent = { ...map, name: "absent" };
  const history = historyOf(run({ compositeReady: "False", resources: {} }, { step: { missing: [absent] } }));
  const { causes } = await explain("both", creating(), history);
  assert.deepEqual(
    causes.map(({ code }) => code),
    ["E31"],
  );
});

test("E33: a required schema of a kind that is not served", async () => {
  const missing = [{ what: "schema", apiVersion: "s3.example.org/v1", kind: "Bucket" } as const];
  const history = historyOf(run({ resources: {} }, { step: { missing, warnings: ["no schema"] } }));
  check(await explain("schemas", creating(), history), "E33", /requires the schema of Bucket \(s3\.example\.org\/v1\)/);
});

test("E46: a status field that the XRD does not define", async () => {
  const history = historyOf(run({ composite: { status: { address: "10.0.0.1", seen: "x" } }, resources: {} }));
  check(
    await explain("pruned", creating(), history),
    "E46",
    /status\.address is not in the schema of apps\.example\.org.*step "render" sets it/,
  );
});

test("E47: no step reports readiness; a function that reports it later is waiting", async () => {
  const observed = { web: { ...web({}), status: { conditions: [{ type: "Ready", status: "True" }] } } };
  const unspecified = historyOf(run(one(web({}), "Unspecified"), { observed }));
  check(
    await explain("silent", creating("Unready resources: web"), unspecified),
    "E47",
    /No step reports whether web is ready/,
  );
  const reported = historyOf(run(one(web({}), "False"), { observed }));
  const waiting = await explain("silent", creating("Unready resources: web"), reported);
  assert.deepEqual([waiting.verdict, waiting.causes], ["waiting", []]);
});

test("E53: a step reports that the composite resource is not ready", async () => {
  const history = historyOf(run({ compositeReady: "False", resources: {} }));
  check(
    await explain("not-ready", creating(), history),
    "E53",
    /Step "render" reports that the composite resource is not ready/,
  );
});

test("E63: a field that two writers change names both managers and the path", async () => {
  const labels = { app: "web" };
  const template = { metadata: { labels }, spec: { containers: [{ name: "c", image: "i" }] } };
  const deployment = { ...web({ replicas: 2, selector: { matchLabels: labels }, template }) } as unknown as KubeObject;
  await cluster.client.apply(deployment, { fieldManager: "apiextensions.crossplane.io/composed/abc", force: true });
  const scaled = {
    apiVersion: "apps/v1",
    kind: "Deployment",
    metadata: { name: "web", namespace: "default" },
    spec: { replicas: 5 },
  };
  await cluster.client.apply(scaled, { fieldManager: "hpa", force: true });
  const observed = { web: web({ replicas: 5 }) };
  const history = historyOf(
    run(one(web({ replicas: 2 })), { observed }),
    run(one(web({ replicas: 2 })), { observed, id: "r0" }),
  );
  check(
    await explain("fight", [...ready, circuitOpen], history),
    "E63",
    /spec\.replicas of resource "web": step "render" sets 2 as .*, and hpa sets 5/,
  );
});

test("E64: a function that returns something else for equal input", async () => {
  const stamped = (stamp: string): Desired => one({ ...web({}), metadata: { name: "web", labels: { stamp } } });
  const history = historyOf(run(stamped("2")), run(stamped("1"), { id: "r0" }));
  check(
    await explain("random", [...ready, circuitOpen], history),
    "E64",
    /another metadata\.labels\.stamp of resource "web" in every run/,
  );
});

test("E66: a resource with another name replaces the old one", async () => {
  const history = historyOf(
    run({ resources: { database: { object: web({}), ready: "False" } } }),
    run({ resources: { db: { object: web({}), ready: "True" } } }, { id: "r0" }),
  );
  check(
    await explain("renamed", creating("Unready resources: database"), history),
    "E66",
    /"db" became "database": the old Deployment was deleted/,
  );
});

test("without a recorder the causes that need it say so", async () => {
  const explanation = await explain("unrecorded", creating());
  assert.match(explanationText(explanation), /recorder off/);
  check(await explain("loop", [...ready, circuitOpen]), "E62", /recorder off/);
});
