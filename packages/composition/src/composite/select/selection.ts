// SPDX-License-Identifier: Apache-2.0

import type { EventText, StepText } from "@purlin/kube-controller";
import type { KubeObject } from "@purlin/kube-objects/object";

/** A composite resource during selection: changed in memory, with the events to emit. */
export interface Selection {
  readonly xr: KubeObject;
  /** Emitted once the changes are stored. */
  readonly events: readonly EventText[];
  /** The first step that changed something: when storing fails, that step failed. */
  readonly changedBy: StepText | undefined;
}

/** A selection that has changed nothing. */
export function startSelection(xr: KubeObject): Selection {
  return { xr, events: [], changedBy: undefined };
}

/** What a step does to the XR: the same object when it changes nothing. */
interface SelectionChange {
  readonly xr: KubeObject;
  readonly event?: EventText;
}

/** The selection after a step that may have changed the XR, with its events. */
export function selected(before: Selection, step: StepText, { xr, event }: SelectionChange): Selection {
  const changedBy = before.changedBy ?? (xr === before.xr ? undefined : step);
  return { xr, events: event === undefined ? before.events : [...before.events, event], changedBy };
}

/** A Normal event. */
export function normal(reason: string, message: string): EventText {
  return { type: "Normal", reason, message };
}

/** A Warning event. */
export function warning(reason: string, message: string): EventText {
  return { type: "Warning", reason, message };
}
