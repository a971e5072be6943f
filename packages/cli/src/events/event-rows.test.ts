// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import type { JsonObject } from "@purlin/kube-objects/json";
import type { KubeObject } from "@purlin/kube-objects/object";
import { byTime, seenText, toShownEvent } from "./event-rows.ts";

const event = (members: JsonObject = {}, metadata: KubeObject["metadata"] = {}): KubeObject => ({
  ...{ apiVersion: "v1", kind: "Event", metadata: { name: "e", namespace: "team", ...metadata } },
  ...members,
});
const at = (time: string): string => `2026-01-01T00:${time}Z`;
const now = Date.parse(at("10:00"));
const seen = (members: JsonObject, metadata?: KubeObject["metadata"]): string =>
  seenText(toShownEvent(event(members, metadata)), now);

test("an event is shown with its object, source and times", () => {
  const shown = toShownEvent(
    event({
      ...{ type: "Warning", reason: "Failed", message: "cannot pull", involvedObject: { kind: "Pod", name: "web" } },
      ...{ source: { component: "kubelet", host: "n" }, reportingComponent: "other", count: 3 },
      ...{ firstTimestamp: at("00:00"), lastTimestamp: at("05:00") },
    }),
  );
  assert.deepEqual(shown, {
    ...{ namespace: "team", type: "Warning", reason: "Failed", message: "cannot pull", object: "Pod/web" },
    ...{ source: "kubelet", count: 3, first: Date.parse(at("00:00")), last: Date.parse(at("05:00")) },
  });
});

test("members that are missing or not texts are empty", () => {
  const { object, source, type, count } = toShownEvent(event({ type: 5, involvedObject: { kind: 1 } }));
  assert.deepEqual([object, source, type, count], ["/", "", "", 1]);
  assert.equal(toShownEvent(event({ source: {}, reportingComponent: "purlin" })).source, "purlin");
});

test("texts of others are one line without characters that a terminal obeys", () => {
  const { message, object } = toShownEvent(
    event({ message: "a\n  b\u0007", involvedObject: { kind: "P", name: "\u001b[2J" } }),
  );
  assert.deepEqual([message, object], ["a b\\x07", "P/\\x1b[2J"]);
});

test("an event that was seen once has the time since; one that was seen more often, how often and since when", () => {
  assert.equal(seen({ firstTimestamp: at("09:48"), lastTimestamp: at("09:48") }), "12s");
  assert.equal(seen({ count: 3, firstTimestamp: at("05:00"), lastTimestamp: at("09:48") }), "12s (x3 over 5m)");
  assert.equal(seen({ count: 1, firstTimestamp: at("09:00"), lastTimestamp: at("09:48") }), "12s");
});

test("events of the newer API: a time of their own, and a series", () => {
  assert.equal(seen({ eventTime: at("08:00") }), "2m");
  const series = { count: 7, lastObservedTime: at("09:59") };
  assert.equal(seen({ eventTime: at("08:00"), series, count: 2, lastTimestamp: at("09:00") }), "1s (x7 over 2m)");
});

test("without other times, that of its creation counts; without any, the time is unknown, as kubectl prints it", () => {
  assert.equal(seen({ firstTimestamp: null, lastTimestamp: null }, { creationTimestamp: at("09:50") }), "10s");
  assert.equal(seen({}), "<unknown>");
  assert.equal(seen({ count: 2 }), "<unknown> (x2 over <unknown>)");
});

test("events are sorted by when they were last seen; those without a time come first", () => {
  const events = [at("03:00"), at("01:00"), "", at("02:00")].map((lastTimestamp) =>
    toShownEvent(event({ lastTimestamp })),
  );
  const times = events.toSorted(byTime).map(({ last }) => new Date(last).getUTCMinutes());
  assert.deepEqual(times, [Number.NaN, 1, 2, 3]);
});
