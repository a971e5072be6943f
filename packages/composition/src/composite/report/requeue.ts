// SPDX-License-Identifier: Apache-2.0

import { parseGoDuration } from "@purlin/function-protocol";
import type { KubeObject } from "@purlin/kube-client/objects";
import type { ReconcileResult } from "@purlin/kube-controller";
import { annotationOf } from "@purlin/kube-controller/object";
import { annotations } from "../../composite-resource/constants.ts";
import type { CompositeSettings } from "../ports.ts";

/** What the time of the next look depends on. */
export interface RequeueFacts {
  readonly xr: KubeObject;
  readonly settled: boolean;
  /** How long the pipeline's answers hold. */
  readonly ttlMs: number | undefined;
  readonly settings: Pick<CompositeSettings, "realtime" | "pollIntervalMs" | "minPollIntervalMs">;
  readonly random: () => number;
}

/** When to look at the XR again if nothing happens. */
export function requeueAfter({ xr, settled, ttlMs, settings, random }: RequeueFacts): ReconcileResult {
  const asked = askedInterval(xr, settings.minPollIntervalMs);
  if (settings.realtime) {
    const after = ttlMs ?? asked;
    return after === undefined ? {} : { requeueAfterMs: jittered(after, random) };
  }
  if (!settled) return { requeue: true };
  return { requeueAfterMs: jittered(asked ?? settings.pollIntervalMs, random) };
}

/** The interval the XR asks for. What is no interval does not count. */
export function askedInterval(xr: KubeObject, minMs: number): number | undefined {
  const text = annotationOf(xr, annotations.pollInterval);
  const ms = text === undefined ? undefined : parseGoDuration(text);
  return ms === undefined || ms <= 0 ? undefined : Math.max(ms, minMs);
}

/** A tenth less to a tenth more, so that XRs made together do not stay in step. */
function jittered(ms: number, random: () => number): number {
  return Math.round(ms * (0.9 + 0.2 * random()));
}

/** As planned, but not later than in so many milliseconds. */
export function atLatest(planned: ReconcileResult, ms: number | undefined): ReconcileResult {
  if (ms === undefined || planned.requeue) return planned;
  return { ...planned, requeueAfterMs: Math.min(planned.requeueAfterMs ?? ms, ms) };
}
