// SPDX-License-Identifier: Apache-2.0
// Which form a type gives a value, and what the two types without a schema say.
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { JsonValue } from "../json/json-value.ts";
import { applyTypeOf } from "./apply-schema.ts";
import {
  type ApplyType,
  createListType,
  deduced,
  type Form,
  formOf,
  formsDiffer,
  typeOfKey,
  untypedAtomic,
} from "./apply-type.ts";

const list = createListType(true, [], () => untypedAtomic);
const { map } = untypedAtomic;
const scalarOnly: ApplyType = { scalar: "string" };
const listOnly: ApplyType = { list };
const mapOnly: ApplyType = map ? { map } : {};
const values: Readonly<Record<string, JsonValue>> = { null: null, text: "a", number: 1, list: [], map: {} };

describe("the form of a value", () => {
  const rows: Readonly<Record<string, { readonly type: ApplyType; readonly forms: readonly (Form | undefined)[] }>> = {
    "a type that takes all forms follows the value": {
      type: deduced,
      forms: ["map", "scalar", "scalar", "list", "map"],
    },
    "a scalar is a scalar whatever the value": {
      type: scalarOnly,
      forms: ["scalar", "scalar", "scalar", "scalar", "scalar"],
    },
    "a list is a list whatever the value": { type: listOnly, forms: ["list", "list", "list", "list", "list"] },
    "a map is a map whatever the value": { type: mapOnly, forms: ["map", "map", "map", "map", "map"] },
    "a scalar or a list: what is neither is a scalar": {
      type: { ...scalarOnly, ...listOnly },
      forms: ["scalar", "scalar", "scalar", "list", "scalar"],
    },
    "a map or a list: what is neither is a map": {
      type: { ...mapOnly, ...listOnly },
      forms: ["map", "map", "map", "list", "map"],
    },
    "a type without forms": { type: {}, forms: [undefined, undefined, undefined, undefined, undefined] },
  };
  for (const [name, { type, forms }] of Object.entries(rows)) {
    test(name, () => {
      assert.deepEqual(
        Object.values(values).map((value) => formOf(type, value)),
        forms,
      );
    });
  }
});

describe("whether two values take different forms", () => {
  test("they do when each has a form of its own", () => {
    assert.equal(formsDiffer(deduced, "a", {}), true);
    assert.equal(formsDiffer(deduced, [], {}), true);
    assert.equal(formsDiffer(deduced, 1, []), true);
  });

  test("they do not when the form is the same", () => {
    assert.equal(formsDiffer(deduced, "a", 1), false);
    assert.equal(formsDiffer(deduced, { a: 1 }, {}), false);
  });

  test("null is a form of its own, except beside another null", () => {
    assert.equal(formsDiffer(deduced, null, null), false);
    assert.equal(formsDiffer(deduced, null, {}), true);
  });

  test("a type of one form has no other", () => {
    assert.equal(formsDiffer(scalarOnly, "a", {}), false);
    assert.equal(formsDiffer(listOnly, [], "a"), false);
  });

  test("values that the type does not allow are alike", () => {
    assert.equal(formsDiffer({ ...scalarOnly, ...listOnly }, {}, null), false);
  });
});

describe("types without a schema", () => {
  test("what nothing describes has granular maps and atomic lists, all the way down", () => {
    assert.equal(deduced.map?.atomic, false);
    assert.equal(deduced.map?.element, deduced);
    assert.equal(deduced.list?.atomic, true);
    assert.equal(deduced.list?.item, untypedAtomic);
    assert.equal(deduced.map?.field("any"), undefined);
  });

  test("an atomic value is atomic all the way down", () => {
    assert.equal(untypedAtomic.map?.atomic, true);
    assert.equal(untypedAtomic.map?.element, untypedAtomic);
    assert.equal(untypedAtomic.list?.item, untypedAtomic);
  });
});

describe("parts of types", () => {
  test("the item type of a list is asked for once, when it is needed", () => {
    let asked = 0;
    const lazy = createListType(false, ["k"], () => {
      asked++;
      return scalarOnly;
    });
    assert.equal(asked, 0);
    assert.equal(lazy.item, scalarOnly);
    assert.equal(lazy.item, scalarOnly);
    assert.equal(asked, 1);
  });

  test("keys keep the order of the schema, and have one by name beside it", () => {
    const { keys, sortedKeys } = createListType(false, ["z", "a", "\u{10000}", "\uffff"], () => scalarOnly);
    assert.deepEqual(keys, ["z", "a", "\u{10000}", "\uffff"]);
    assert.deepEqual(
      sortedKeys.map(({ name }) => name),
      ["a", "z", "\uffff", "\u{10000}"],
      "in the order of their UTF-8",
    );
  });

  test("a declared field goes before the type of other keys", () => {
    const type = applyTypeOf({
      type: "object",
      properties: { a: { type: "string" } },
      additionalProperties: { type: "integer" },
    });
    const fields = type.map ?? assert.fail("the type is a map");
    assert.equal(typeOfKey(fields, "a")?.scalar, "string");
    assert.equal(typeOfKey(fields, "b")?.scalar, "numeric");
  });

  test("a key that is not declared has no type where nothing else is", () => {
    const type = applyTypeOf({ type: "object", properties: { a: { type: "string" } } });
    const fields = type.map ?? assert.fail("the type is a map");
    assert.equal(typeOfKey(fields, "b"), undefined);
    assert.equal(typeOfKey(fields, "toString"), undefined);
  });
});
