// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import type { KubeClient } from "@purlin/kube-client";
import { notFound } from "@purlin/kube-objects/errors";
import type { KubeObject } from "@purlin/kube-objects/object";
import { endedOperations, endOf, isOperation, unfinishedOperations, unfinishedText } from "./operation-state.ts";

const operation = (
  name: string,
  ...conditions: readonly (readonly [type: string, status: string, message?: string])[]
): KubeObject => ({
  ...{ apiVersion: "ops.crossplane.io/v1alpha1", kind: "Operation", metadata: { name } },
  status: {
    conditions: conditions.map(([type, status, message]) => ({
      type,
      status,
      reason: "R",
      ...(message && { message }),
    })),
  },
});
/** A client that answers with the next state of each object, the last one for good. */
function client(states: Readonly<Record<string, readonly KubeObject[]>>): KubeClient {
  const asked = new Map<string, number>();
  const get = async (_: unknown, { name }: { readonly name: string }): Promise<KubeObject> => {
    const own = states[name];
    if (own === undefined) throw notFound({ group: "ops.crossplane.io", resource: "operations" }, name);
    const at = asked.get(name) ?? 0;
    asked.set(name, at + 1);
    return own[Math.min(at, own.length - 1)] as KubeObject;
  };
  return { get } as unknown as KubeClient;
}
const { signal } = new AbortController();

test("an Operation has ended when its condition Succeeded is True or False", () => {
  assert.equal(endOf(operation("a", ["Succeeded", "True"])), "succeeded");
  assert.equal(endOf(operation("a", ["Succeeded", "False"])), "failed");
  assert.equal(endOf(operation("a", ["Succeeded", "Unknown"])), undefined);
  assert.equal(endOf(operation("a")), undefined);
});

test("why an Operation has not succeeded", () => {
  const cases: readonly (readonly [state: KubeObject, text: string])[] = [
    [operation("a"), "nothing runs it: start the control plane with --enable-operations"],
    [operation("a", ["Succeeded", "False", "failure limit reached"]), "failure limit reached"],
    [operation("a", ["Succeeded", "False"]), "failed"],
    [operation("a", ["Succeeded", "Unknown"], ["Synced", "False", "no Pod"]), "no Pod"],
    [operation("a", ["Succeeded", "Unknown"], ["Synced", "False"]), "no failure so far"],
    [operation("a", ["Succeeded", "Unknown"], ["Synced", "True"]), "it still runs"],
  ];
  for (const [state, text] of cases) assert.equal(unfinishedText(state), text);
});

test("Operations are known by kind and group", () => {
  assert.ok(isOperation({ apiVersion: "ops.crossplane.io/v1", kind: "Operation" }));
  assert.ok(!isOperation({ apiVersion: "ops.crossplane.io/v1", kind: "CronOperation" }));
  assert.ok(!isOperation({ apiVersion: "acme.org/v1", kind: "Operation" }));
});

test("what succeeded, what was deleted and what is not an Operation is not unfinished", async () => {
  const pod: KubeObject = { apiVersion: "v1", kind: "Pod", metadata: { name: "p" } };
  const objects = [operation("done"), operation("gone"), operation("failed"), operation("new"), pod];
  const now = client({
    done: [operation("done", ["Succeeded", "True"])],
    failed: [operation("failed", ["Succeeded", "False"])],
    new: [operation("new")],
  });
  const found = await unfinishedOperations(now, objects, signal);
  assert.deepEqual(
    found.map(({ metadata }) => metadata.name),
    ["failed", "new"],
  );
});

test("waiting ends when all have ended, with those that failed", async () => {
  const now = client({
    a: [operation("a"), operation("a", ["Succeeded", "True"])],
    b: [operation("b", ["Succeeded", "False"])],
  });
  const failed = await endedOperations(now, [operation("a"), operation("b")], signal);
  assert.deepEqual(
    failed.map(({ metadata }) => metadata.name),
    ["b"],
  );
  assert.deepEqual(await endedOperations(client({}), [], signal), []);
});

test("waiting ends with the command", async () => {
  const stopped = AbortSignal.abort(new Error("interrupted"));
  await assert.rejects(endedOperations(client({ a: [operation("a")] }), [operation("a")], stopped), {
    name: "AbortError",
  });
});
