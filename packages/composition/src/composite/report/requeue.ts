// SPDX-License-Identifier: Apache-2.0

import { parseGoDuration } from "@purlin/function-protocol";
import type { ReconcileResult } from "@purlin/kube-controller";
import { annotationOf, type KubeObject } from "@purlin/kube-objects/object";
import { annotations } from "../../composite-resource/constants.ts";
import type { CompositeSettings } from "../deps.ts";

/** What the time of the next reconcile depends on. */
interface RequeueFacts {
  readonly xr: KubeObject;
  readonly settled: boolean;
  /** The time to live of the pipeline's responses. */
  readonly ttlMs: number | undefined;
  readonly settings: Pick<CompositeSettings, "realtime" | "pollIntervalMs" | "minPollIntervalMs">;
  readonly random: () => number;
  readonly now: number;
}

/** When to reconcile the XR again if nothing changes. */
export function requeueAfter({ xr, settled, ttlMs, settings, random, now }: RequeueFacts): ReconcileResult {
  const asked = askedInterval(xr, settings.minPollIntervalMs);
  if (settings.realtime) {
    // A function whose responses have no time to live would keep the control plane busy.
    const after = ttlMs === undefined ? asked : Math.max(ttlMs, settings.minPollIntervalMs);
    return after === undefined ? {} : { requeueAfterMs: inStep(jittered(after, random), now) };
  }
  if (!settled) return { requeue: true };
  return { requeueAfterMs: inStep(jittered(asked ?? settings.pollIntervalMs, random), now) };
}

/** The interval that the XR asks for. An invalid interval does not count. */
export function askedInterval(xr: KubeObject, minMs: number): number | undefined {
  const text = annotationOf(xr, annotations.pollInterval);
  const ms = text === undefined ? undefined : parseGoDuration(text);
  return ms === undefined || ms <= 0 ? undefined : Math.max(ms, minMs);
}

/** Adds up to ten percent of jitter, so that XRs created together do not stay in step. */
function jittered(ms: number, random: () => number): number {
  return Math.round(ms * (0.9 + 0.2 * random()));
}

const stepMs = 250;
/** A shorter wait is exact; for longer ones the step is smaller than the jitter. */
const leastWaitMs = 10_000;

/**
 * Moves the end of a wait to the next quarter of a second. A reconcile after a pause finds cold caches, here and in the functions, and
 * costs twice as much as one right after another: several are run together instead of one every few milliseconds.
 */
function inStep(ms: number, now: number): number {
  return ms < leastWaitMs ? ms : Math.ceil((now + ms) / stepMs) * stepMs - now;
}

/** The planned result, with a limit on the delay. */
export function atLatest(planned: ReconcileResult, ms: number | undefined): ReconcileResult {
  if (ms === undefined || planned.requeue) return planned;
  return { ...planned, requeueAfterMs: Math.min(planned.requeueAfterMs ?? ms, ms) };
}
