// SPDX-License-Identifier: Apache-2.0
import type { KubeObject, KubeReader } from "@purlin/kube-client";
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

/** Something that happened to an object. */
export interface ObjectEvent {
  readonly type: string;
  readonly reason: string;
  readonly message: string;
  readonly count: number;
  readonly last: string;
}

const eventType = { apiVersion: "v1", kind: "Event" } as const;
const shown = 10;

/** The last events of an object, oldest first. */
export async function recentEvents(
  client: KubeReader,
  object: KubeObject,
  signal: AbortSignal,
): Promise<ObjectEvent[]> {
  const { uid = "", namespace = "default" } = object.metadata;
  const fieldSelector = `involvedObject.uid=${uid}`;
  const { items } = await client.list(eventType, { namespace, fieldSelector, signal });
  return items
    .map((event) => ({
      type: textAt(event, "type"),
      reason: textAt(event, "reason"),
      message: textAt(event, "message"),
      count: typeof event["count"] === "number" ? event["count"] : 1,
      last: textAt(event, "lastTimestamp") || (event.metadata.creationTimestamp ?? ""),
    }))
    .sort((a, b) => (a.last < b.last ? -1 : a.last > b.last ? 1 : 0))
    .slice(-shown);
}

/** Events as a table; empty when there are none. */
export function eventsTable(events: readonly ObjectEvent[], style: Style): string {
  const rows = events.map(({ type, reason, message, count }) => [
    type === "Warning" ? style.bad(type) : type,
    harmlessLine(count > 1 ? `${reason} (x${count})` : reason),
    harmlessLine(message),
  ]);
  return rows.length === 0 ? "" : formatTable([["EVENT", "REASON", "MESSAGE"], ...rows]);
}

function textAt(object: KubeObject, name: string): string {
  const value = object[name];
  return typeof value === "string" ? value : "";
}
