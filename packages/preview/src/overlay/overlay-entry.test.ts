// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import { badRequest, forbidden, invalid, unclassifiedError } from "@purlin/kube-objects/errors";
import type { JsonObject } from "@purlin/kube-objects/json";
import type { KubeObject } from "@purlin/kube-objects/object";
import { differsOnlyInStatus, isSameObject, newEntry, previewUid, refusalOf } from "./overlay-entry.ts";

const map = (metadata: JsonObject = {}, more: JsonObject = {}): KubeObject => ({
  apiVersion: "v1",
  kind: "ConfigMap",
  metadata: { name: "a", ...metadata },
  ...more,
});

test("a refusal is the fault of the object if the server says so, or cannot read it by its schema", () => {
  const isWrong = (error: unknown): boolean => refusalOf(error).isInvalid;
  assert.equal(isWrong(invalid({ group: "", kind: "ConfigMap" }, "a", [])), true);
  assert.equal(isWrong(badRequest("unknown field")), true);
  assert.equal(isWrong(unclassifiedError("failed to create typed patch object (default/a): .spec.b")), true);
  assert.equal(isWrong(forbidden({ group: "", resource: "configmaps" }, "a", "exceeded quota")), false);
});

test("a new entry shows the live object, and was not written", () => {
  const entry = newEntry(map());
  assert.deepEqual([entry.before, entry.now], [map(), map()]);
  assert.deepEqual([entry.isChanged, entry.wasRemoved, entry.refusal, entry.writers], [false, false, undefined, []]);
  entry.approximate.add("forbidden");
  assert.equal(newEntry(map()).approximate.size, 0);
  assert.equal(newEntry(undefined).now, undefined);
});

test("objects are the same apart from the resource version", () => {
  assert.equal(isSameObject(map({ resourceVersion: "1" }), map({ resourceVersion: "2" })), true);
  assert.equal(isSameObject(map({ resourceVersion: "1" }), map()), true);
  assert.equal(isSameObject(map({}, { status: { a: 1 } }), map({}, { status: { a: 2 } })), false);
  assert.equal(isSameObject(map({ managedFields: [] }), map()), false);
  assert.equal(isSameObject(map({ labels: { a: "1", b: "2" } }), map({ labels: { b: "2", a: "1" } })), true);
});

test("objects that differ only in status, managers and version", () => {
  const one = map({ resourceVersion: "1", managedFields: [{ manager: "a" }] }, { status: { a: 1 }, data: { k: "v" } });
  assert.equal(differsOnlyInStatus(one, map({}, { data: { k: "v" } })), true);
  assert.equal(differsOnlyInStatus(one, map({}, { data: { k: "w" } })), false);
  assert.equal(differsOnlyInStatus(one, map({ generation: 2 }, { data: { k: "v" } })), false);
});

test("the uid of a new object is a version 5 UUID that depends on the identity only", () => {
  const uid = previewUid("/ConfigMap\ndefault\na");
  assert.match(uid, /^[0-9a-f]{8}-[0-9a-f]{4}-5[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
  assert.equal(previewUid("/ConfigMap\ndefault\na"), uid);
  const uids = Array.from({ length: 100 }, (_, index) => previewUid(`x${index}`));
  assert.equal(new Set(uids).size, 100);
  for (const one of uids) assert.match(one, /^.{14}5.{4}[89ab]/);
});
