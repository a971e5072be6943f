// SPDX-License-Identifier: Apache-2.0
// The texts of places, and how findings are collected.
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { invalidValue } from "../errors/field-error.ts";
import {
  bracketedText,
  emptyOutcome,
  fieldOf,
  fieldPlace,
  inBody,
  indexPlace,
  isClean,
  isFull,
  keyPlace,
  merge,
  type Outcome,
  type Place,
  placeText,
  report,
  reportInvalid,
  reportType,
  reportWithoutField,
} from "./outcome.ts";

const spec = fieldPlace(undefined, "spec");

describe("places", () => {
  const rows: readonly {
    readonly why: string;
    readonly place: Place | undefined;
    readonly text: string;
    readonly bracketed: string;
    readonly field: string | undefined;
  }[] = [
    { why: "the root", place: undefined, text: "", bracketed: "", field: undefined },
    { why: "a field", place: spec, text: "spec", bracketed: "spec", field: "spec" },
    {
      why: "a field of a field",
      place: fieldPlace(spec, "a"),
      text: "spec.a",
      bracketed: "spec.a",
      field: "spec.a",
    },
    { why: "an item", place: indexPlace(spec, 0), text: "spec[0]", bracketed: "spec[0]", field: "spec[0]" },
    { why: "an item of the root", place: indexPlace(undefined, 2), text: "[2]", bracketed: "[2]", field: "[2]" },
    { why: "a key", place: keyPlace(spec, "a.b"), text: "spec.a.b", bracketed: "spec[a.b]", field: "spec.a.b" },
    { why: "a key of the root", place: keyPlace(undefined, "k"), text: ".k", bracketed: "[k]", field: "k" },
    {
      why: "a field of an item of a key",
      place: fieldPlace(indexPlace(keyPlace(spec, "k"), 1), "f"),
      text: "spec.k[1].f",
      bracketed: "spec[k][1].f",
      field: "spec.k[1].f",
    },
  ];
  for (const { why, place, text, bracketed, field } of rows) {
    test(why, () => {
      assert.deepEqual(
        { text: placeText(place), bracketed: bracketedText(place), field: fieldOf(place) },
        { text, bracketed, field },
      );
    });
  }

  test("a complaint names the place", () => assert.equal(inBody(spec, "is wrong"), "spec in body is wrong"));
});

/** The findings as `field (path): body`. */
const shown = ({ findings }: Outcome): readonly string[] =>
  [...findings.values()].map(({ field, path, body }) => `${field} (${path}): ${body}`);

describe("findings", () => {
  test("an outcome begins clean and not full", () => {
    assert.equal(isClean(emptyOutcome()), true);
    assert.equal(isFull(emptyOutcome()), false);
  });

  test("a value that is wrong", () => {
    const outcome = emptyOutcome();
    reportInvalid(outcome, spec, { value: 5, complaint: "is odd" });
    assert.deepEqual(shown(outcome), ["spec (spec): Invalid value: 5: spec in body is odd"]);
    assert.equal(isClean(outcome), false);
  });

  test("a value of the wrong type is a finding of another type", () => {
    const outcome = emptyOutcome();
    reportType(outcome, spec, { value: "string", complaint: "must be of type integer" });
    reportInvalid(outcome, spec, { value: 5, complaint: "is odd" });
    assert.deepEqual(
      [...outcome.findings.values()].map(({ type }) => type),
      ["FieldValueTypeInvalid", "FieldValueInvalid"],
    );
  });

  test("a finding at the root has no path", () => {
    const outcome = emptyOutcome();
    reportInvalid(outcome, undefined, { value: 5, complaint: "is odd" });
    assert.deepEqual(shown(outcome), ["<nil> (): Invalid value: 5:  in body is odd"]);
  });

  test("a finding without a field has a path", () => {
    const outcome = emptyOutcome();
    reportWithoutField(outcome, spec, "text");
    assert.deepEqual(shown(outcome), ['<nil> (spec): Invalid value: "": text']);
  });

  test("the same text is reported once, with the first value", () => {
    const outcome = emptyOutcome();
    reportInvalid(outcome, spec, { value: 1, complaint: "is odd" });
    reportInvalid(outcome, spec, { value: 3, complaint: "is odd" });
    assert.deepEqual(shown(outcome), ["spec (spec): Invalid value: 1: spec in body is odd"]);
  });

  test("a finding that is forgiven is left out", () => {
    const outcome = emptyOutcome(({ field }) => field === "spec");
    reportInvalid(outcome, spec, { value: 1, complaint: "is odd" });
    reportInvalid(outcome, indexPlace(spec, 0), { value: 1, complaint: "is odd" });
    assert.deepEqual(
      [...outcome.findings.values()].map(({ field }) => field),
      ["spec[0]"],
    );
  });
});

describe("the most that is reported", () => {
  const fill = (outcome: Outcome, count: number): void => {
    for (let index = 0; index < count; index++) {
      reportInvalid(outcome, indexPlace(undefined, index), { value: 1, complaint: "x" });
    }
  };

  test("a hundred findings", () => {
    const outcome = emptyOutcome();
    fill(outcome, 99);
    assert.equal(isFull(outcome), false);
    fill(outcome, 100);
    assert.equal(isFull(outcome), true);
    fill(outcome, 200);
    assert.equal(outcome.findings.size, 100);
  });

  test("256 KiB of text", () => {
    const outcome = emptyOutcome();
    const long = "x".repeat(128 * 1024);
    report(outcome, "a", invalidValue("a", null, long));
    assert.equal(isFull(outcome), false);
    report(outcome, "b", invalidValue("b", null, long));
    assert.equal(isFull(outcome), true);
    report(outcome, "c", invalidValue("c", null, "short"));
    assert.equal(outcome.findings.size, 2);
  });
});

describe("merging outcomes", () => {
  test("matches are added, findings are joined in their order without doubles", () => {
    const [into, from] = [emptyOutcome(), emptyOutcome()];
    reportInvalid(into, spec, { value: 1, complaint: "a" });
    reportInvalid(from, spec, { value: 1, complaint: "b" });
    reportInvalid(from, spec, { value: 1, complaint: "a" });
    into.matches = 2;
    from.matches = 3;
    merge(into, from);
    assert.equal(into.matches, 5);
    assert.deepEqual([...into.findings.keys()], ["spec in body a", "spec in body b"]);
    assert.equal(from.findings.size, 2, "the other outcome stays as it was");
  });

  test("what the first forgives is forgiven in the second", () => {
    const into = emptyOutcome(() => true);
    const from = emptyOutcome();
    reportInvalid(from, spec, { value: 1, complaint: "a" });
    merge(into, from);
    assert.equal(isClean(into), true);
  });
});
