// SPDX-License-Identifier: Apache-2.0

import { textOf } from "@purlin/kube-objects/errors";
import type { KubeObject } from "@purlin/kube-objects/object";
import { claimRefOf } from "../../composite-resource/crossplane-fields.ts";
import type { CompositeContext } from "../context.ts";
import type { PipelineEvent } from "../run/step-results.ts";

/** Emits the events of a pipeline on the XR and, where they are meant for it, on its claim. */
export async function emitPipelineEvents(all: readonly PipelineEvent[], context: CompositeContext): Promise<void> {
  const events = boundedEvents(all, context.settings.maxEvents);
  const claim = events.some(({ forClaim }) => forClaim) ? await readClaim(context) : undefined;
  for (const { type, reason, message, detail, forClaim } of events) {
    context.emit({ type, reason, message: `${detail}${message}` });
    if (forClaim && claim !== undefined) context.events.event(claim, { type, reason, message });
  }
}

/** The claim of the XR. A claim that cannot be read gets no event; the reconcile does not fail. */
export async function readClaim({ deps, stored, statusSignal }: CompositeContext): Promise<KubeObject | undefined> {
  const { client, kind, log } = deps;
  const ref = claimRefOf(stored.object, kind.schema);
  if (ref === undefined) return undefined;
  try {
    return await client.get(ref, ref, { signal: statusSignal });
  } catch (error) {
    const { name } = stored.object.metadata;
    log.debug("cannot read the claim of a composite resource", { name, error: textOf(error) });
    return undefined;
  }
}

/**
 * The events of a reconcile, no more than `most` of a type. Functions may return thousands of results, and an API server keeps
 * few events of one object. Duplicates are merged, and the last event has the number of those left out.
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
