// SPDX-License-Identifier: Apache-2.0

import type { ControllerClient, EventRecorder, Log } from "@purlin/kube-controller";
import { textOf } from "@purlin/kube-objects/errors";
import type { KubeObject } from "@purlin/kube-objects/object";
import { type CompositeSchema, claimRefOf } from "../../composite-resource/machinery.ts";
import type { PipelineEvent } from "../run/pipeline-outcome.ts";

/** What telling users depends on. */
interface Audience {
  readonly events: EventRecorder;
  readonly client: Pick<ControllerClient, "get">;
  readonly schema: CompositeSchema;
  readonly log: Log;
  readonly signal: AbortSignal;
  /** Of each type. */
  readonly maxEvents: number;
}

/** Records the events of a pipeline on the XR and, where they are meant for it, on its claim. */
export async function tell(xr: KubeObject, told: readonly PipelineEvent[], audience: Audience): Promise<void> {
  const events = boundedEvents(told, audience.maxEvents);
  const claim = events.some(({ forClaim }) => forClaim) ? await readClaim(xr, audience) : undefined;
  for (const { type, reason, message, detail, forClaim } of events) {
    audience.events.event(xr, { type, reason, message: `${detail}${message}` });
    if (forClaim && claim !== undefined) audience.events.event(claim, { type, reason, message });
  }
}

/** The claim of an XR. One that cannot be read is not told; that is no reason to fail. */
export async function readClaim(xr: KubeObject, audience: Audience): Promise<KubeObject | undefined> {
  const { client, schema, log, signal } = audience;
  const ref = claimRefOf(xr, schema);
  if (ref === undefined) return undefined;
  try {
    return await client.get(ref, ref, { signal });
  } catch (error) {
    log.debug("cannot read the claim of a composite resource", { name: xr.metadata.name, error: textOf(error) });
    return undefined;
  }
}

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
