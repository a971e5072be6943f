// SPDX-License-Identifier: Apache-2.0

import { parseGoDuration } from "@purlin/function-protocol";
import type { ReconcileResult } from "@purlin/kube-controller";
import { annotationOf, type KubeObject } from "@purlin/kube-objects/object";
import { annotations } from "../../composite-resource/constants.ts";
import type { CompositeSettings } from "../ports.ts";

/** What the time of the next look depends on. */
interface RequeueFacts {
  readonly xr: KubeObject;
  readonly settled: boolean;
  /** How long the pipeline's answers hold. */
  readonly ttlMs: number | undefined;
  readonly settings: Pick<CompositeSettings, "realtime" | "pollIntervalMs" | "minPollIntervalMs">;
  readonly random: () => number;
  readonly now: number;
}

/** When to look at the XR again if nothing happens. */
export function requeueAfter({ xr, settled, ttlMs, settings, random, now }: RequeueFacts): ReconcileResult {
  const asked = askedInterval(xr, settings.minPollIntervalMs);
  if (settings.realtime) {
    // A function that says its answers hold for no time at all would keep everybody busy, its own XR and all others.
    const after = ttlMs === undefined ? asked : Math.max(ttlMs, settings.minPollIntervalMs);
    return after === undefined ? {} : { requeueAfterMs: inStep(jittered(after, random), now) };
  }
  if (!settled) return { requeue: true };
  return { requeueAfterMs: inStep(jittered(asked ?? settings.pollIntervalMs, random), now) };
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

const stepMs = 250;
/** A shorter wait is taken at its word; for longer ones the step is less than what chance adds anyway. */
const leastWaitMs = 10_000;

/**
 * Moves the end of a wait to the next quarter of a second. A pass that nothing came before finds cold caches, here and in the functions,
 * and costs twice what it costs right after another one: a few together, then rest, instead of one every few milliseconds.
 */
function inStep(ms: number, now: number): number {
  return ms < leastWaitMs ? ms : Math.ceil((now + ms) / stepMs) * stepMs - now;
}

/** As planned, but not later than in so many milliseconds. */
export function atLatest(planned: ReconcileResult, ms: number | undefined): ReconcileResult {
  if (ms === undefined || planned.requeue) return planned;
  return { ...planned, requeueAfterMs: Math.min(planned.requeueAfterMs ?? ms, ms) };
}
