// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import type { KubeReader } from "@purlin/kube-client";
import type { KubeObject } from "@purlin/kube-objects/object";
import { plainStyle } from "../../test/test-io.ts";
import { eventsTable, recentEvents } from "./print-tree.ts";

const object = { apiVersion: "e/v1", kind: "X", metadata: { name: "a", uid: "u" } };
const start = Date.parse("2026-01-01T00:00:00Z");
const time = (minutes: number): string => new Date(start + minutes * 60_000).toISOString();

function event(message: string, from: number, to: number, count = 1): KubeObject {
  const [firstTimestamp, lastTimestamp] = [time(from), time(to)];
  const source = { component: "composite" };
  const about = { type: "Normal", reason: "Did", source, message, count, firstTimestamp, lastTimestamp };
  return { apiVersion: "v1", kind: "Event", metadata: { name: `${message}.${from}` }, ...about };
}

async function shown(...events: readonly KubeObject[]): Promise<string[]> {
  const reader = { list: async () => ({ items: events }) } as unknown as KubeReader;
  const found = await recentEvents(reader, object, new AbortController().signal);
  return eventsTable(found, plainStyle, start + 60 * 60_000)
    .split("\n")
    .map((line) => line.replaceAll(/ {2,}/g, "  ").trimEnd());
}

test("events have ages, the newest comes last, and an event from before a restart is shown once", async () => {
  // The control plane was restarted after half an hour.
  const lines = await shown(
    event("again", 31, 59, 2),
    event("new", 40, 40),
    event("again", 0, 20, 3),
    event("old", 5, 5),
  );
  assert.deepEqual(lines, [
    "EVENT  REASON  AGE  MESSAGE",
    "Normal  Did  55m  old",
    "Normal  Did  20m  new",
    "Normal  Did  60s (x5 over 60m)  again",
  ]);
});

test("of many events the last ten are shown; without any there is no table", async () => {
  const many = Array.from({ length: 12 }, (_, index) => event(`m${index}`, index, index));
  const lines = await shown(...many);
  assert.deepEqual([lines.length, lines[1]?.endsWith("m2"), lines.at(-1)?.endsWith("m11")], [11, true, true]);
  assert.deepEqual(await shown(), [""]);
});
