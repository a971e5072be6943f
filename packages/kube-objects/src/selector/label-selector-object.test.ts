// SPDX-License-Identifier: Apache-2.0
// Label selectors in objects: what they select, and what is wrong with them. label-selector.test.ts has the answers of the
// reference.
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { finish } from "@purlin/base";
import { formatLabelSelector, matchesLabels } from "./label-selector.ts";
import {
  type LabelSelectorObject,
  labelSelectorOf,
  meetsLabelSelector,
  readingLabelSelector,
  validateLabelSelector,
} from "./label-selector-object.ts";

const expression = (key: string, operator: string, values?: readonly string[] | null): LabelSelectorObject => ({
  matchExpressions: [{ key, operator, ...(values !== undefined && { values }) }],
});
const selects = (object: LabelSelectorObject | null | undefined, labels: Readonly<Record<string, string>>): boolean =>
  matchesLabels(labelSelectorOf(object), labels);
/** The same without a parsed selector, and with one that was read in parts. */
const alsoSelects = (object: LabelSelectorObject, labels: Readonly<Record<string, string>>): readonly boolean[] => [
  meetsLabelSelector(object, labels),
  matchesLabels(finish(readingLabelSelector(object)), labels),
];

describe("what is selected", () => {
  test("no selector selects nothing, an empty one everything", () => {
    for (const none of [null, undefined]) assert.equal(selects(none, {}), false);
    for (const empty of [{}, { matchLabels: {} }, { matchLabels: null, matchExpressions: null }]) {
      assert.equal(selects(empty, {}), true);
      assert.equal(selects(empty, { a: "b" }), true);
    }
  });

  const rows: readonly {
    readonly why: string;
    readonly object: LabelSelectorObject;
    readonly yes: readonly Readonly<Record<string, string>>[];
    readonly no: readonly Readonly<Record<string, string>>[];
  }[] = [
    {
      why: "all labels have to be the same",
      object: { matchLabels: { a: "1", b: "2" } },
      yes: [{ a: "1", b: "2", c: "3" }],
      no: [{ a: "1" }, { a: "1", b: "3" }, {}],
    },
    { why: "an empty value is a value", object: { matchLabels: { a: "" } }, yes: [{ a: "" }], no: [{ a: "x" }, {}] },
    { why: "In", object: expression("a", "In", ["1", "2"]), yes: [{ a: "1" }, { a: "2" }], no: [{ a: "3" }, {}] },
    {
      why: "NotIn holds for objects without the label",
      object: expression("a", "NotIn", ["1"]),
      yes: [{ a: "2" }, {}],
      no: [{ a: "1" }],
    },
    { why: "Exists", object: expression("a", "Exists"), yes: [{ a: "" }], no: [{ b: "1" }, {}] },
    { why: "DoesNotExist", object: expression("a", "DoesNotExist", []), yes: [{ b: "1" }, {}], no: [{ a: "" }] },
    {
      why: "labels and expressions have to hold",
      object: { matchLabels: { a: "1" }, ...expression("b", "Exists", null) },
      yes: [{ a: "1", b: "x" }],
      no: [{ a: "1" }, { b: "x" }],
    },
    {
      why: "a label that every object inherits is a label like others",
      object: expression("toString", "Exists"),
      yes: [Object.fromEntries([["toString", "x"]])],
      no: [{}],
    },
  ];
  for (const { why, object, yes, no } of rows) {
    test(why, () => {
      for (const labels of yes) assert.equal(selects(object, labels), true, JSON.stringify(labels));
      for (const labels of no) assert.equal(selects(object, labels), false, JSON.stringify(labels));
      for (const labels of yes) assert.deepEqual(alsoSelects(object, labels), [true, true], JSON.stringify(labels));
      for (const labels of no) assert.deepEqual(alsoSelects(object, labels), [false, false], JSON.stringify(labels));
    });
  }

  test("requirements are sorted by their label", () => {
    const object = { matchLabels: { c: "1", a: "2" }, ...expression("b", "In", ["y", "x"]) };
    assert.equal(formatLabelSelector(labelSelectorOf(object)), "a=2,b in (x,y),c=1");
  });
});

describe("selectors that make no sense are refused", () => {
  const rows: readonly (readonly [LabelSelectorObject, string])[] = [
    [expression("a", "Nope"), '"Nope" is not a valid label selector operator'],
    [expression("a", "in", ["x"]), '"in" is not a valid label selector operator'],
    [expression("a", "toString"), '"toString" is not a valid label selector operator'],
    [expression("a", "In", []), "values: Invalid value: null: for 'in', 'notin' operators, values set can't be empty"],
    [
      expression("a", "Exists", ["x"]),
      'values: Invalid value: ["x"]: values set must be empty for exists and does not exist',
    ],
  ];
  for (const [object, message] of rows) test(message, () => assert.throws(() => labelSelectorOf(object), { message }));
});

describe("what validation finds", () => {
  const found = (object: LabelSelectorObject | null | undefined): readonly string[] =>
    validateLabelSelector(object, "spec.selector").map(({ field, body }) => `${field}: ${body}`);

  test("nothing, in a selector that is missing, empty or right", () => {
    for (const fine of [null, undefined, {}, { matchLabels: { a: "1" } }, expression("a", "NotIn", ["x"])]) {
      assert.deepEqual(found(fine), []);
    }
  });

  test("an operator that needs values", () => {
    const text =
      "spec.selector.matchExpressions[0].values: Required value: must be specified when `operator` is 'In' or 'NotIn'";
    assert.deepEqual(found(expression("a", "In")), [text]);
    assert.deepEqual(found(expression("a", "NotIn", null)), [text]);
  });

  test("an operator that takes none", () => {
    const text =
      "spec.selector.matchExpressions[0].values: Forbidden: may not be specified when `operator` is 'Exists' or 'DoesNotExist'";
    assert.deepEqual(found(expression("a", "Exists", ["x"])), [text]);
    assert.deepEqual(found(expression("a", "DoesNotExist", ["x"])), [text]);
  });

  test("an operator that does not exist", () => {
    assert.deepEqual(found(expression("a", "Gt", ["1"])), [
      'spec.selector.matchExpressions[0].operator: Invalid value: "Gt": not a valid selector operator',
    ]);
  });

  test("all places are named, labels first", () => {
    const object: LabelSelectorObject = {
      matchLabels: { "a b": "x", c: "-" },
      matchExpressions: [
        { key: "ok", operator: "Exists" },
        { key: "a b", operator: "In", values: ["fine", "not fine"] },
      ],
    };
    assert.deepEqual(
      validateLabelSelector(object, "s").map(({ field }) => field),
      ["s.matchLabels", "s.matchLabels", "s.matchExpressions[1].key", "s.matchExpressions[1].values[1]"],
    );
  });
});
