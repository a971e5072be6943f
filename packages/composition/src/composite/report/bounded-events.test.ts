// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import type { PipelineEvent } from "../run/step-results.ts";
import { boundedEvents } from "./report-failure.ts";

const event = (message: string, more: Partial<PipelineEvent> = {}): PipelineEvent => ({
  type: "Normal",
  reason: "Test",
  message,
  forClaim: false,
  detail: "",
  ...more,
});
const some = (count: number, more: Partial<PipelineEvent> = {}): PipelineEvent[] =>
  Array.from({ length: count }, (_, i) => event(`event ${i}`, more));
const leftOut = (count: number, more: Partial<PipelineEvent> = {}): PipelineEvent =>
  event(`${count} more events of this reconcile are left out`, { reason: "ComposeResources", ...more });

interface Case {
  readonly reason: string;
  readonly events: readonly PipelineEvent[];
  readonly want: readonly PipelineEvent[];
}

const cases: Readonly<Record<string, Case>> = {
  Few: {
    reason: "few events stay as they are, repeated ones too",
    events: [event("a"), event("a")],
    want: [event("a"), event("a")],
  },
  Limit: { reason: "as many as the limit stay", events: some(5), want: some(5) },
  Many: { reason: "of more, one says how many are left out", events: some(6), want: [...some(4), leftOut(2)] },
  Flood: { reason: "however many there are", events: some(50_000), want: [...some(4), leftOut(49_996)] },
  Repeated: {
    reason: "the same event again and again is one",
    events: some(9).map(() => event("a")),
    want: [event("a")],
  },
  Types: {
    reason: "warnings are not crowded out by other events",
    events: [...some(9), event("bad", { type: "Warning" })],
    want: [...some(4), leftOut(5), event("bad", { type: "Warning" })],
  },
  Claim: {
    reason: "a claim reports that events are left out when some of them target it",
    events: some(6, { forClaim: true, type: "Warning" }),
    want: [...some(4, { forClaim: true, type: "Warning" }), leftOut(2, { forClaim: true, type: "Warning" })],
  },
  Unbounded: { reason: "without a limit all stay", events: some(100), want: some(100) },
};

for (const [name, { reason, events, want }] of Object.entries(cases)) {
  test(`bounded events ${name}: ${reason}`, () => {
    assert.deepEqual(boundedEvents(events, name === "Unbounded" ? Number.POSITIVE_INFINITY : 5), want);
  });
}
