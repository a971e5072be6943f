// SPDX-License-Identifier: Apache-2.0

import { humanDuration, type KubeObject } from "@purlin/kube-objects/object";
import { harmlessLine } from "../harmless.ts";

/** An event, with the fields that are shown. */
export interface ShownEvent {
  readonly namespace: string;
  readonly type: string;
  readonly reason: string;
  readonly message: string;
  /** Such as `App/shop`. */
  readonly object: string;
  readonly source: string;
  readonly count: number;
  readonly first: number;
  readonly last: number;
}

export function toShownEvent(event: KubeObject): ShownEvent {
  const text = (name: string): string => asText(event[name]);
  const involved = (event["involvedObject"] ?? {}) as Readonly<Record<string, unknown>>;
  const source = (event["source"] ?? {}) as Readonly<Record<string, unknown>>;
  const series = (event["series"] ?? {}) as Readonly<Record<string, unknown>>;
  const created = Date.parse(text("eventTime") || (event.metadata.creationTimestamp ?? ""));
  const first = Date.parse(text("firstTimestamp")) || created;
  const count = Number(series["count"] ?? event["count"] ?? 1);
  return {
    namespace: event.metadata.namespace ?? "",
    type: harmlessLine(text("type")),
    reason: harmlessLine(text("reason")),
    message: harmlessLine(text("message")),
    object: harmlessLine(`${asText(involved["kind"])}/${asText(involved["name"])}`),
    source: harmlessLine(asText(source["component"]) || text("reportingComponent")),
    count,
    first,
    last: Date.parse(asText(series["lastObservedTime"])) || Date.parse(text("lastTimestamp")) || first,
  };
}

/** When an event was seen, as kubectl writes it: `12s`, or `12s (x3 over 5m)`. */
export function seenText({ count, first, last }: ShownEvent, now: number): string {
  const ago = since(last, now);
  return count > 1 ? `${ago} (x${count} over ${since(first, now)})` : ago;
}

const since = (time: number, now: number): string => (Number.isNaN(time) ? "<unknown>" : humanDuration(now - time));

/** Oldest first. An event without a time is older than the others. */
export function byTime(a: ShownEvent, b: ShownEvent): number {
  return (a.last || 0) - (b.last || 0);
}

function asText(value: unknown): string {
  return typeof value === "string" ? value : "";
}
