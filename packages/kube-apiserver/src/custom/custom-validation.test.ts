// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import { finish } from "@purlin/base";
import { fieldErrorText, requiredValue } from "@purlin/kube-objects/errors";
import type { JsonObject } from "@purlin/kube-objects/json";
import type { Endpoint } from "../strategy/object-strategy.ts";
import { type CustomRules, errorsOf, isUnchangedAt, validateCustom } from "./custom-validation.ts";

const schema: JsonObject = {
  type: "object",
  properties: {
    spec: {
      type: "object",
      properties: {
        a: { type: "string" },
        map: { type: "object", additionalProperties: { type: "object", properties: { x: { type: "integer" } } } },
        keyed: {
          type: "array",
          "x-kubernetes-list-type": "map",
          "x-kubernetes-list-map-keys": ["name"],
          items: { type: "object", properties: { name: { type: "string" }, v: { type: "integer" } } },
        },
        atomic: { type: "array", items: { type: "object" } },
      },
    },
  },
};
const before: JsonObject = {
  spec: {
    a: "x",
    map: { k: { x: 1 } },
    keyed: [
      { name: "one", v: 1 },
      { name: "two", v: 2 },
    ],
    atomic: [{ q: 1 }],
  },
};
const now: JsonObject = {
  spec: {
    a: "y",
    map: { k: { x: 1 }, n: { x: 2 } },
    keyed: [
      { name: "two", v: 2 },
      { name: "one", v: 9 },
    ],
    atomic: [{ q: 1 }],
  },
};

const rows: Record<string, { path: string; unchanged: boolean; reason: string }> = {
  ChangedField: { path: "spec.a", unchanged: false, reason: "the value is another" },
  MapKey: { path: "spec.map.k.x", unchanged: true, reason: "entries are found by key" },
  NewMapKey: { path: "spec.map.n.x", unchanged: false, reason: "there was none" },
  MovedItem: { path: "spec.keyed[0].v", unchanged: true, reason: "items are found by their keys, not their place" },
  ChangedItem: { path: "spec.keyed[1].v", unchanged: false, reason: "the item with that key has changed" },
  AtomicItem: { path: "spec.atomic[0].q", unchanged: true, reason: "the list as a whole is the same" },
  Missing: { path: "spec.none", unchanged: false, reason: "nothing is not unchanged" },
  Bracketed: { path: "spec.map[k].x", unchanged: true, reason: "both ways to write a key lead there" },
};
for (const [name, { path, unchanged, reason }] of Object.entries(rows)) {
  test(`unchanged: ${name}`, () => assert.equal(isUnchangedAt(path, { now, before, schema }), unchanged, reason));
}

test("an atomic list that changed anywhere has changed everywhere", () => {
  const changed = { spec: { ...(now["spec"] as JsonObject), atomic: [{ q: 1 }, { q: 2 }] } };
  assert.equal(isUnchangedAt("spec.atomic[0].q", { now: changed, before, schema }), false);
});

test("a finding about every item of a long list does not go through the list for each", () => {
  const items = (v: number): JsonObject[] => Array.from({ length: 20_000 }, (_, index) => ({ name: `n${index}`, v }));
  const [keyed, atomic] = [items(1).reverse(), items(1)];
  const [old, next] = [{ spec: { keyed: items(1), atomic: items(1) } }, { spec: { keyed, atomic } }];
  for (let index = 0; index < 20_000; index += 1) {
    assert.ok(isUnchangedAt(`spec.keyed[${index}].v`, { now: next, before: old, schema }));
    assert.ok(isUnchangedAt(`spec.atomic[${index}].v`, { now: next, before: old, schema }));
  }
});

test("of items with the same keys the first is the one there was", () => {
  const old = { spec: { keyed: [{ name: "one", v: 1 }, { name: "one", v: 2 }, { v: 3 }] } };
  const next = { spec: { keyed: [{ name: "one", v: 1 }, { v: 3 }, { name: null, v: 3 }] } };
  assert.ok(isUnchangedAt("spec.keyed[0].v", { now: next, before: old, schema }));
  assert.ok(isUnchangedAt("spec.keyed[1].v", { now: next, before: old, schema }), "a missing key is a key too");
  assert.ok(isUnchangedAt("spec.keyed[2].v", { now: next, before: old, schema }), "and null is as good as missing");
});

const text = { type: "string" };
const rules: CustomRules = {
  schema: {
    type: "object",
    required: ["spec"],
    properties: {
      spec: { type: "object", properties: { a: { type: "string", maxLength: 3 }, list: setOf(text) } },
      status: {
        type: "object",
        required: ["phase"],
        properties: { phase: text, count: { type: "integer" }, list: setOf(text) },
      },
    },
  },
  scale: undefined,
  runRules: undefined,
};

