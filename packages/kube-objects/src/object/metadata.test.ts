// SPDX-License-Identifier: Apache-2.0

import assert from "node:assert/strict";
import { test } from "node:test";
import {
  controllerReference,
  hasFinalizer,
  isControlledBy,
  isDeleted,
  isPaused,
  memberAt,
  withFinalizer,
  withMember,
  withOwner,
  withoutFinalizer,
} from "./index.ts";
import { deepFreeze, type KubeObject } from "./kube-object.ts";

const object = (metadata: KubeObject["metadata"] = {}): KubeObject =>
  deepFreeze({ apiVersion: "v1", kind: "ConfigMap", metadata: { name: "cd", ...metadata } });
const owner: KubeObject = { apiVersion: "e/v1", kind: "App", metadata: { name: "x", uid: "u1" } };

for (const [value, want] of Object.entries({ true: true, True: false, "1": false, "": false, "true ": false })) {
  test(`the pause annotation ${JSON.stringify(value)} pauses: ${want}`, () => {
    assert.equal(isPaused(object({ annotations: { "crossplane.io/paused": value } })), want);
  });
}

test("finalizers are added and removed once, and nothing changes when there is nothing to do", () => {
  const bare = object();
  const one = withFinalizer(bare, "f");
  assert.deepEqual(one.metadata.finalizers, ["f"]);
  assert.equal(withFinalizer(one, "f"), one);
  assert.equal(withoutFinalizer(bare, "f"), bare);
  assert.equal(hasFinalizer(withoutFinalizer(one, "f"), "f"), false);
  const two = object({ finalizers: ["g", "f"] });
  assert.deepEqual(withoutFinalizer(two, "f").metadata.finalizers, ["g"]);
});

test("an object is deleted once it has a deletion time", () => {
  assert.equal(isDeleted(object()), false);
  assert.equal(isDeleted(object({ deletionTimestamp: null })), false);
  assert.equal(isDeleted(object({ deletionTimestamp: "2026-01-01T00:00:00Z" })), true);
});

test("an owner is appended, replaced by its uid, and joins others", () => {
  const reference = controllerReference(owner);
  const first = withOwner(object(), reference);
  assert.deepEqual(first.metadata.ownerReferences, [reference]);
  assert.equal(isControlledBy(first, "u1"), true);
  const other = { apiVersion: "v1", kind: "Usage", name: "u", uid: "u2" };
  const both = withOwner(object({ ownerReferences: [other, { ...reference, name: "old" }] }), reference);
  assert.deepEqual(both.metadata.ownerReferences, [other, reference]);
});

test("a second controller is refused, and named", () => {
  const taken = object({ ownerReferences: [{ ...controllerReference(owner), uid: "u9", name: "y" }] });
  assert.throws(() => withOwner(taken, controllerReference(owner)), {
    message: "cd is already controlled by App y (UID u9)",
  });
});

test("an owner without a uid controls nothing", () => {
  assert.equal(isControlledBy(object(), undefined), false);
  assert.equal(isControlledBy(object({ ownerReferences: [{ ...controllerReference(owner), uid: "" }] }), ""), false);
});

test("members with dangerous names are data", () => {
  const changed = withMember({ a: {} }, ["a", "__proto__"], { polluted: true });
  assert.deepEqual(memberAt(changed, ["a", "__proto__"]), { polluted: true });
  assert.equal(({} as Record<string, unknown>)["polluted"], undefined);
  assert.equal(memberAt({ a: {} }, ["a", "constructor"]), undefined);
});
