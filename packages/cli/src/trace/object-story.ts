// SPDX-License-Identifier: Apache-2.0

import type { KubeReader } from "@purlin/kube-client";
import type { KubeObject } from "@purlin/kube-objects/object";
import { byTime, type ShownEvent, seenText, toShownEvent } from "../events/event-rows.ts";
import { harmlessLine } from "../terminal/harmless.ts";
import type { Style } from "../terminal/style.ts";
import { formatTable } from "../terminal/table.ts";
import { conditionsOf } from "../tree/conditions.ts";

/** The conditions of an object; empty when it has none. */
export function conditionsTable(object: KubeObject, style: Style): string {
  const rows = conditionsOf(object).map(({ type, status, reason, message }) => [
    harmlessLine(type),
    status === "True" ? style.good(status) : status === "False" ? style.bad(status) : style.doubtful(status),
    harmlessLine(reason),
    harmlessLine(message),
  ]);
  return rows.length === 0 ? "" : formatTable([["CONDITION", "STATUS", "REASON", "MESSAGE"], ...rows]);
}

const eventType = { apiVersion: "v1", kind: "Event" } as const;
const shown = 10;

/** The last events of an object, newest last. */
export async function recentEvents(
  client: KubeReader,
  object: KubeObject,
  signal: AbortSignal,
): Promise<readonly ShownEvent[]> {
  const { uid = "", namespace = "default" } = object.metadata;
  const fieldSelector = `involvedObject.uid=${uid}`;
  const { items } = await client.list(eventType, { namespace, fieldSelector, signal });
  return merged(items.map(toShownEvent)).toSorted(byTime).slice(-shown);
}

/** A control plane that was restarted reports what it reported before in another event: those that say the same are one. */
function merged(events: readonly ShownEvent[]): ShownEvent[] {
  const texts = Map.groupBy(events, ({ type, reason, source, message }) => [type, reason, source, message].join("\n"));
  return [...texts.values()].flatMap((same) => {
    const newest = same.toSorted(byTime).at(-1);
    if (newest === undefined) return [];
    const count = same.reduce((sum, one) => sum + one.count, 0);
    return [{ ...newest, count, first: Math.min(...same.map(({ first }) => first)) }];
  });
}

/** Events as a table; empty when there are none. */
export function eventsTable(events: readonly ShownEvent[], style: Style, now: number): string {
  const rows = events.map((event) => [
    event.type === "Warning" ? style.bad(event.type) : event.type,
    harmlessLine(event.reason),
    seenText(event, now),
    harmlessLine(event.message),
  ]);
  return rows.length === 0 ? "" : formatTable([["EVENT", "REASON", "AGE", "MESSAGE"], ...rows]);
}
