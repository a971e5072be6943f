// SPDX-License-Identifier: Apache-2.0

import type { Clock } from "@purlin/kube-controller";
import { conditionTime, type KubeObject, type ObjectKey } from "@purlin/kube-objects/object";
import type { CompositeState } from "./composite-state.ts";
import { type CompositePorts, type CompositeSettings, defaultSettings } from "./ports.ts";
import type { Stamp } from "./report/condition-changes.ts";
import type { StatusRules } from "./report/status-after.ts";
import type { DefinitionFacts } from "./select/definition.ts";

/** One look at one XR. */
export interface Pass {
  readonly key: ObjectKey;
  readonly ports: CompositePorts;
  readonly settings: CompositeSettings;
  readonly state: CompositeState;
  /** When functions must have answered, in milliseconds since the epoch: a little before composing must be done. */
  readonly deadline: number;
  /** Aborts when composing must be done, or when the controller stops. */
  readonly signal: AbortSignal;
  /** Aborts a little later, so that running out of time can still be told. */
  readonly statusSignal: AbortSignal;
}

/** Settings complete with defaults. */
export function settingsOf({ settings }: CompositePorts): CompositeSettings {
  return { ...defaultSettings, ...settings };
}

/** What is left of a pass when functions have run out of time: whose fault it was is known only by then. */
function headroomMs(deadlineMs: number): number {
  return Math.min(1000, deadlineMs / 10);
}

/** Runs one look with its deadlines. */
export async function withDeadlines<T>(
  from: Omit<Pass, "deadline" | "signal" | "statusSignal">,
  stopped: AbortSignal,
  run: (pass: Pass) => Promise<T>,
): Promise<T> {
  const { clock } = from.ports;
  const { deadlineMs, statusGraceMs } = from.settings;
  const work = startTimer(clock, deadlineMs, stopped);
  const status = startTimer(clock, deadlineMs + statusGraceMs, stopped);
  try {
    const { signal } = work;
    const deadline = clock.now() + deadlineMs - headroomMs(deadlineMs);
    return await run({ ...from, deadline, signal, statusSignal: status.signal });
  } finally {
    work.cancel();
    status.cancel();
  }
}

interface Timer {
  readonly signal: AbortSignal;
  readonly cancel: () => void;
}

/** Nothing of a pass stays behind in the signal of its controller, which outlives millions of them. */
function startTimer(clock: Clock, ms: number, stopped: AbortSignal): Timer {
  const controller = new AbortController();
  const cancel = clock.schedule(ms, () => {
    controller.abort(new Error(`the reconcile did not finish within ${ms / 1000} seconds`));
  });
  const stop = (): void => controller.abort(stopped.reason);
  if (stopped.aborted) stop();
  stopped.addEventListener("abort", stop);
  return {
    signal: controller.signal,
    cancel() {
      cancel();
      stopped.removeEventListener("abort", stop);
    },
  };
}

/** The time and generation that go into the conditions of an XR. */
export function stampFor(xr: KubeObject, { clock, timestamp }: CompositePorts): Stamp {
  return { time: timestamp?.() ?? conditionTime(clock.now()), generation: xr.metadata.generation };
}

/** Which status fields are ours. Until the definition is known, those every XR has. */
export function rulesFor({ kind }: CompositePorts, definition: DefinitionFacts | undefined): StatusRules {
  return { schema: kind.schema, ownFields: definition?.ownStatusFields ?? new Set() };
}
