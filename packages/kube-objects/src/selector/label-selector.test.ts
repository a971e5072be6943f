// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { isBadRequest } from "../errors/status-error.ts";
import { createRequirement, type LabelRequirement } from "./label-requirement.ts";
import {
  exactLabelValue,
  formatLabelSelector,
  type LabelSelector,
  matchesLabels,
  parseLabelSelector,
  selectNothing,
} from "./label-selector.ts";
import { type LabelSelectorObject, labelSelectorOf, validateLabelSelector } from "./label-selector-object.ts";
// Observed from the reference's labels.Parse, LabelSelectorAsSelector and ValidateLabelSelector.
import observed from "./testdata/selectors.json" with { type: "json" };

type Labels = Record<string, string>;
const sets = observed.labels.sets as unknown as readonly Labels[];
const picked = (selector: LabelSelector): string =>
  sets.map((labels) => (matchesLabels(selector, labels) ? "1" : "0")).join("");

for (const row of observed.labels.rows) {
  test(`label selector ${JSON.stringify(row.text)}`, () => {
    if (row.error !== undefined) {
      assert.throws(
        () => parseLabelSelector(row.text),
        (error: Error) => isBadRequest(error) && error.message === row.error,
        row.error,
      );
      return;
    }
    const selector = parseLabelSelector(row.text);
    assert.equal(formatLabelSelector(selector), row.string);
    assert.equal(picked(selector), row.matches);
  });
}

for (const row of observed.objects) {
  test(`selector object ${JSON.stringify(row.object)}`, () => {
    const object = row.object as LabelSelectorObject | null;
    assert.deepEqual(validateLabelSelector(object, "spec.selector"), row.validation);
    if (row.error !== undefined) {
      assert.throws(() => labelSelectorOf(object), { message: row.error });
      return;
    }
    const selector = labelSelectorOf(object);
    assert.equal(formatLabelSelector(selector), row.string);
    assert.equal(picked(selector), row.matches);
  });
}

test("an absent selector object selects nothing, absent labels are an empty map", () => {
  assert.equal(labelSelectorOf(undefined), selectNothing);
  assert.ok(!matchesLabels(selectNothing, { "": "" }));
  assert.ok(matchesLabels([], undefined));
  assert.ok(matchesLabels(parseLabelSelector("!a"), null));
});

test("a selector that pins a label to one value says so", () => {
  const selector = parseLabelSelector("a=x,b in (y),c in (y,z),d!=x,e");
  const values = ["a", "b", "c", "d", "e", "f"].map((key) => exactLabelValue(selector, key));
  assert.deepEqual(values, ["x", "y", undefined, undefined, undefined, undefined]);
});

test("an unknown operator is reported with the valid ones", () => {
  assert.throws(() => createRequirement("a", "like" as "in", ["x"]), {
    message:
      'operator: Unsupported value: "like": supported values: "in", "notin", "=", "==", "!=", "gt", "lt", "exists", "!"',
  });
});

const key = fc.constantFrom("a", "b", "ex.io/c", "in", "notin");
const value = fc.constantFrom("", "x", "y", "1", "20", "in", "A_b.c");
const requirement: fc.Arbitrary<LabelRequirement> = fc.oneof(
  fc.record({ key, operator: fc.constantFrom("=", "==", "!="), values: value.map((v) => [v]) }),
  fc.record({ key, operator: fc.constantFrom("in", "notin"), values: fc.uniqueArray(value, { minLength: 1 }) }),
  fc.record({ key, operator: fc.constantFrom("exists", "!"), values: fc.constant([]) }),
  fc.record({ key, operator: fc.constantFrom("gt", "lt"), values: fc.nat(99).map((n) => [String(n)]) }),
);

test("property: formatting and parsing a selector keeps what it selects", () => {
  fc.assert(
    fc.property(fc.array(requirement), fc.dictionary(key, value), (requirements, labels) => {
      const text = formatLabelSelector(requirements);
      const parsed = parseLabelSelector(text);
      assert.equal(matchesLabels(parsed, labels), matchesLabels(requirements, labels), text);
      assert.equal(formatLabelSelector(parseLabelSelector(formatLabelSelector(parsed))), formatLabelSelector(parsed));
    }),
  );
});

test("property: any text parses or is refused with BadRequest", () => {
  const text = fc.oneof(fc.string({ unit: fc.constantFrom(..."ab =!(),<>in\0\t") }), fc.string());
  fc.assert(
    fc.property(text, (selector) => {
      try {
        parseLabelSelector(selector);
      } catch (error) {
        assert.ok(isBadRequest(error));
      }
    }),
  );
});
