// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import { finish } from "@purlin/base";
import type { JsonObject } from "@purlin/kube-objects/json";
import { type KubeObject, objectsAt } from "@purlin/kube-objects/object";
import { failuresOf, isDone, isSameRequest, limitReached, operationManager, withProgress } from "./operation-status.ts";

const operation = (
  spec: JsonObject = {},
  status: JsonObject = {},
  metadata: KubeObject["metadata"] = {},
): KubeObject => ({
  ...{
    apiVersion: "ops.crossplane.io/v1alpha1",
    kind: "Operation",
    metadata: { name: "o", ...metadata },
    spec,
    status,
  },
});
const condition = (type: string, status: string, message = ""): JsonObject => ({ type, status, reason: "R", message });

test("an Operation may fail five times, unless it says how often", () => {
  const message = (retryLimit: number | undefined, failures: number): string | undefined =>
    limitReached(operation(retryLimit === undefined ? {} : { retryLimit }, { failures }))?.message;
  assert.equal(message(undefined, 4), undefined);
  assert.equal(message(undefined, 5), "failure limit of 5 reached");
  assert.equal(message(2, 1), undefined);
  assert.equal(message(2, 2), "failure limit of 2 reached");
  assert.equal(message(0, 0), "failure limit of 0 reached", "it may not run at all");
  assert.equal(failuresOf(operation()), 0);
});

test("the limit has the cause of the last failure, and ends the Operation", () => {
  const failed = (...conditions: JsonObject[]) =>
    limitReached(operation({ retryLimit: 1 }, { failures: 1, conditions }));
  assert.deepEqual(failed(condition("Synced", "False", "no Pod")), {
    ...{ type: "Succeeded", status: "False", reason: "PipelineError", message: "failure limit of 1 reached: no Pod" },
  });
  assert.equal(failed(condition("Synced", "True", "all well"))?.message, "failure limit of 1 reached");
  assert.equal(failed(condition("Synced", "False"))?.message, "failure limit of 1 reached");
});

test("an Operation is done when it has succeeded or failed for good", () => {
  const done = (...conditions: JsonObject[]): boolean => isDone(operation({}, { conditions }));
  assert.ok(done(condition("Succeeded", "True")));
  assert.ok(done(condition("Succeeded", "False")));
  assert.ok(!done(condition("Succeeded", "Unknown"), condition("Synced", "False")));
  assert.ok(!done());
});

test("a change of the status or labels alone is the same request", () => {
  const of = (generation: number, annotations?: Record<string, string>, status: JsonObject = {}): KubeObject =>
    operation({}, status, { generation, labels: { a: String(Math.random()) }, ...(annotations && { annotations }) });
  assert.ok(isSameRequest(of(1), of(1, undefined, { failures: 1 })));
  assert.ok(isSameRequest(of(1, { a: "b" }), of(1, { a: "b" })));
  assert.ok(isSameRequest(of(1), of(1, {})));
  assert.ok(!isSameRequest(of(1), of(2)));
  assert.ok(!isSameRequest(of(1, { a: "b" }), of(1, { a: "c" })));
  assert.ok(!isSameRequest(of(1, { a: "b" }), of(1)));
});

const progress = (outputs: Record<string, JsonObject>, ...applied: Parameters<typeof withProgress>[1]["applied"]) => ({
  outputs: new Map(Object.entries(outputs)),
  applied,
});

test("outputs of an attempt replace those of the same step, and others stay in their order", () => {
  const before = operation(
    {},
    {
      pipeline: [
        { step: "a", output: { n: 1 } },
        { step: "b", output: { n: 2 } },
      ],
    },
  );
  const after = finish(withProgress(before, progress({ a: { n: 9 }, c: {} })));
  assert.deepEqual((after["status"] as JsonObject)["pipeline"], [
    { step: "a", output: { n: 9 } },
    { step: "b", output: { n: 2 } },
    { step: "c", output: {} },
  ]);
  assert.deepEqual(
    (before["status"] as { pipeline: JsonObject[] }).pipeline[0],
    { step: "a", output: { n: 1 } },
    "unchanged",
  );
});

const ref = (kind: string, name: string, namespace?: string) => ({
  apiVersion: "v1",
  kind,
  name,
  ...(namespace && { namespace }),
});
const refsAfter = (before: KubeObject, ...applied: ReturnType<typeof ref>[]): unknown =>
  (finish(withProgress(before, progress({}, ...applied)))["status"] as JsonObject)["appliedResourceRefs"];

test("applied resources are listed once, those of earlier attempts too, sorted as by Crossplane", () => {
  const before = operation({}, { appliedResourceRefs: [ref("Secret", "s", "a")] });
  assert.deepEqual(refsAfter(before, ref("Secret", "s", "a"), ref("ConfigMap", "c", "b"), ref("Namespace", "n")), [
    ref("ConfigMap", "c", "b"),
    ref("Namespace", "n"),
    ref("Secret", "s", "a"),
  ]);
});

test("resources whose namespaces and names are the same when joined are different ones", () => {
  const found = refsAfter(
    operation(),
    ref("ConfigMap", "bc", "a"),
    ref("ConfigMap", "c", "ab"),
    ref("ConfigMap", "abc"),
  );
  assert.deepEqual(found, [ref("ConfigMap", "bc", "a"), ref("ConfigMap", "c", "ab"), ref("ConfigMap", "abc")]);
});

test("an attempt without outputs and resources changes nothing", () => {
  const before = operation({}, { failures: 1 });
  assert.equal(finish(withProgress(before, progress({}))), before);
});

test("each Operation is a field manager of its own", () => {
  assert.equal(operationManager("u-1"), "ops.crossplane.io/operation/u-1");
});

test("twenty thousand references are merged in parts", () => {
  const ref = (index: number) => ({ apiVersion: "v1", kind: "ConfigMap", name: `n${(index * 7919) % 20_000}` });
  const appliedResourceRefs = Array.from({ length: 20_000 }, (_, index) => ref(index));
  const before = operation({}, { appliedResourceRefs });
  const merging = withProgress(before, progress({}, ...appliedResourceRefs.slice(0, 10_000)));
  let parts = 1;
  let part = merging.next();
  for (; !part.done; part = merging.next()) parts++;
  assert.ok(parts > 100, `${parts} parts`);
  const names = objectsAt(part.value, ["status", "appliedResourceRefs"]).map(({ name }) => name as string);
  assert.deepEqual([names.length, names[0], names.at(-1)], [20_000, "n0", "n9999"]);
});
