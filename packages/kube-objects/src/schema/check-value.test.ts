// SPDX-License-Identifier: Apache-2.0
// Each keyword at its limit: one below, at, and one above. messages.test.ts has the texts, reference-answers.test.ts the
// answers of the reference for random schemas.
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { finish } from "@purlin/base";
import type { JsonObject, JsonValue } from "../json/json-value.ts";
import { deepFreeze } from "../object/kube-object.ts";
import { type CheckValueOptions, checkingValue, checkValue } from "./check-value.ts";
import { maxNesting } from "./value-kind.ts";

const found = (value: unknown, schema: JsonObject, options?: CheckValueOptions): readonly string[] =>
  checkValue(value, deepFreeze(schema), options).map(({ field, body }) => `${field}: ${body}`);
const fits = (value: unknown, schema: JsonObject): boolean => found(value, schema).length === 0;

/** Whether each value fits the schema. */
const allFit = (schema: JsonObject, values: readonly JsonValue[]): readonly boolean[] =>
  values.map((value) => fits(value, schema));

describe("strings", () => {
  test("lengths are counted in code points", () => {
    assert.deepEqual(allFit({ maxLength: 2 }, ["", "a", "ab", "abc"]), [true, true, true, false]);
    assert.deepEqual(allFit({ maxLength: 2 }, ["😀😀", "😀😀a", "a😀", "e\u0301"]), [true, false, true, true]);
    assert.deepEqual(allFit({ minLength: 2 }, ["", "a", "ab", "😀", "😀😀"]), [false, false, true, false, true]);
    assert.deepEqual(allFit({ minLength: 0 }, [""]), [true]);
    assert.deepEqual(allFit({ maxLength: 0 }, ["", "a"]), [true, false]);
  });

  test("a string is checked against one of length and pattern, and its format besides", () => {
    const schema = { maxLength: 3, minLength: 2, pattern: "^a", format: "date" };
    assert.deepEqual(found("bbbb", schema), [
      "<nil>: Too long: may not be more than 3 bytes",
      '<nil>: Invalid value: "bbbb":  in body must be of type date: "bbbb"',
    ]);
    assert.deepEqual(found("b", { ...schema, format: "" }), [
      '<nil>: Invalid value: "b":  in body should be at least 2 chars long',
    ]);
    assert.deepEqual(found("bb", { ...schema, format: "" }), [
      "<nil>: Invalid value: \"bb\":  in body should match '^a'",
    ]);
  });

  test("a pattern is searched for, not matched as a whole", () => {
    assert.deepEqual(allFit({ pattern: "b+" }, ["abc", "ac", ""]), [true, false, false]);
    assert.deepEqual(allFit({ pattern: "^b+$" }, ["abc", "bb", "b\n"]), [false, true, false]);
  });

  test("a pattern that is wrong is reported", () => {
    const [text = ""] = found("a", { pattern: "(" });
    assert.match(text, /should match '\(, but pattern is invalid: /);
  });

  test("keywords of strings do not apply to other values", () => {
    assert.deepEqual(allFit({ maxLength: 0, pattern: "^$", minLength: 9 }, [1, true, [], {}]), [
      true,
      true,
      true,
      true,
    ]);
  });

  test("an unknown format is not checked", () => assert.equal(fits("x", { format: "unheard-of" }), true));
});

describe("lists", () => {
  test("the number of items", () => {
    assert.deepEqual(allFit({ minItems: 1, maxItems: 2 }, [[], [1], [1, 2], [1, 2, 3]]), [false, true, true, false]);
  });

  test("items that come twice", () => {
    const schema = { uniqueItems: true };
    assert.deepEqual(allFit(schema, [[], [1, 2], [1, 1], [1, "1"], [1, 1.5, 1]]), [true, true, false, true, false]);
    assert.deepEqual(
      allFit(schema, [
        [
          { a: 1, b: 2 },
          { b: 2, a: 1 },
        ],
        [{ a: 1 }, { a: 2 }],
        [[1], [1]],
        [null, null],
        [9007199254740993n, 9007199254740992n],
      ]),
      [false, true, false, false, true],
    );
    assert.deepEqual(allFit({ uniqueItems: false }, [[1, 1]]), [true]);
  });

  test("each item is checked at its index, and what is wrong inside it at its path", () => {
    const schema = { items: { type: "object", properties: { n: { type: "integer" } } } };
    assert.deepEqual(found([{ n: 1 }, { n: "x" }, 5], schema), [
      '[1].n: Invalid value: "string": [1].n in body must be of type integer: "string"',
      '[2]: Invalid value: "integer": [2] in body must be of type object: "integer"',
    ]);
  });

  test("findings about items come before those about the list", () => {
    assert.deepEqual(
      found(["x"], { items: { type: "integer" }, minItems: 2 }).map((text) => text.split(":")[0]),
      ["[0]", "<nil>"],
    );
  });
});

describe("objects", () => {
  test("the number of members", () => {
    const schema = { minProperties: 1, maxProperties: 2 };
    assert.deepEqual(allFit(schema, [{}, { a: 1 }, { a: 1, b: 1 }, { a: 1, b: 1, c: 1 }]), [false, true, true, false]);
  });

  test("a member that is undefined is not there", () => {
    assert.deepEqual(found({ a: undefined }, { minProperties: 1, required: ["a"] }), [
      "<nil>: Invalid value: 0:  in body should have at least 1 properties",
      "a: Required value",
    ]);
  });

  test("a required member may be null", () => {
    assert.deepEqual(allFit({ required: ["a"] }, [{ a: null }, { a: 0 }, {}]), [true, true, false]);
  });

  test("a required member that every object inherits is still missing", () => {
    assert.deepEqual(found({}, { required: ["toString"] }), ["toString: Required value"]);
  });

  test("required members are not asked for in a part of an object", () => {
    const schema = { required: ["a"], properties: { b: { type: "object", required: ["c"] } } };
    assert.deepEqual(found({ b: {} }, schema, { partial: true }), []);
    assert.deepEqual(found({ b: {} }, schema), ["b.c: Required value", "a: Required value"]);
  });

  test("members that are not declared are forbidden, allowed or checked", () => {
    const properties = { a: { type: "string" } };
    assert.equal(fits({ b: 1 }, { properties }), true);
    assert.equal(fits({ b: 1 }, { properties, additionalProperties: true }), true);
    assert.deepEqual(found({ a: "x", b: 1 }, { properties, additionalProperties: false }), [
      '<nil>: Invalid value: "b": .b in body is a forbidden property',
    ]);
    assert.deepEqual(found({ a: "x", b: 1 }, { properties, additionalProperties: { type: "string" } }), [
      'b: Invalid value: "integer": .b in body must be of type string: "integer"',
    ]);
  });

  test("a declared member is not checked by the schema of the others", () => {
    const schema = { properties: { a: { type: "string" } }, additionalProperties: { type: "integer" } };
    assert.equal(fits({ a: "x", b: 1 }, schema), true);
  });
});

describe("null", () => {
  test("it fits where no type is asked for, null is one of the types, or the schema is nullable", () => {
    assert.equal(fits(null, {}), true);
    assert.equal(fits(null, { type: "string", nullable: true }), true);
    assert.equal(fits(null, { type: ["string", "null"] }), true);
    assert.equal(fits(null, { type: "string" }), false);
    assert.equal(fits(null, { "x-kubernetes-int-or-string": true }), false);
  });

  test("it is checked against nothing but the type and the enum", () => {
    assert.equal(fits(null, { minLength: 5, minItems: 5, required: ["a"], not: {} }), true);
    assert.equal(fits(null, { nullable: true, enum: ["a", null] }), false);
  });

  test("what JSON cannot hold counts as null", () => {
    assert.deepEqual(found(undefined, { type: "string" }), [
      '<nil>: Invalid value: "null":  in body must be of type string: "null"',
    ]);
    assert.equal(fits(Symbol("x"), { nullable: true, type: "string" }), true);
  });
});

describe("limits of a check", () => {
  const nest = (levels: number): JsonValue => {
    let value: JsonValue = "x";
    for (let level = 0; level < levels; level++) value = [value];
    return value;
  };
  const recursive: JsonObject = {};
  Object.assign(recursive, { items: recursive });

  test("values may be as deep as the limit and no deeper", () => {
    const check = (levels: number): number => checkValue(nest(levels), recursive).length;
    assert.equal(check(maxNesting - 1), 0);
    assert.equal(check(maxNesting), 1);
    assert.match(checkValue(nest(maxNesting + 500), recursive)[0]?.body ?? "", /is nested deeper than 1000 levels/);
  });

  test("a list of 100 items is checked at once, a longer one afterwards, with the same findings", () => {
    const schema = { items: { type: "integer", maximum: 1 }, maxItems: 1 };
    for (const count of [99, 100, 101, 150]) {
      const value = Array.from({ length: count }, (_, index) => (index === 50 ? 2 : 1));
      const inParts = finish(checkingValue(value, schema)).map(({ field }) => field);
      assert.deepEqual(
        inParts.toSorted(),
        checkValue(value, schema)
          .map(({ field }) => field)
          .toSorted(),
      );
      assert.deepEqual(inParts, count > 100 ? ["<nil>", "[50]"] : ["[50]", "<nil>"], String(count));
    }
  });

  test("a large map is checked afterwards too, with the same findings", () => {
    const schema = { additionalProperties: { type: "integer" }, maxProperties: 1, minProperties: 200 };
    const value = Object.fromEntries(Array.from({ length: 150 }, (_, index) => [`k${index}`, index === 7 ? "x" : 1]));
    const fields = finish(checkingValue(value, schema)).map(({ field, body }) => `${field} ${body.split(":")[0]}`);
    assert.deepEqual(fields, ["<nil> Invalid value", "<nil> Too many", "k7 Invalid value"]);
  });

  test("one string too long for a pattern is refused, and others are not", () => {
    const [text = ""] = found("a".repeat(12_000_000), { pattern: "^a+$" });
    assert.match(text, /is too long to be matched with '\^a\+\$'$/);
    assert.equal(fits("a".repeat(1000), { pattern: "^a+$" }), true);
  });
});
