// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import {
  controllerReference,
  hasFinalizer,
  isControlledBy,
  isDeleted,
  isPaused,
  memberAt,
  withFinalizer,
  withMember,
  withOwner,
  withoutFinalizer,
} from "./index.ts";
import { deepFreeze, type KubeObject } from "./kube-object.ts";
import { ageOf, humanDuration } from "./metadata.ts";

const [second, minute, hour, day] = [1, 60, 3600, 86_400];
const year = 365 * day;

// Seconds and what kubectl of 1.36 prints for them: each limit from both sides.
const rows: readonly (readonly [number, string])[] = [
  [-2, "<invalid>"],
  [-1, "0s"],
  [0, "0s"],
  [119 * second, "119s"],
  [2 * minute, "2m"],
  [2 * minute + 1, "2m1s"],
  [10 * minute - 1, "9m59s"],
  [10 * minute, "10m"],
  [10 * minute + 59, "10m"],
  [3 * hour - 1, "179m"],
  [3 * hour, "3h"],
  [3 * hour + 5 * minute, "3h5m"],
  [8 * hour - 1, "7h59m"],
  [8 * hour + 59 * minute, "8h"],
  [48 * hour - 1, "47h"],
  [48 * hour, "2d"],
  [2 * day + 3 * hour, "2d3h"],
  [8 * day - 1, "7d23h"],
  [8 * day, "8d"],
  [2 * year - 1, "729d"],
  [2 * year, "2y"],
  [2 * year + 30 * day, "2y30d"],
  [8 * year - 1, "7y364d"],
  [8 * year + 100 * day, "8y"],
];

for (const [seconds, text] of rows) {
  test(`${seconds} seconds are ${text}`, () => assert.equal(humanDuration(seconds * 1000), text));
}

const now = Date.parse("2026-11-15T12:00:00Z");
const ages: Record<string, { reason: string; timestamp: unknown; want: string }> = {
  None: { reason: "no timestamp", timestamp: undefined, want: "<unknown>" },
  Null: { reason: "as Go writes the zero time", timestamp: null, want: "<unknown>" },
  Empty: { reason: "the same as text", timestamp: "", want: "<unknown>" },
  Past: { reason: "how long ago", timestamp: "2026-11-15T11:55:00Z", want: "5m" },
  Micro: { reason: "with fractions", timestamp: "2026-11-15T11:59:30.123456Z", want: "29s" },
  JustAhead: { reason: "clocks differ a little", timestamp: "2026-11-15T12:00:01Z", want: "0s" },
  Ahead: { reason: "and a lot", timestamp: "2026-11-15T13:00:00Z", want: "<invalid>" },
  NoTime: { reason: "a string that is not a time", timestamp: "yesterday", want: "<invalid>" },
  NoText: { reason: "a number is not a time here", timestamp: 5, want: "<invalid>" },
};

for (const [name, { reason, timestamp, want }] of Object.entries(ages)) {
  test(`an age: ${name}`, () => assert.equal(ageOf(timestamp, now), want, reason));
}

const object = (metadata: KubeObject["metadata"] = {}): KubeObject =>
  deepFreeze({ apiVersion: "v1", kind: "ConfigMap", metadata: { name: "cd", ...metadata } });
const owner: KubeObject = { apiVersion: "e/v1", kind: "App", metadata: { name: "x", uid: "u1" } };

for (const [value, want] of Object.entries({ true: true, True: false, "1": false, "": false, "true ": false })) {
  test(`the pause annotation ${JSON.stringify(value)} pauses: ${want}`, () => {
    assert.equal(isPaused(object({ annotations: { "crossplane.io/paused": value } })), want);
  });
}

test("finalizers are added and removed once, and nothing changes when there is nothing to do", () => {
  const bare = object();
  const one = withFinalizer(bare, "f");
  assert.deepEqual(one.metadata.finalizers, ["f"]);
  assert.equal(withFinalizer(one, "f"), one);
  assert.equal(withoutFinalizer(bare, "f"), bare);
  assert.equal(hasFinalizer(withoutFinalizer(one, "f"), "f"), false);
  const two = object({ finalizers: ["g", "f"] });
  assert.deepEqual(withoutFinalizer(two, "f").metadata.finalizers, ["g"]);
});

test("an object is deleted once it has a deletion time", () => {
  assert.equal(isDeleted(object()), false);
  assert.equal(isDeleted(object({ deletionTimestamp: null })), false);
  assert.equal(isDeleted(object({ deletionTimestamp: "2026-01-01T00:00:00Z" })), true);
});

test("an owner is appended, replaced by its uid, and joins others", () => {
  const reference = controllerReference(owner);
  const first = withOwner(object(), reference);
  assert.deepEqual(first.metadata.ownerReferences, [reference]);
  assert.equal(isControlledBy(first, "u1"), true);
  const other = { apiVersion: "v1", kind: "Usage", name: "u", uid: "u2" };
  const both = withOwner(object({ ownerReferences: [other, { ...reference, name: "old" }] }), reference);
  assert.deepEqual(both.metadata.ownerReferences, [other, reference]);
});

test("a second controller is refused, and named", () => {
  const taken = object({ ownerReferences: [{ ...controllerReference(owner), uid: "u9", name: "y" }] });
  assert.throws(() => withOwner(taken, controllerReference(owner)), {
    message: "cd is already controlled by App y (UID u9)",
  });
});

test("an owner without a uid controls nothing", () => {
  assert.equal(isControlledBy(object(), undefined), false);
  assert.equal(isControlledBy(object({ ownerReferences: [{ ...controllerReference(owner), uid: "" }] }), ""), false);
});

test("members with dangerous names are data", () => {
  const changed = withMember({ a: {} }, ["a", "__proto__"], { polluted: true });
  assert.deepEqual(memberAt(changed, ["a", "__proto__"]), { polluted: true });
  assert.equal(({} as Record<string, unknown>)["polluted"], undefined);
  assert.equal(memberAt({ a: {} }, ["a", "constructor"]), undefined);
});
