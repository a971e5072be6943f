// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { isBadRequest } from "../errors/status-error.ts";
import {
  exactFieldValue,
  fieldLabelNotSupported,
  formatFieldSelector,
  matchesFields,
  parseFieldSelector,
  unknownFieldSelector,
} from "./field-selector.ts";
// Observed from the reference's fields.ParseSelector.
import observed from "./testdata/selectors.json" with { type: "json" };

const { sets, rows } = observed.fields;
const lookup =
  (set: object) =>
  (field: string): string =>
    (Object.hasOwn(set, field) ? (set as Record<string, string>)[field] : "") ?? "";

for (const row of rows) {
  test(`field selector ${JSON.stringify(row.text)}`, () => {
    if (row.error !== undefined) {
      assert.throws(
        () => parseFieldSelector(row.text),
        (error: Error) => isBadRequest(error) && error.message === row.error,
        row.error,
      );
      return;
    }
    const selector = parseFieldSelector(row.text);
    assert.equal(formatFieldSelector(selector), row.string);
    assert.equal(sets.map((set) => (matchesFields(selector, lookup(set)) ? "1" : "0")).join(""), row.matches);
  });
}

test("a field pinned to one value is found, a refused one is not", () => {
  const selector = parseFieldSelector("metadata.name=a,status.phase!=b");
  assert.equal(exactFieldValue(selector, "metadata.name"), "a");
  assert.equal(exactFieldValue(selector, "status.phase"), undefined);
});

test("unsupported fields are refused in the words of the kind's server", () => {
  assert.equal(fieldLabelNotSupported("spec.foo").message, "field label not supported: spec.foo");
  assert.equal(
    unknownFieldSelector("spec.foo").message,
    '"spec.foo" is not a known field selector: only "metadata.name", "metadata.namespace"',
  );
});

test("property: any values survive formatting and parsing", () => {
  const term = fc.record({
    field: fc.constantFrom("a", "b.c"),
    operator: fc.constantFrom("=" as const, "!=" as const),
    // "a=" followed by "=…" would read as "==", so a value cannot start with an escaped "=" alone: it is escaped.
    value: fc.string(),
  });
  fc.assert(
    fc.property(fc.array(term), (terms) => {
      const parsed = parseFieldSelector(formatFieldSelector(terms));
      const order = (list: readonly unknown[]): string[] => list.map((item) => JSON.stringify(item)).sort();
      assert.deepEqual(order(parsed), order(terms));
    }),
  );
});

test("a term without a field and a value selects nothing out", () => {
  assert.deepEqual(parseFieldSelector("=,==,!=,"), []);
  assert.equal(parseFieldSelector("=,metadata.name=a").length, 1);
  assert.equal(parseFieldSelector("=a").length, 1);
});
