// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import type { JsonValue } from "../json/json-value.ts";
import { applyTypeOf } from "./apply-schema.ts";
import type { ListType } from "./apply-type.ts";
import { canonicalItem, compareValues, itemName, itemProblem, printItem, sortItemKeys } from "./item-key.ts";

const protocol = { type: "string", default: "TCP" };
const properties = { port: { type: "integer" }, protocol, name: { type: "string" } };

/** A list of maps with these key fields, or a set without any. */
function listOf(...keys: string[]): ListType {
  const items = keys.length === 0 ? { type: "string" } : { type: "object", properties };
  const listType = keys.length === 0 ? "set" : "map";
  const schema = {
    type: "array",
    items,
    "x-kubernetes-list-type": listType,
    ...(keys.length > 0 && { "x-kubernetes-list-map-keys": keys }),
  };
  return applyTypeOf(schema).list ?? assert.fail();
}

const names: readonly (readonly [string, ListType, JsonValue, string | undefined])[] = [
  ["one key", listOf("name"), { name: "a", port: 1 }, 'k:{"name":"a"}'],
  [
    "two keys, sorted by name",
    listOf("protocol", "port"),
    { protocol: "UDP", port: 53 },
    'k:{"port":53,"protocol":"UDP"}',
  ],
  ["a key with a default", listOf("port", "protocol"), { port: 80 }, 'k:{"port":80,"protocol":"TCP"}'],
  [
    "a key that is null has no default",
    listOf("port", "protocol"),
    { port: 80, protocol: null },
    'k:{"port":80,"protocol":null}',
  ],
  ["one of two keys", listOf("name", "port"), { port: 80 }, 'k:{"port":80}'],
  ["no key at all", listOf("name", "port"), { protocol: "TCP" }, undefined],
  ["no value of the only key", listOf("name"), {}, undefined],
  ["only the default of the only key", listOf("protocol"), {}, 'k:{"protocol":"TCP"}'],
  ["a text where a map is expected", listOf("name"), "a", undefined],
  ["a value of a set", listOf(), "a", 'v:"a"'],
  ["a number of a set", listOf(), 1, "v:1"],
  ["a large integer", listOf(), 2n ** 60n, "v:1152921504606846976"],
  ["a small fraction", listOf(), 1e-7, "v:1e-07"],
  ["a boolean of a set", listOf(), true, "v:true"],
  ["a map in a set", listOf(), {}, undefined],
  ["null in a set", listOf(), null, undefined],
  ["characters that are escaped", listOf(), '<"\u2028é', 'v:"\\u003c\\"\\u2028é"'],
];

for (const [title, list, item, expected] of names) {
  test(`the name of an item: ${title}`, () => {
    assert.equal(itemName(list, item), expected);
  });
}

test("an item without a name has a reason", () => {
  const keyed = listOf("name", "port");
  assert.equal(itemProblem(keyed, null), "associative list with keys may not have a null element");
  assert.equal(itemProblem(keyed, "a"), "associative list with keys may not have non-map elements");
  assert.equal(
    itemProblem(keyed, {}),
    `associative list with keys has an element that omits all key fields ["name" "port"] (and doesn't have default values for any key fields)`,
  );
  const set = listOf();
  assert.equal(itemProblem(set, null), "associative list without keys has an element that's an explicit null");
  assert.equal(itemProblem(set, []), "not supported: associative list with lists as elements");
  assert.equal(itemProblem(set, {}), "associative list without keys has an element that's a map type");
});

test("items are printed as paths show them", () => {
  const printed: readonly (readonly [string, string])[] = [
    ["i:3", "[3]"],
    ['v:"a\\"b"', '[="a\\"b"]'],
    ["v:1.5", "[=1.5]"],
    ["v:true", "[=true]"],
    ["v:null", "[=null]"],
    ['v:["a",1]', '[=["a",1]]'],
    ['k:{"port":80,"protocol":"TCP"}', '[port=80,protocol="TCP"]'],
    ['k:{"b":1,"a":null}', "[a=null,b=1]"],
  ];
  for (const [key, text] of printed) assert.equal(printItem(key), text, key);
});

test("names of another writer get their canonical text; unknown forms have none", () => {
  const canonical: readonly (readonly [string, string | undefined])[] = [
    ['k:{"name":"a"}', 'k:{"name":"a"}'],
    ['k:{ "b": 2, "a": 1 }', 'k:{"a":1,"b":2}'],
    ['v: "a"', 'v:"a"'],
    ["v:1.0", "v:1"],
    ["i:007", "i:7"],
    ["i:-1", "i:-1"],
    ["x:1", undefined],
  ];
  for (const [key, text] of canonical) assert.equal(canonicalItem(key), text, key);
});

test("malformed names throw", () => {
  assert.throws(() => canonicalItem("i:x"), { message: 'strconv.Atoi: parsing "x": invalid syntax' });
  assert.throws(() => canonicalItem("k:[]"), { message: 'expected an object in "k:[]"' });
  assert.throws(() => canonicalItem("v:"));
});

test("names are sorted: keyed ones, values, positions, each in its natural order", () => {
  const sorted = [
    'k:{"a":2}',
    'k:{"a":10}',
    'k:{"a":10,"b":1}',
    'k:{"a":"x"}',
    'k:{"b":1}',
    "v:-1",
    "v:2",
    "v:10",
    'v:"a"',
    'v:"b"',
    "v:false",
    "v:true",
    "i:2",
    "i:10",
  ];
  assert.deepEqual(sortItemKeys(sorted.toReversed()), sorted);
  assert.deepEqual(sortItemKeys([]), []);
});

test("values are ordered by kind, then by value", () => {
  const ordered: JsonValue[] = [
    -1.5,
    0,
    1,
    2n ** 60n,
    "",
    "a",
    "\uffff",
    "😀",
    false,
    true,
    [],
    [1],
    [1, 2],
    [2],
    {},
    { a: 1 },
    { a: 1, b: 0 },
    { a: 2 },
    { b: 0 },
    null,
  ];
  for (const [i, a] of ordered.entries()) {
    for (const [j, b] of ordered.entries()) {
      assert.equal(Math.sign(compareValues(a, b)), Math.sign(i - j), `${String(a)} and ${String(b)}`);
    }
  }
  assert.equal(compareValues(1n, 1), 0);
});

test("property: the canonical text of a canonical text is itself", () => {
  const key = fc.oneof(
    fc
      .dictionary(fc.string({ minLength: 1 }), fc.oneof(fc.string(), fc.integer(), fc.boolean()), {
        minKeys: 1,
        maxKeys: 3,
      })
      .map((fields) => `k:${JSON.stringify(fields)}`),
    fc.oneof(fc.string(), fc.integer(), fc.boolean()).map((value) => `v:${JSON.stringify(value)}`),
  );
  fc.assert(
    fc.property(key, (text) => {
      const canonical = canonicalItem(text) ?? assert.fail();
      assert.equal(canonicalItem(canonical), canonical);
    }),
  );
});
