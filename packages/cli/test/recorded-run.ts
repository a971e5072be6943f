// SPDX-License-Identifier: Apache-2.0
import { fromJson, RunFunctionRequest, RunFunctionResponse } from "@purlin/function-protocol";
import type { Run, RunStepMessages } from "@purlin/run-store";

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