function setOf(items: JsonObject): JsonObject {
  return { type: "array", "x-kubernetes-list-type": "set", items };
}

interface Case {
  readonly object: JsonObject;
  readonly old?: JsonObject;
  readonly endpoint?: Endpoint;
  readonly want: readonly string[];
  readonly reason: string;
}

const cases: Readonly<Record<string, Case>> = {
  New: {
    reason: "everything is looked at",
    object: { spec: { a: "long" }, status: { phase: 1 } },
    want: [
      "spec.a: Too long: may not be more than 3 bytes",
      'status.phase: Invalid value: "integer": status.phase in body must be of type string: "integer"',
    ],
  },
  Unchanged: {
    reason: "an update is not blamed for what was there",
    object: { spec: { a: "long" }, status: { phase: 1 } },
    old: { spec: { a: "long" }, status: { phase: 2 } },
    want: ['status.phase: Invalid value: "integer": status.phase in body must be of type string: "integer"'],
  },
  Fraction: {
    reason: "an update is not blamed for a fraction that was there, although its finding has no field",
    object: { spec: { a: "new" }, status: { phase: "a", count: 1.5 } },
    old: { spec: { a: "old" }, status: { phase: "a", count: 1.5 } },
    want: [],
  },
  NewFraction: {
    reason: "an update is blamed for its own fraction",
    object: { spec: {}, status: { phase: "a", count: 1.5 } },
    old: { spec: {}, status: { phase: "a", count: 2 } },
    want: [
      'status.count: Invalid value: "number": status.count in body must be of type integer: "number"',
      '<nil>: Invalid value: "": Checked value must be of type integer (default format) in status.count',
    ],
  },
  Status: {
    reason: "the status is an object of its own in messages, and nothing else is looked at",
    object: { spec: { a: "long" }, status: { phase: 1 } },
    old: { spec: {}, status: {} },
    endpoint: "status",
    want: ['status.phase: Invalid value: "integer": phase in body must be of type string: "integer"'],
  },
  StatusItself: {
    reason: "its place is the root of its schema",
    object: { status: "x" },
    old: {},
    endpoint: "status",
    want: ['status: Invalid value: "string":  in body must be of type object: "string"'],
  },
  StatusFraction: {
    reason: "what has no field has the status",
    object: { status: { phase: "", count: 1.5 } },
    old: {},
    endpoint: "status",
    want: [
      'status.count: Invalid value: "number": count in body must be of type integer: "number"',
      'status: Invalid value: "": Checked value must be of type integer (default format) in count',
    ],
  },
  StatusUnchanged: {
    reason: "what was missing before is forgiven in the status too",
    object: { status: { count: 1 } },
    old: { status: { count: 1 } },
    endpoint: "status",
    want: [],
  },
  NoStatus: { reason: "nothing is missing in what is not there", object: {}, old: {}, endpoint: "status", want: [] },
  Twice: {
    reason: "a set has each item once",
    object: { spec: { list: ["a", "a"] } },
    want: ['spec.list[1]: Duplicate value: "a"'],
  },
  TwiceBefore: {
    reason: "lists that were wrong may stay so, whichever they are",
    object: { spec: { list: ["a", "a", "b"] } },
    old: { spec: {}, status: { list: ["x", "x"] } },
    want: [],
  },
};

for (const [name, { object, old, endpoint = "", want, reason }] of Object.entries(cases)) {
  test(`validation of custom objects: ${name}`, () => {
    const { shape } = finish(validateCustom({ object, old, endpoint }, rules));
    assert.deepEqual(shape.map(fieldErrorText), want, reason);
  });
}

const ruled: CustomRules = {
  ...rules,
  *runRules() {
    yield;
    return { errors: [requiredValue("rule")], unchanged: [] };
  },
};
const notChecked =
  "<nil>: Invalid value: null: some validation rules were not checked because the object was invalid; correct the existing errors to complete validation";

test("rules are run on objects of the right shape only, metadata included", () => {
  const errors = (object: JsonObject, metadata: Parameters<typeof errorsOf>[1] = []): string[] =>
    errorsOf(finish(validateCustom({ object, old: undefined, endpoint: "" }, ruled)), metadata).map(fieldErrorText);
  assert.deepEqual(errors({ spec: {} }), ["rule: Required value"]);
  assert.deepEqual(errors({}), ["spec: Required value", notChecked]);
  assert.deepEqual(errors({ spec: {} }, [requiredValue("metadata.name")]), [notChecked]);
});

test("without rules no error says that they were not checked", () => {
  const findings = finish(validateCustom({ object: {}, old: undefined, endpoint: "" }, rules));
  assert.deepEqual(errorsOf(findings, []).map(fieldErrorText), ["spec: Required value"]);
});
