// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import type { CacheChange } from "@purlin/kube-client/objects";
import type { ControllerClient } from "@purlin/kube-controller";
import { notFound } from "@purlin/kube-objects/errors";
import type { KubeObject } from "@purlin/kube-objects/object";
import { kinds, labels } from "./names.ts";
import {
  deleteOperation,
  newOperation,
  ownedKeys,
  ownedOperations,
  runningRefs,
  syncedWith,
  wokenOwner,
} from "./owned-operations.ts";
import { operationOf } from "./render/index.ts";

const owner: KubeObject = {
  ...kinds.cron,
  metadata: { name: "nightly", uid: "u-owner" },
  spec: {
    operationTemplate: {
      metadata: {
        labels: { team: "a", [labels.cron]: "forged" },
        annotations: { note: "x", "purlin.dev/scheduled-time": "forged" },
      },
      spec: { mode: "Pipeline", pipeline: [] },
    },
  },
};
const { signal } = new AbortController();

test("an Operation has the template's metadata, under the label and annotations of its owner", () => {
  const made = newOperation(owner, {
    name: "nightly-1",
    label: labels.cron,
    annotations: { "purlin.dev/scheduled-time": "t" },
  });
  assert.deepEqual(made, {
    ...kinds.operation,
    metadata: {
      name: "nightly-1",
      labels: { team: "a", [labels.cron]: "nightly" },
      annotations: { note: "x", "purlin.dev/scheduled-time": "t" },
      ownerReferences: [{ ...kinds.cron, name: "nightly", uid: "u-owner", controller: true, blockOwnerDeletion: true }],
    },
    spec: { mode: "Pipeline", pipeline: [] },
  });
  const changed = newOperation(owner, {
    name: "x",
    label: labels.cron,
    annotations: {},
    spec: (spec) => ({ ...spec, retryLimit: 1 }),
  });
  assert.deepEqual(changed["spec"], { mode: "Pipeline", pipeline: [], retryLimit: 1 });
  assert.deepEqual(
    newOperation({ ...owner, spec: {} }, { name: "x", label: labels.cron, annotations: {} })["spec"],
    {},
  );
});

test("the Operations of an owner are those that it controls and that are not being deleted", async () => {
  const owned = (name: string, uid: string, more: KubeObject["metadata"] = {}): KubeObject => ({
    ...kinds.operation,
    metadata: { name, ownerReferences: [{ ...kinds.cron, name: "nightly", uid, controller: true }], ...more },
  });
  const all = [
    owned("a", "u-owner"),
    owned("b", "u-before"),
    owned("c", "u-owner", { deletionTimestamp: "now" }),
    { ...kinds.operation, metadata: { name: "d" } },
  ];
  const asked: unknown[] = [];
  const list = async (type: unknown, options: { readonly labels: unknown }): Promise<readonly KubeObject[]> => {
    asked.push(type, options.labels);
    return all;
  };
  const client = { list } as unknown as ControllerClient;
  const found = await ownedOperations(client, { label: labels.cron, owner, signal });
  assert.deepEqual(
    found.map(({ metadata }) => metadata.name),
    ["a"],
  );
  assert.deepEqual(asked, [kinds.operation, { [labels.cron]: "nightly" }]);
});

test("an owner wakes for a change of what is asked of it, and not for its own status", () => {
  const at = (generation: number, more: KubeObject["metadata"] = {}): KubeObject => ({
    ...owner,
    metadata: { ...owner.metadata, generation, ...more },
  });
  const updated = (previous: KubeObject, object: KubeObject): number =>
    wokenOwner({ type: "updated", previous, object } as CacheChange).length;
  assert.equal(updated(at(1), at(1)), 0);
  assert.equal(updated(at(1), at(2)), 1);
  assert.equal(updated(at(1), at(1, { annotations: { "crossplane.io/paused": "true" } })), 1);
  assert.equal(updated(at(1), at(1, { deletionTimestamp: "now" })), 1);
  assert.deepEqual(wokenOwner({ type: "added", object: at(1) } as CacheChange), [{ name: "nightly" }]);
});

test("an Operation names its owner by a label", () => {
  const labelled = { ...kinds.operation, metadata: { name: "x", labels: { [labels.cron]: "nightly" } } };
  assert.deepEqual(ownedKeys(labelled, labels.cron), [{ name: "nightly" }]);
  assert.deepEqual(ownedKeys(labelled, labels.watch), []);
});

test("an Operation is deleted by its UID; one that is gone is not an error, and others say what failed", async () => {
  const target: KubeObject = { ...kinds.operation, metadata: { name: "old", uid: "u" } };
  const asked: unknown[] = [];
  const client = (error?: Error): ControllerClient =>
    ({
      delete: async (object: unknown, options: object) => {
        asked.push(object, options);
        if (error !== undefined) throw error;
      },
    }) as unknown as ControllerClient;
  await deleteOperation(client(), target, { why: "history", signal });
  assert.deepEqual(asked, [
    { ...kinds.operation, name: "old" },
    { preconditions: { uid: "u" }, propagationPolicy: "Background", signal },
  ]);
  await deleteOperation(client(notFound({ group: "ops.crossplane.io", resource: "operations" }, "old")), target, {
    why: "history",
    signal,
  });
  await assert.rejects(deleteOperation(client(new Error("refused")), target, { why: "history", signal }), {
    message: 'cannot garbage collect Operation "old": refused',
  });
  await assert.rejects(deleteOperation(client(new Error("refused")), target, { why: "replace", signal }), {
    message: 'cannot delete running Operation "old": refused',
  });
});

test("at most 100 running Operations are listed, and the condition says when there are more", () => {
  const names = Array.from({ length: 101 }, (_, at) => `o-${at}`);
  assert.equal(runningRefs([]), undefined);
  assert.deepEqual(runningRefs(["a"]), [{ name: "a" }]);
  assert.equal(runningRefs(names)?.length, 100);
  const message = (count: number): string | undefined =>
    syncedWith(owner, { names: names.slice(0, count), label: labels.cron }).message;
  assert.equal(message(100), undefined);
  assert.equal(
    message(101),
    'more than 100 Operations run at the same time, and status.runningOperationRefs lists 100 of them: list all with "kubectl get operations -l ops.crossplane.io/cronoperation=nightly"; to run one at a time, set spec.concurrencyPolicy to Forbid or Replace',
  );
});

test("the Operation of an object: itself, or the template of what creates Operations, under its name", () => {
  const own: KubeObject = {
    ...kinds.operation,
    metadata: { name: "o", labels: { a: "b" } },
    spec: { mode: "Pipeline" },
  };
  assert.equal(operationOf(own), own);
  assert.deepEqual(operationOf(owner), {
    ...kinds.operation,
    metadata: { name: "nightly", labels: { team: "a", [labels.cron]: "forged" } },
    spec: { mode: "Pipeline", pipeline: [] },
  });
  const pod: KubeObject = { apiVersion: "v1", kind: "Pod", metadata: { name: "p" } };
  assert.throws(() => operationOf(pod), { message: "not an operation type: Pod/v1" });
  assert.throws(() => operationOf({ ...owner, apiVersion: "ops.crossplane.io/v9" }), {
    message: "not an operation type: CronOperation/ops.crossplane.io/v9",
  });
});
