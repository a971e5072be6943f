// SPDX-License-Identifier: Apache-2.0
// allOf, anyOf, oneOf and not: when they hold, what they report, and what changes in a part of an object.
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { JsonObject } from "../json/json-value.ts";
import { checkValue } from "./check-value.ts";

const bodies = (value: unknown, schema: JsonObject, partial = false): readonly string[] =>
  checkValue(value, schema, { partial }).map(({ body }) => body.replace('Invalid value: "": "" ', ""));

const integer = { type: "integer" };
const text = { type: "string" };
const small = { maximum: 5 };
const even = { multipleOf: 2 };
const needs = (...names: string[]): JsonObject => ({ required: names });

describe("anyOf", () => {
  const none = "must validate at least one schema (anyOf)";

  test("one that fits is enough", () => {
    assert.deepEqual(bodies(3, { anyOf: [text, integer] }), []);
    assert.deepEqual(bodies("a", { anyOf: [text, integer] }), []);
    assert.deepEqual(bodies(true, { anyOf: [{}] }), []);
  });

  test("an empty list asks for nothing", () => assert.deepEqual(bodies(3, { anyOf: [] }), []));

  test("the problems of the alternative that came closest follow", () => {
    const schema = { anyOf: [{ type: "string" }, { type: "integer", maximum: 5, multipleOf: 2 }] };
    assert.deepEqual(bodies(7, schema), [
      none,
      "Invalid value: 7:  in body should be a multiple of 2",
      "Invalid value: 7:  in body should be less than or equal to 5",
    ]);
  });

  test("of alternatives that came equally close the first is reported", () => {
    const schema = {
      anyOf: [
        { type: "integer", maximum: 5 },
        { type: "integer", maximum: 6 },
      ],
    };
    assert.deepEqual(bodies(7, schema), [none, "Invalid value: 7:  in body should be less than or equal to 5"]);
  });
});

describe("oneOf", () => {
  const found = (what: string): string => `must validate one and only one schema (oneOf). Found ${what}`;

  test("exactly one has to fit", () => {
    const schema = { oneOf: [small, even] };
    assert.deepEqual(bodies(3, schema), []);
    assert.deepEqual(bodies(8, schema), []);
    assert.deepEqual(bodies(4, schema), [found("2 valid alternatives")]);
    assert.deepEqual(bodies(7, schema), [
      found("none valid"),
      "Invalid value: 7:  in body should be less than or equal to 5",
    ]);
  });

  test("the number of those that fit is named", () => {
    assert.deepEqual(bodies(4, { oneOf: [small, even, integer, text] }), [found("3 valid alternatives")]);
  });

  test("a part of an object may fit several that differ in what they require", () => {
    const schema = { oneOf: [needs("a"), needs("b")] };
    assert.deepEqual(bodies({}, schema, true), []);
    assert.deepEqual(bodies({}, schema), [found("none valid"), "Required value"]);
    assert.deepEqual(bodies({ a: 1, b: 1 }, schema, true), [found("2 valid alternatives")]);
  });
});

describe("allOf", () => {
  const some = "must validate all the schemas (allOf)";

  test("all have to fit", () => {
    assert.deepEqual(bodies(4, { allOf: [small, even] }), []);
    assert.deepEqual(bodies(3, { allOf: [small, even] }), [
      "Invalid value: 3:  in body should be a multiple of 2",
      some,
    ]);
  });

  test("an error reports that no schema fits", () => {
    assert.deepEqual(bodies(7, { allOf: [small, even] }), [
      "Invalid value: 7:  in body should be less than or equal to 5",
      "Invalid value: 7:  in body should be a multiple of 2",
      `${some}. None validated`,
    ]);
    assert.deepEqual(bodies(7, { allOf: [small] }).at(-1), `${some}. None validated`);
  });

  test("the same finding of two parts is reported once", () => {
    assert.equal(bodies(7, { allOf: [small, small] }).length, 2);
  });
});

describe("not", () => {
  const must = "must not validate the schema (not)";

  test("what fits is refused", () => {
    assert.deepEqual(bodies(3, { not: text }), []);
    assert.deepEqual(bodies("a", { not: text }), [must]);
    assert.deepEqual(bodies("a", { not: {} }), [must]);
  });

  test("a part of an object is refused when it fits already", () => {
    assert.deepEqual(bodies({ a: 1 }, { not: needs("a") }, true), [must]);
    assert.deepEqual(bodies({}, { not: needs("a") }, true), []);
  });
});

describe("compositions together", () => {
  test("all four are looked at, in the order anyOf, oneOf, allOf, not", () => {
    const schema = { anyOf: [text], oneOf: [text], allOf: [text], not: integer };
    assert.deepEqual(
      bodies(1, schema).filter((body) => !body.includes("in body")),
      [
        "must validate at least one schema (anyOf)",
        "must validate one and only one schema (oneOf). Found none valid",
        "must validate all the schemas (allOf). None validated",
        "must not validate the schema (not)",
      ],
    );
  });

  test("the place is named in the text, and is the path of the finding", () => {
    const schema = { properties: { spec: { properties: { l: { items: { not: text } } } } } };
    const [finding] = checkValue({ spec: { l: [1, "x"] } }, schema);
    assert.deepEqual(
      { field: finding?.field, path: finding?.path, body: finding?.body },
      {
        field: "<nil>",
        path: "spec.l[1]",
        body: 'Invalid value: "": "spec.l[1]" must not validate the schema (not)',
      },
    );
  });

  test("a composition in a composition", () => {
    const schema = { anyOf: [{ allOf: [integer, small] }, { not: integer }] };
    assert.deepEqual(bodies(3, schema), []);
    assert.deepEqual(bodies("x", schema), []);
    assert.equal(bodies(7, schema)[0], "must validate at least one schema (anyOf)");
  });
});
