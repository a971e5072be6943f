// SPDX-License-Identifier: Apache-2.0
// The digest by which equal runs are recognized before anything else is done with them.
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { finish } from "@purlin/base";
import { create, RequestMeta, ResponseMeta, Result, type RunFunctionResponse } from "@purlin/function-protocol";
import { callOf, runOf, sampleRevision, sampleXr, stepOf } from "../../test/sample-runs.ts";
import { type CallRecord, type RunRecord, rawDigest, type StepRecord } from "./stored-run.ts";

const desired = { map: { apiVersion: "v1", kind: "ConfigMap", data: { text: "hello" } } };
const step = (more: Partial<StepRecord> = {}, call: CallRecord = callOf(desired)): StepRecord => stepOf(0, call, more);
const run = (more: Partial<RunRecord> = {}): RunRecord => runOf({ steps: [step()], ...more });
const answering = (change: (response: RunFunctionResponse) => Partial<RunFunctionResponse>): StepRecord => {
  const { request, response } = callOf(desired);
  assert.ok(response);
  return step({}, { request, response: { ...response, ...change(response) } });
};
const withVersion = (resourceVersion: string) => ({
  ...sampleXr,
  metadata: { ...sampleXr.metadata, resourceVersion },
});

describe("runs are equal", () => {
  const equal: Readonly<Record<string, RunRecord>> = {
    "that were made again": run(),
    "at another time": run({ beganMs: 5, endedMs: 900 }),
    "for another reason": run({ cause: "timer" }),
    "with another duration of a step": run({ steps: [step({ durationMs: 99 })] }),
    "with another time to live": run({ ttlMs: 5 }),
    "whose responses have another tag": run({
      steps: [answering(() => ({ meta: create(ResponseMeta, { tag: "other" }) }))],
    }),
    "whose objects have the same version": run({ xr: { ...sampleXr, spec: { text: "not looked at" } } }),
  };
  for (const [name, other] of Object.entries(equal))
    test(name, () => assert.equal(finish(rawDigest(other)), finish(rawDigest(run()))));
});

describe("runs differ", () => {
  const different: Readonly<Record<string, RunRecord>> = {
    "with another version of the resource": run({ xr: withVersion("8") }),
    "with another version afterwards": run({ after: withVersion("8") }),
    "of another resource": run({ xr: { ...sampleXr, metadata: { ...sampleXr.metadata, uid: "u2" } } }),
    "with another outcome": run({ outcome: "composed" }),
    "with an error": run({ error: { reason: "R", message: "boom" } }),
    "of another revision": run({
      revision: { ...sampleRevision, metadata: { ...sampleRevision.metadata, uid: "r2" } },
    }),
    "with another name of a step": run({ steps: [step({ name: "other" })] }),
    "with another revision of a function": run({ steps: [step({ revisionName: "fn-2" })] }),
    "with a step that failed": run({ steps: [step({ error: "boom" })] }),
    "with a step that a cache answered": run({ steps: [step({ isCached: true })] }),
    "with another tag of a request": run({
      steps: [step({}, callOf(desired, { meta: create(RequestMeta, { tag: "other" }) }))],
    }),
    "without a response": run({ steps: [step({}, { request: callOf(desired).request })] }),
    "with another desired resource": run({ steps: [step({}, callOf({ map: { data: {} } }))] }),
    "with another result": run({ steps: [answering(() => ({ results: [create(Result, { message: "hi" })] }))] }),
    "with one step more": run({ steps: [step(), stepOf(1, callOf(desired))] }),
  };
  for (const [name, other] of Object.entries(different)) {
    test(name, () => {
      assert.notEqual(finish(rawDigest(other)), finish(rawDigest(run())));
      assert.match(finish(rawDigest(other)), /^[A-Za-z0-9+/]{43}=$/);
    });
  }
});

test("a run that wrote something, or whose function was called more than once, has no digest", () => {
  const write = { verb: "create", apiVersion: "v1", kind: "ConfigMap", name: "a" } as const;
  assert.equal(finish(rawDigest(run({ writes: [write] }))), "");
  const call = callOf(desired);
  assert.equal(finish(rawDigest(run({ steps: [{ ...step(), calls: [call, call] }] }))), "");
  assert.equal(finish(rawDigest(run({ steps: [{ ...step(), calls: [] }] }))), "");
  assert.notEqual(finish(rawDigest(run({ steps: [] }))), "");
});
