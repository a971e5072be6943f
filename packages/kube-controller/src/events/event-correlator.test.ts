// SPDX-License-Identifier: Apache-2.0

import assert from "node:assert/strict";
import { test } from "node:test";
import { manualClock } from "@purlin/base/testing";
import { EventCorrelator, type EventSubject, subjectOf } from "./event-correlator.ts";

function subject(message: string, { name = "a", reason = "Did", source = "test" } = {}): EventSubject {
  const object = { apiVersion: "example.org/v1", kind: "App", metadata: { name, namespace: "ns", uid: `uid-${name}` } };
  return subjectOf(object, { event: { type: "Normal", reason, message }, source, controller: source });
}

test("nine different messages stand for themselves, the tenth and all after it share one event", () => {
  const correlator = new EventCorrelator(manualClock());
  const made = Array.from({ length: 12 }, (_, i) => correlator.correlate(subject(`try ${i}`)));
  assert.deepEqual(
    made.map((one) => one.do),
    [...Array<string>(10).fill("create"), "repeat", "repeat"],
  );
  const [tenth, eleventh, twelfth] = made.slice(9);
  assert.ok(tenth?.do === "create" && eleventh?.do === "repeat" && twelfth?.do === "repeat");
  assert.equal(tenth.message, "(combined from similar events): try 9");
  assert.equal(eleventh.memory, tenth.memory);
  assert.equal(twelfth.message, "(combined from similar events): try 11");
});

test("other reasons, sources and objects are counted by themselves", () => {
  const correlator = new EventCorrelator(manualClock());
  for (let i = 0; i < 9; i++) correlator.correlate(subject(`try ${i}`));
  for (const other of [{ reason: "Other" }, { source: "other" }, { name: "b" }]) {
    const one = correlator.correlate(subject("try 99", other));
    assert.ok(one.do === "create" && one.message === "try 99", JSON.stringify(other));
  }
});

test("long messages differ by what they say, not by how they begin", () => {
  const correlator = new EventCorrelator(manualClock());
  const long = "x".repeat(10_000);
  const [one, two, again] = [`${long}1`, `${long}2`, `${long}1`].map((text) => correlator.correlate(subject(text)));
  assert.deepEqual([one?.do, two?.do, again?.do], ["create", "create", "repeat"]);
});

test("the event that was not seen for longest is dropped first", () => {
  const correlator = new EventCorrelator(manualClock());
  correlator.correlate(subject("x", { name: "first" }));
  for (let i = 0; i < 4096; i++) correlator.correlate(subject("x", { name: `o${i}` }));
  assert.equal(correlator.correlate(subject("x", { name: "o4095" })).do, "repeat");
  assert.equal(correlator.correlate(subject("x", { name: "first" })).do, "create");
});

test("a budget is refilled one by one", () => {
  const clock = manualClock();
  const correlator = new EventCorrelator(clock);
  const said = (count: number): number =>
    Array.from({ length: count }, () => correlator.correlate(subject("x"))).filter((one) => one.do !== "drop").length;
  assert.equal(said(30), 25);
  clock.advance(299_000);
  assert.equal(said(3), 0);
  clock.advance(2000);
  assert.equal(said(3), 1);
  clock.advance(24 * 3_600_000);
  assert.equal(said(100), 25, "no more than a full one is saved");
});
