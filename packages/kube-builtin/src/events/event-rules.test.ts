// SPDX-License-Identifier: Apache-2.0
// Events of both groups. The texts are those of kube-apiserver 1.36.
import assert from "node:assert/strict";
import { test } from "node:test";
import { fieldErrorText } from "@purlin/kube-objects/errors";
import type { JsonObject } from "@purlin/kube-objects/json";
import { labelKeyProblems } from "@purlin/kube-objects/metadata";
import { coreEventRules, namedEventRules } from "./event-rules.ts";

const core = (namespace: string, more: JsonObject): string[] =>
  (coreEventRules.validate?.({ metadata: { namespace }, ...more }) ?? []).map(fieldErrorText);
const misplaced = (namespace: string): string =>
  `involvedObject.namespace: Invalid value: "${namespace}": does not match event.namespace`;

test("an event is in the namespace of its subject", () => {
  assert.deepEqual(core("a", { involvedObject: { namespace: "a" } }), []);
  assert.deepEqual(core("a", { involvedObject: { namespace: "b" } }), [misplaced("b")]);
  assert.deepEqual(core("default", { involvedObject: {} }), []);
  assert.deepEqual(core("kube-system", { involvedObject: {} }), [misplaced("")]);
});

const reported = {
  eventTime: "t",
  reportingComponent: "c",
  reportingInstance: "i",
  action: "a",
  reason: "r",
  involvedObject: {},
};

test("an event with a time names its reporter and action", () => {
  assert.deepEqual(core("kube-system", reported), []);
  assert.deepEqual(core("default", { eventTime: "t", involvedObject: {} }), [
    "reportingComponent: Required value",
    ...labelKeyProblems("").map((problem) => `reportingComponent: Invalid value: "": ${problem}`),
    "reportingInstance: Required value",
    "action: Required value",
    "reason: Required value",
  ]);
  const long = { ...reported, reportingInstance: "i".repeat(129), action: "a".repeat(128), message: "m".repeat(1025) };
  assert.deepEqual(core("default", long), [
    'reportingInstance: Invalid value: "": can have at most 128 characters',
    'message: Invalid value: "": can have at most 1024 characters',
  ]);
});

const named = { eventTime: "t", type: "Normal" };
const fresh = (more: JsonObject): string[] =>
  (namedEventRules.validateNew?.({ ...named, ...more }) ?? []).map(fieldErrorText);

test("a new event of its own group has a time and a type, and no older members", () => {
  assert.deepEqual(fresh({}), []);
  assert.deepEqual(fresh({ eventTime: null, type: "x" }), [
    "eventTime: Required value",
    'type: Invalid value: "": has invalid value: x',
  ]);
  assert.deepEqual(
    fresh({
      deprecatedFirstTimestamp: "t",
      deprecatedLastTimestamp: "t",
      deprecatedCount: 1,
      deprecatedSource: { host: "h" },
    }),
    ["firstTimestamp", "lastTimestamp", "count", "source"].map(
      (name) => `${name}: Invalid value: "": needs to be unset`,
    ),
  );
});

test("a series has at least two events and the time of the last", () => {
  assert.deepEqual(fresh({ series: { count: 2, lastObservedTime: "t" } }), []);
  assert.deepEqual(fresh({ series: { count: 1 } }), [
    'series.count: Invalid value: "": should be at least 2',
    "series.lastObservedTime: Required value",
  ]);
});

test("only the series of an event changes", () => {
  const change = (now: JsonObject, old: JsonObject): string[] =>
    (namedEventRules.validateChange?.(now, old, "") ?? []).map(fieldErrorText);
  const series = (count: number): JsonObject => ({ ...named, series: { count, lastObservedTime: "t" } });
  assert.deepEqual(change(series(3), series(2)), []);
  assert.deepEqual(change(series(1), series(1)), [], "a series that stays is not validated again");
  assert.deepEqual(change(series(1), series(2)), ['series.count: Invalid value: "": should be at least 2']);
  assert.deepEqual(change({ ...named, note: "b", reportingController: "c" }, { ...named, note: "a" }), [
    'message: Invalid value: "b": field is immutable',
    'reportingController: Invalid value: "c": field is immutable',
  ]);
});

test("an event has other names in the other group, and comes back as it was", () => {
  const stored = {
    apiVersion: "v1",
    kind: "Event",
    metadata: { name: "e", namespace: "n" },
    involvedObject: { name: "s" },
    message: "m",
    reportingComponent: "c",
    count: 2,
    eventTime: null,
    source: {},
  };
  const shown = namedEventRules.toServed?.(stored) ?? {};
  assert.deepEqual(
    [
      shown["apiVersion"],
      shown["regarding"],
      shown["note"],
      shown["reportingController"],
      shown["deprecatedCount"],
      shown["message"],
    ],
    ["events.k8s.io/v1", { name: "s" }, "m", "c", 2, undefined],
  );
  const back = namedEventRules.toStored?.(shown) ?? {};
  assert.deepEqual(
    [back["apiVersion"], back["involvedObject"], back["message"], back["reportingComponent"], back["count"]],
    ["v1", { name: "s" }, "m", "c", 2],
  );
});
