// SPDX-License-Identifier: Apache-2.0
import type { PipelineEvent } from "../run/pipeline-outcome.ts";

/**
 * The events of a reconcile, no more than `most` of a type. Functions may return thousands of results, and an API server keeps
 * few events of one object. Of too many, those that say the same become one, and the last one says how many are left out.
 */
export function boundedEvents(events: readonly PipelineEvent[], most: number): readonly PipelineEvent[] {
  if (events.length <= most) return events;
  return (["Normal", "Warning"] as const).flatMap((type) =>
    boundedOf(
      events.filter((event) => event.type === type),
      most,
    ),
  );
}

function boundedOf(events: readonly PipelineEvent[], most: number): readonly PipelineEvent[] {
  if (events.length <= most) return events;
  const distinct = new Map<string, PipelineEvent>();
  for (const event of events) {
    const { reason, message, detail, forClaim } = event;
    distinct.set([reason, detail, message, forClaim].join("\n"), event);
    if (distinct.size > most) break;
  }
  if (distinct.size <= most) return [...distinct.values()];
  const shown = [...distinct.values()].slice(0, most - 1);
  return [...shown, leftOut(events, most)];
}

function leftOut(events: readonly PipelineEvent[], most: number): PipelineEvent {
  const { type = "Normal" } = events[0] ?? {};
  const message = `${events.length - (most - 1)} more events of this reconcile are left out`;
  return { type, reason: "ComposeResources", message, forClaim: events.some(({ forClaim }) => forClaim), detail: "" };
}
