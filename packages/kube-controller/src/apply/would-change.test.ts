// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import type { JsonObject } from "@purlin/kube-objects/json";
import type { KubeObject, ManagedFieldsEntry } from "@purlin/kube-objects/object";
import { wouldApplyChange } from "./would-change.ts";

const type = { apiVersion: "example.org/v1", kind: "Widget" };
const entry = (fieldsV1: JsonObject, more: Partial<ManagedFieldsEntry> = {}): ManagedFieldsEntry => ({
  manager: "us",
  operation: "Apply",
  apiVersion: "example.org/v1",
  fieldsType: "FieldsV1",
  fieldsV1,
  ...more,
});

function object(rest: Record<string, unknown>, metadata: KubeObject["metadata"] = {}): KubeObject {
  return { ...type, metadata: { name: "w", ...metadata }, ...rest };
}

interface Row {
  readonly why: string;
  readonly current: Record<string, unknown>;
  readonly owners: readonly ManagedFieldsEntry[];
  readonly wanted: KubeObject;
  readonly subresource?: string;
  readonly changes: boolean;
}

const spec = { "f:spec": { "f:size": {} } };
const port80 = 'k:{"port":80,"protocol":"TCP"}';
const rows: readonly Row[] = [
  {
    why: "the same field with the same value",
    current: { spec: { size: 1, color: "red" } },
    owners: [entry(spec)],
    wanted: object({ spec: { size: 1 } }),
    changes: false,
  },
  {
    why: "an entry of another manager is not ours",
    current: { spec: { size: 1 } },
    owners: [entry(spec, { manager: "them" })],
    wanted: object({ spec: { size: 1 } }),
    changes: true,
  },
  {
    why: "an entry of an update is not one of an apply",
    current: { spec: { size: 1 } },
    owners: [entry(spec, { operation: "Update" })],
    wanted: object({ spec: { size: 1 } }),
    changes: true,
  },
  {
    why: "an entry of a subresource is not one of the object",
    current: { spec: { size: 1 } },
    owners: [entry(spec, { subresource: "status" })],
    wanted: object({ spec: { size: 1 } }),
    changes: true,
  },
  {
    why: "an entry of another version is written again",
    current: { spec: { size: 1 } },
    owners: [entry(spec, { apiVersion: "example.org/v1beta1" })],
    wanted: object({ spec: { size: 1 } }),
    changes: true,
  },
  {
    why: "the server decides about an unreadable entry",
    current: { spec: { size: 1 } },
    owners: [entry({ nonsense: {} })],
    wanted: object({ spec: { size: 1 } }),
    changes: true,
  },
  {
    why: "another uid is refused by the server",
    current: { spec: { size: 1 } },
    owners: [entry(spec)],
    wanted: object({ spec: { size: 1 } }, { uid: "other" }),
    changes: true,
  },
  {
    why: "the uid of the object is not an owned field",
    current: { spec: { size: 1 } },
    owners: [entry(spec)],
    wanted: object({ spec: { size: 1 } }, { uid: "u" }),
    changes: false,
  },
  {
    why: "an old resourceVersion is a conflict",
    current: { spec: { size: 1 } },
    owners: [entry(spec)],
    wanted: object({ spec: { size: 1 } }, { resourceVersion: "1" }),
    changes: true,
  },
  {
    why: "through status nothing but the status counts",
    current: { spec: { size: 1 }, status: { ready: true } },
    owners: [entry({ "f:status": { "f:ready": {} } }, { subresource: "status" })],
    wanted: object({ spec: { size: 9 }, status: { ready: true } }, { labels: { a: "b" } }),
    subresource: "status",
    changes: false,
  },
  {
    why: "a status that is no longer wanted is given up",
    current: { status: { ready: true } },
    owners: [entry({ "f:status": { "f:ready": {} } }, { subresource: "status" })],
    wanted: object({}),
    subresource: "status",
    changes: true,
  },
  {
    why: "a key field that has a default may be left out, as it was before",
    current: { ports: [{ port: 80, protocol: "TCP", name: "http" }] },
    owners: [entry({ "f:ports": { [port80]: { ".": {}, "f:port": {}, "f:name": {} } } })],
    wanted: object({ ports: [{ port: 80, name: "http" }] }),
    changes: false,
  },
  {
    why: "leaving out a key field that was applied means another item",
    current: { ports: [{ port: 80, protocol: "TCP", name: "http" }] },
    owners: [entry({ "f:ports": { [port80]: { ".": {}, "f:port": {}, "f:protocol": {}, "f:name": {} } } })],
    wanted: object({ ports: [{ port: 80, name: "http" }] }),
    changes: true,
  },
  {
    why: "items of others may stand in between, but the order of ours counts",
    current: { set: ["a", "theirs", "b"] },
    owners: [entry({ "f:set": { 'v:"a"': {}, 'v:"b"': {} } })],
    wanted: object({ set: ["a", "b"] }),
    changes: false,
  },
  {
    why: "another order is a change",
    current: { set: ["a", "b"] },
    owners: [entry({ "f:set": { 'v:"a"': {}, 'v:"b"': {} } })],
    wanted: object({ set: ["b", "a"] }),
    changes: true,
  },
  {
    why: "the same item twice is an error that the server reports",
    current: { set: ["a", "b"] },
    owners: [entry({ "f:set": { 'v:"a"': {}, 'v:"b"': {} } })],
    wanted: object({ set: ["a", "a"] }),
    changes: true,
  },
  {
    why: "positions are not understood",
    current: { set: ["a"] },
    owners: [entry({ "f:set": { "i:0": {} } })],
    wanted: object({ set: ["a"] }),
    changes: true,
  },
  {
    why: "a list where a map was",
    current: { spec: { size: 1 } },
    owners: [entry(spec)],
    wanted: object({ spec: [1] }),
    changes: true,
  },
  {
    why: "the name of an object is not an owned field",
    current: { spec: { size: 1 } },
    owners: [entry(spec)],
    wanted: object({ spec: { size: 1 }, toString: "x" }),
    changes: true,
  },
];

for (const { why, current, owners, wanted, subresource, changes } of rows) {
  test(`${changes ? "a change" : "no change"}: ${why}`, () => {
    const stored = object(current, { uid: "u", resourceVersion: "7", managedFields: owners });
    assert.equal(wouldApplyChange(stored, wanted, { fieldManager: "us", subresource }), changes);
  });
}

test("any apply changes an object without managers", () => {
  assert.equal(wouldApplyChange(object({ spec: {} }), object({}), { fieldManager: "us" }), true);
  assert.equal(wouldApplyChange(object({}), object({}), { fieldManager: "us" }), false, "there is nothing to manage");
});

test("a thousand items cost a thousand comparisons", () => {
  const names = Array.from({ length: 5000 }, (_, i) => `item-${i}`);
  const items = names.map((name) => ({ name, size: 1 }));
  const owned = Object.fromEntries(names.map((n) => [`k:{"name":"${n}"}`, { ".": {}, "f:name": {}, "f:size": {} }]));
  const stored = object({ items }, { managedFields: [entry({ "f:items": owned })] });
  assert.equal(wouldApplyChange(stored, object({ items }), { fieldManager: "us" }), false);
  assert.equal(wouldApplyChange(stored, object({ items: items.toReversed() }), { fieldManager: "us" }), true);
});
