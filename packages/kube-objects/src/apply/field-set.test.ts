// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { parseJson, printJson } from "../json/json-text.ts";
import type { JsonObject, JsonValue } from "../json/json-value.ts";
import { printPaths } from "./apply-errors.ts";
import {
  difference,
  emptySet,
  equalSets,
  type FieldSet,
  fieldSetNode,
  fieldSetOfPaths,
  fieldSetSize,
  hasFieldPath,
  intersection,
  isEmptySet,
  isSubset,
  leaf,
  recursiveDifference,
  union,
} from "./field-set.ts";
import { decodeFieldsV1, encodeFieldsV1 } from "./fields-v1.ts";
import { compareValues } from "./item-key.ts";
// Observed from the reference's fieldpath.Set.
import observed from "./testdata/field-sets.json" with { type: "json" };

for (const row of observed) {
  test(`FieldsV1 ${row.fields}`, () => {
    const fields = parseJson(row.fields) as JsonObject;
    if (row.error !== undefined) {
      assert.throws(() => decodeFieldsV1(fields), row.error);
      return;
    }
    const set = decodeFieldsV1(fields);
    assert.equal(printJson(encodeFieldsV1(set)), row.encoded);
    assert.deepEqual(printPaths(set), row.paths);
    assert.equal(fieldSetSize(set), row.paths?.length);
    // A count that is given up says that there are more.
    for (const most of [0, 1, 2, 5]) assert.equal(fieldSetSize(set, most) > most, fieldSetSize(set) > most);
    assert.ok(equalSets(decodeFieldsV1(parseJson(row.encoded ?? "") as JsonObject), set));
  });
}

test("values of a set keep 64 bits, where the reference rounds them", () => {
  const fields = { "f:a": { "v:9007199254740992": {}, "v:9007199254740993": {} } };
  assert.deepEqual(encodeFieldsV1(decodeFieldsV1(fields)), fields);
});

test("frozen FieldsV1 is decoded once, and an encoded set decodes to itself", () => {
  const frozen = Object.freeze({ "f:a": {} });
  assert.equal(decodeFieldsV1(frozen), decodeFieldsV1(frozen));
  const open = { "f:a": {} } as Record<string, object>;
  const before = decodeFieldsV1(open as JsonObject);
  open["f:b"] = {};
  assert.ok(!equalSets(before, decodeFieldsV1(open as JsonObject)), "what may change is read again");
  const set = fieldSetOfPaths([["x", "y"]]);
  assert.equal(encodeFieldsV1(set), encodeFieldsV1(set));
  assert.equal(decodeFieldsV1(encodeFieldsV1(set)), set);
});

test("paths of field names", () => {
  const set = fieldSetOfPaths([["a"], ["a", "b"], ["c", "d"]]);
  assert.deepEqual(encodeFieldsV1(set), { "f:a": { ".": {}, "f:b": {} }, "f:c": { "f:d": {} } });
  assert.ok(hasFieldPath(set, ["a"]) && hasFieldPath(set, ["c", "d"]));
  assert.ok(!hasFieldPath(set, ["c"]) && !hasFieldPath(set, []) && !hasFieldPath(set, ["x", "y"]));
});

test("operations that change nothing return their first set itself", () => {
  const set = fieldSetOfPaths([["a", "b"], ["c"]]);
  const part = fieldSetOfPaths([["c"]]);
  const other = fieldSetOfPaths([["z"]]);
  assert.equal(union(set, part), set);
  assert.ok(equalSets(union(part, set), set));
  assert.equal(intersection(set, set), set);
  assert.equal(difference(set, other), set);
  assert.equal(recursiveDifference(set, emptySet), set);
  assert.equal(difference(set, set), emptySet);
  assert.equal(fieldSetNode(true, new Map(), undefined), leaf);
});

// The model: a set of path texts. Both kinds of children are generated.
const element = fc.constantFrom("f:a", "f:b", 'k:{"n":"x"}', 'k:{"n":"y"}', "v:1", 'v:"s"');
const path = fc.array(element, { minLength: 1, maxLength: 4 });
const paths = fc.array(path, { maxLength: 12 });

function setOf(list: readonly (readonly string[])[]): FieldSet {
  return list.reduce((set, one) => union(set, branch(one)), emptySet);
}

function branch([first, ...rest]: readonly string[]): FieldSet {
  if (first === undefined) return leaf;
  const child = new Map([[first.startsWith("f:") ? first.slice(2) : first, branch(rest)]]);
  return first.startsWith("f:") ? fieldSetNode(false, child, undefined) : fieldSetNode(false, undefined, child);
}

const model = (list: readonly (readonly string[])[]): Set<string> => new Set(list.map((one) => one.join(" ")));

function modelOf(node: FieldSet, prefix = ""): Set<string> {
  const out = new Set<string>();
  const visit = (name: string, child: FieldSet): void => {
    const here = prefix === "" ? name : `${prefix} ${name}`;
    if (child.member) out.add(here);
    for (const below of modelOf(child, here)) out.add(below);
  };
  for (const [name, child] of node.fields ?? []) visit(`f:${name}`, child);
  for (const [name, child] of node.items ?? []) visit(name, child);
  return out;
}

test("property: the tree behaves as a plain set of paths", () => {
  fc.assert(
    fc.property(paths, paths, (a, b) => {
      const [sa, sb] = [setOf(a), setOf(b)];
      const [ma, mb] = [model(a), model(b)];
      assert.deepEqual(modelOf(sa), ma);
      assert.deepEqual(modelOf(union(sa, sb)), ma.union(mb));
      assert.deepEqual(modelOf(intersection(sa, sb)), ma.intersection(mb));
      assert.deepEqual(modelOf(difference(sa, sb)), ma.difference(mb));
      const below = [...ma].filter((one) => ![...mb].some((cut) => one === cut || one.startsWith(`${cut} `)));
      assert.deepEqual(modelOf(recursiveDifference(sa, sb)), new Set(below));
      assert.equal(isSubset(sa, sb), ma.isSubsetOf(mb));
      assert.equal(equalSets(sa, sb), ma.symmetricDifference(mb).size === 0);
      assert.equal(isEmptySet(difference(sa, sa)), true);
      assert.equal(fieldSetSize(sa), ma.size);
    }),
    { numRuns: 500 },
  );
});

test("property: FieldsV1 round-trips every set", () => {
  fc.assert(
    fc.property(paths, (list) => {
      const set = setOf(list);
      const fields = encodeFieldsV1(set);
      assert.ok(equalSets(decodeFieldsV1(structuredClone(fields)), set));
      assert.equal(printPaths(set).length, fieldSetSize(set));
    }),
  );
});

test("values of any type have an order", () => {
  const sorted: JsonValue[] = [
    -1,
    2n,
    2.5,
    10,
    "",
    "a",
    "b",
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
  for (const [i, a] of sorted.entries()) {
    for (const [j, b] of sorted.entries())
      assert.equal(Math.sign(compareValues(a, b)), Math.sign(i - j), `${i} against ${j}`);
  }
});
