// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import type { JsonObject } from "@purlin/kube-objects/json";
import { eventCells } from "./event-rules.ts";

const now = Date.parse("2026-11-15T12:00:00Z");
const minutesAgo = (minutes: number): string => new Date(now - minutes * 60_000).toISOString();
const metadata = { name: "e" };

// Last seen, type, reason, object, field path, source, message, first seen, count, name.
const cases: Record<string, { reason: string; event: JsonObject; want: readonly unknown[] }> = {
  Old: {
    reason: "as the core API writes it",
    event: {
      metadata,
      type: "Normal",
      reason: "Pulled",
      message: "  pulled\n",
      involvedObject: { kind: "Pod", name: "web", fieldPath: "spec.containers{main}" },
      source: { component: "kubelet", host: "node-1" },
      firstTimestamp: minutesAgo(30),
      lastTimestamp: minutesAgo(15),
      count: 4,
    },
    want: ["15m", "Normal", "Pulled", "pod/web", "spec.containers{main}", "kubelet, node-1", "pulled", "30m", 4, "e"],
  },
  New: {
    reason: "as events.k8s.io writes it, a series with its own times",
    event: {
      metadata,
      type: "Warning",
      reason: "Failed",
      note: "it failed",
      regarding: { kind: "App", name: "a" },
      eventTime: minutesAgo(40),
      series: { count: 7, lastObservedTime: minutesAgo(20) },
      reportingController: "app-controller",
      reportingInstance: "app-1",
    },
    want: ["20m", "Warning", "Failed", "app/a", "", "app-controller, app-1", "it failed", "40m", 7, "e"],
  },
  Deprecated: {
    reason: "an old event read through the new API",
    event: {
      metadata,
      regarding: { kind: "Pod", name: "web" },
      deprecatedSource: { component: "kubelet" },
      deprecatedFirstTimestamp: minutesAgo(30),
      deprecatedLastTimestamp: minutesAgo(12),
      deprecatedCount: 2,
    },
    want: ["12m", "", "", "pod/web", "", "kubelet", "", "30m", 2, "e"],
  },
  OnlyEventTime: {
    reason: "seen once: first and last are the same",
    event: {
      metadata,
      involvedObject: { kind: "Pod", name: "web" },
      eventTime: minutesAgo(11),
      reportingComponent: "x",
    },
    want: ["11m", "", "", "pod/web", "", "x", "", "11m", 1, "e"],
  },
  NoName: {
    reason: "about a kind alone",
    event: { metadata, involvedObject: { kind: "Namespace" } },
    want: ["<unknown>", "", "", "namespace", "", "", "", "<unknown>", 1, "e"],
  },
};

for (const [name, { reason, event, want }] of Object.entries(cases)) {
  test(`the cells of an event: ${name}`, () => assert.deepEqual(eventCells(event, now), want, reason));
}
