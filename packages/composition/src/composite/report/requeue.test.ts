// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import type { ReconcileResult } from "@purlin/kube-controller";
import type { KubeObject } from "@purlin/kube-objects/object";
import { askedInterval, atLatest, requeueAfter } from "./report-result.ts";

const minute = 60_000;
const xr = (interval?: string): KubeObject => ({
  apiVersion: "e/v1",
  kind: "App",
  metadata: interval === undefined ? {} : { annotations: { "crossplane.io/poll-interval": interval } },
});

interface Row {
  readonly reason: string;
  readonly realtime: boolean;
  readonly settled?: boolean;
  readonly interval?: string;
  readonly ttlMs?: number;
  readonly want: ReconcileResult;
}

const rows: Readonly<Record<string, Row>> = {
  RealtimeSettled: { reason: "events are enough", realtime: true, want: {} },
  RealtimeUnready: {
    reason: "events are enough for an unready one too",
    realtime: true,
    settled: false,
    want: {},
  },
  RealtimeTtl: { reason: "answers hold for a time", realtime: true, ttlMs: minute, want: { requeueAfterMs: minute } },
  RealtimeInterval: {
    reason: "the XR asks for it",
    realtime: true,
    interval: "5m",
    want: { requeueAfterMs: 5 * minute },
  },
  RealtimeBoth: {
    reason: "the time answers hold beats the annotation",
    realtime: true,
    interval: "1h",
    ttlMs: 5 * minute,
    want: { requeueAfterMs: 5 * minute },
  },
  RealtimeTtlTooShort: {
    reason: "no more often than an XR may ask for",
    realtime: true,
    ttlMs: 1,
    want: { requeueAfterMs: 1000 },
  },
  RealtimeTtlNextToNothing: {
    reason: "a nanosecond is a time too, and not never",
    realtime: true,
    ttlMs: 1e-6,
    want: { requeueAfterMs: 1000 },
  },
  RealtimeTtlLongest: {
    reason: "ten thousand years are not at once",
    realtime: true,
    ttlMs: 315_576_000_000_000,
    want: { requeueAfterMs: 315_576_000_000_000 },
  },
  PollUnready: {
    reason: "at once, through the backoff",
    realtime: false,
    settled: false,
    want: { requeue: true },
  },
  PollSettled: { reason: "the interval", realtime: false, want: { requeueAfterMs: minute } },
  PollInterval: {
    reason: "the XR's own interval",
    realtime: false,
    interval: "24h",
    want: { requeueAfterMs: 1440 * minute },
  },
  PollTtl: {
    reason: "the time answers hold is for realtime",
    realtime: false,
    ttlMs: 1,
    want: { requeueAfterMs: minute },
  },
};

for (const [name, { reason, realtime, settled = true, interval, ttlMs, want }] of Object.entries(rows)) {
  test(`requeue, ${name}: ${reason}`, () => {
    const settings = { realtime, pollIntervalMs: minute, minPollIntervalMs: 1000 };
    assert.deepEqual(requeueAfter({ xr: xr(interval), settled, ttlMs, settings, random: () => 0.5, now: 0 }), want);
  });
}

test("the interval is a tenth less to a tenth more", () => {
  const settings = { realtime: false, pollIntervalMs: 1000, minPollIntervalMs: 1 };
  const at = (random: number): number | undefined =>
    requeueAfter({ xr: xr(), settled: true, ttlMs: undefined, settings, random: () => random, now: 0 }).requeueAfterMs;
  assert.deepEqual([at(0), at(0.999999)], [900, 1100]);
});

test("long waits end on quarters of a second, so that passes follow each other", () => {
  const settings = { realtime: true, pollIntervalMs: minute, minPollIntervalMs: 1 };
  const due = (ttlMs: number, now: number): number =>
    now + (requeueAfter({ xr: xr(), settled: true, ttlMs, settings, random: () => 0.5, now }).requeueAfterMs ?? 0);
  assert.equal(due(minute, 1_000_001), 1_060_250);
  assert.equal(due(minute, 1_000_249), 1_060_250);
  assert.equal(due(minute, 1_000_250), 1_060_250);
  assert.equal(due(minute, 1_000_251), 1_060_500);
  assert.equal(due(9_999, 1_000_001), 1_010_000, "a short wait is taken at its word");
});

const asked: Readonly<Record<string, number | undefined>> = {
  "24h": 86_400_000,
  "1s": 1000,
  "1ms": 1000,
  "1m30s": 90_000,
  abc: undefined,
  "0s": undefined,
  "0": undefined,
  "-5m": undefined,
  "": undefined,
  "5": undefined,
};

for (const [text, want] of Object.entries(asked)) {
  test(`the poll annotation "${text}" with a minimum of 1s means ${want}`, () => {
    assert.equal(askedInterval(xr(text), 1000), want);
  });
}

const sooner: Readonly<
  Record<string, { reason: string; planned: ReconcileResult; ms: number | undefined; want: ReconcileResult }>
> = {
  NothingNew: { reason: "no reason to hurry", planned: {}, ms: undefined, want: {} },
  Unplanned: { reason: "a schema settles", planned: {}, ms: 10, want: { requeueAfterMs: 10 } },
  PlannedLater: {
    reason: "a schema settles earlier",
    planned: { requeueAfterMs: 20 },
    ms: 10,
    want: { requeueAfterMs: 10 },
  },
  PlannedSooner: { reason: "soon enough", planned: { requeueAfterMs: 5 }, ms: 10, want: { requeueAfterMs: 5 } },
  AtOnce: { reason: "soon enough", planned: { requeue: true }, ms: 10, want: { requeue: true } },
};

for (const [name, { reason, planned, ms, want }] of Object.entries(sooner)) {
  test(`at latest, ${name}: ${reason}`, () => assert.deepEqual(atLatest(planned, ms), want));
}
