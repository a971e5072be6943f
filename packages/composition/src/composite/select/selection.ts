// SPDX-License-Identifier: Apache-2.0

import type { EventText, StepText } from "@purlin/kube-controller";
import type { KubeObject } from "@purlin/kube-objects/object";

/** A composite resource on its way through selection: changed in memory, with what users will be told about it. */
export interface Selection {
  readonly xr: KubeObject;
  /** Told once the changes are stored. */
  readonly events: readonly EventText[];
  /** The first step that changed something: when storing fails, that step failed. */
  readonly changedBy: StepText | undefined;
}

/** A selection that has changed nothing. */
export function startSelection(xr: KubeObject): Selection {
  return { xr, events: [], changedBy: undefined };
}

/** The selection after a step that may have changed the XR and have something to say about it. */
export function selected(before: Selection, step: StepText, xr: KubeObject, ...events: EventText[]): Selection {
  const changedBy = before.changedBy ?? (xr === before.xr ? undefined : step);
  return { xr, events: [...before.events, ...events], changedBy };
}

/** Something users are told that went well. */
export function normal(reason: string, message: string): EventText {
  return { type: "Normal", reason, message };
}

/** Something users should know. */
export function warning(reason: string, message: string): EventText {
  return { type: "Warning", reason, message };
}
