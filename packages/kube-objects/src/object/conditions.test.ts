// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import { test } from "node:test";
import {
  type Condition,
  type ConditionText,
  conditionOf,
  conditionsOf,
  conditionTime,
  setConditions,
  shortened,
  stampCondition,
  withConditions,
} from "./conditions.ts";

const available: ConditionText = { type: "Ready", status: "True", reason: "Available" };
const creating: ConditionText = { type: "Ready", status: "False", reason: "Creating" };
const reconcileError = (message: string): ConditionText => ({
  type: "Synced",
  status: "False",
  reason: "ReconcileError",
  message,
});
const early = "2026-01-01T00:00:00Z";
const late = "2026-01-02T00:00:00Z";
const ready: Condition = { ...available, lastTransitionTime: early, observedGeneration: 2 };
const synced: Condition = { ...reconcileError("boom"), lastTransitionTime: early };

const merges: Readonly<Record<string, { reason: string; set: Condition; want: readonly Condition[] }>> = {
  Same: {
    reason: "C109: an equal condition keeps its time",
    set: { ...ready, lastTransitionTime: late },
    want: [ready, synced],
  },
  NoGeneration: {
    reason: "a side without generation does not differ by it",
    set: { ...available, lastTransitionTime: late },
    want: [ready, synced],
  },
  ZeroGeneration: {
    reason: "a generation of 0 counts as absent",
    set: { ...ready, observedGeneration: 0, lastTransitionTime: late },
    want: [ready, synced],
  },
  Generation: {
    reason: "a new generation alone moves the time",
    set: { ...ready, observedGeneration: 3, lastTransitionTime: late },
    want: [{ ...ready, observedGeneration: 3, lastTransitionTime: late }, synced],
  },
  Message: {
    reason: "case 38: a new message alone moves the time",
    set: { ...synced, message: "bang", lastTransitionTime: late },
    want: [ready, { ...synced, message: "bang", lastTransitionTime: late }],
  },
  EmptyMessage: {
    reason: "an empty message counts as absent",
    set: { ...ready, message: "", lastTransitionTime: late },
    want: [ready, synced],
  },
  Reason: {
    reason: "another reason replaces the whole condition",
    set: { ...creating, lastTransitionTime: late },
    want: [{ ...creating, lastTransitionTime: late }, synced],
  },
  NewType: {
    reason: "new types go to the end",
    set: { type: "Fresh", status: "True", reason: "New", lastTransitionTime: late },
    want: [ready, synced, { type: "Fresh", status: "True", reason: "New", lastTransitionTime: late }],
  },
};

for (const [name, { reason, set, want }] of Object.entries(merges)) {
  test(`setting a condition, ${name}: ${reason}`, () => {
    assert.deepEqual(setConditions([ready, synced], [set]), want);
  });
}

test("an absent type reads as Unknown", () => {
  assert.deepEqual(conditionOf([ready], "Synced"), {
    type: "Synced",
    status: "Unknown",
    reason: "",
    lastTransitionTime: "",
  });
});

test("malformed status.conditions are ignored", () => {
  const base = { apiVersion: "v1", kind: "X", metadata: {} };
  assert.deepEqual(conditionsOf(base), []);
  assert.deepEqual(conditionsOf({ ...base, status: { conditions: "?" } }), []);
  assert.deepEqual(conditionsOf({ ...base, status: { conditions: [7, {}, ready] } }), [ready]);
});

test("conditions are put beside whatever else the status holds", () => {
  const object = { apiVersion: "v1", kind: "X", metadata: {}, status: { url: "u" } };
  assert.deepEqual(withConditions(object, [ready]).status, { url: "u", conditions: [ready] });
  assert.deepEqual(object.status, { url: "u" });
});

test("a stamped condition names the generation only when there is one, and a message only when it says something", () => {
  assert.deepEqual(stampCondition(available, late, 3), {
    ...available,
    lastTransitionTime: late,
    observedGeneration: 3,
  });
  assert.deepEqual(stampCondition({ ...available, message: "" }, late, undefined), {
    ...available,
    lastTransitionTime: late,
  });
  assert.deepEqual(stampCondition(available, late, 0), { ...available, lastTransitionTime: late });
});

test("times have whole seconds", () => {
  assert.equal(conditionTime(Date.UTC(2026, 0, 2, 0, 0, 0, 999)), late);
  assert.equal(conditionTime(Date.UTC(12_026, 0, 2)), "+012026-01-02T00:00:00Z");
});

test("several are set one after the other, the same type twice among them", () => {
  const a: Condition = { type: "A", status: "True", reason: "First", lastTransitionTime: late };
  const b: Condition = { ...a, reason: "Second" };
  assert.deepEqual(setConditions([ready], [a, synced, b]), [ready, b, synced]);
  assert.deepEqual(setConditions([{ ...b, lastTransitionTime: early }], [a, b]), [b]);
});

test("setting what is there is no change, and of a type that is there twice the first counts", () => {
  const all = [ready, synced, { ...synced, message: "again" }];
  assert.equal(setConditions(all, [{ ...ready, lastTransitionTime: late }, synced]), all);
  assert.equal(setConditions(all, []), all);
});

test("a function that sets very many conditions costs their number, not its square", () => {
  const many = Array.from({ length: 200_000 }, (_, index) => ({ ...ready, type: `T${index}` }));
  const set = setConditions([ready], many);
  assert.equal(set.length, 200_001);
  assert.equal(setConditions(set, many), set);
});

const rows: Readonly<Record<string, { reason: string; message: string; end: string }>> = {
  Short: { reason: "what fits stays", message: "no such bucket", end: "no such bucket" },
  Exact: { reason: "so does what just fits", message: `${"x".repeat(32_767)}y`, end: "xy" },
  Long: { reason: "what does not is cut, and shows it", message: "x".repeat(32_769), end: "x…" },
  Wide: { reason: "no character is cut in two", message: "é".repeat(20_000), end: "é…" },
};

for (const [name, { reason, message, end }] of Object.entries(rows)) {
  test(`${name}: ${reason}`, () => {
    const short = shortened(message);
    assert.ok(short.endsWith(end), short.slice(-10));
    assert.ok(Buffer.byteLength(short) <= 32_768);
    assert.equal(shortened(short), short);
  });
}
