// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import type { KubeObject } from "@purlin/kube-objects/object";
import { SentApplies, type ServedObject } from "./create-controller-client.ts";

const wanted = (name: string, size: number): KubeObject => ({
  apiVersion: "example.org/v1",
  kind: "Widget",
  metadata: { name },
  spec: { size, color: "red" },
});
const at = (object: KubeObject, resourceVersion: string, lists = 1): ServedObject => ({
  object: { ...object, metadata: { ...object.metadata, resourceVersion } },
  lists,
});
const ours = { fieldManager: "us" };

test("the same apply to the same version is the last one, anything else is not", () => {
  const sent = new SentApplies();
  const object = wanted("a", 1);
  sent.remember(object, ours, at(object, "7"));
  const rows = [
    { why: "the same", object, options: ours, version: "7", last: true },
    {
      why: "the same in another order",
      object: { ...object, spec: { color: "red", size: 1 } },
      options: ours,
      version: "7",
      last: true,
    },
    { why: "a version that another client wrote", object, options: ours, version: "8", last: false },
    { why: "another wish", object: wanted("a", 2), options: ours, version: "7", last: false },
    { why: "another object", object: wanted("b", 1), options: ours, version: "7", last: false },
    { why: "another manager", object, options: { fieldManager: "them" }, version: "7", last: false },
    { why: "another endpoint", object, options: { ...ours, subresource: "status" }, version: "7", last: false },
    { why: "by force", object, options: { ...ours, force: true }, version: "7", last: false },
  ];
  for (const { why, object: one, options, version, last } of rows) {
    assert.equal(sent.isLast(one, options, at(one, version)), last, why);
  }
  assert.equal(sent.isLast(object, ours, at(object, "7", 2)), false, "the type was listed again");
  sent.forget(object, ours);
  assert.equal(sent.isLast(object, ours, at(object, "7")), false);
});

test("a later apply takes the place of the one before", () => {
  const sent = new SentApplies();
  const [one, two] = [wanted("a", 1), wanted("a", 2)];
  sent.remember(one, ours, at(one, "7"));
  sent.remember(two, ours, at(two, "8"));
  assert.deepEqual(
    [sent.size, sent.isLast(one, ours, at(one, "7")), sent.isLast(two, ours, at(two, "8"))],
    [1, false, true],
  );
});

test("the oldest are forgotten when there are too many", () => {
  const sent = new SentApplies();
  for (let i = 0; i < 10_050; i++) sent.remember(wanted(`w${i}`, 1), ours, at(wanted(`w${i}`, 1), "1"));
  assert.equal(sent.size, 10_000);
  assert.equal(sent.isLast(wanted("w0", 1), ours, at(wanted("w0", 1), "1")), false);
  assert.equal(sent.isLast(wanted("w10049", 1), ours, at(wanted("w10049", 1), "1")), true);
});
