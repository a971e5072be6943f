// SPDX-License-Identifier: Apache-2.0

import type { ControllerClient, EventRecorder, Log } from "@purlin/kube-controller";
import { type KubeObject, textOf } from "@purlin/kube-objects/object";
import { type CompositeSchema, claimRefOf } from "../../composite-resource/machinery.ts";
import type { PipelineEvent } from "../run/pipeline-outcome.ts";
import { boundedEvents } from "./bounded-events.ts";

/** What telling users depends on. */
export interface Audience {
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
