// SPDX-License-Identifier: Apache-2.0
import { textOf } from "../composite-resource/wrap-error.ts";

const brand = Symbol.for("purlin.dev/composition/ReconcileFailure");

/** A step of the reconcile that failed: what users read, and the reason of the event that tells them. */
export class ReconcileFailure extends Error {
  readonly reason: string;

  constructor(reason: string, message: string, cause: unknown) {
    super(message, { cause });
    this.name = "ReconcileFailure";
    this.reason = reason;
    Object.defineProperty(this, brand, { value: true });
  }

  /** One whose cause says everything already. */
  static saying(reason: string, cause: unknown): ReconcileFailure {
    return new ReconcileFailure(reason, textOf(cause), cause);
  }
}

/** Whether the value is a ReconcileFailure, of this or another copy of the package. */
export function isReconcileFailure(value: unknown): value is ReconcileFailure {
  return typeof value === "object" && value !== null && brand in value;
}

/** What to say when a step of the reconcile fails. */
export interface StepText {
  readonly reason: string;
  readonly text: string;
}

/** The steps of a reconcile that can fail apart from composing. */
export type StepName =
  | "finalizer"
  | "deletion"
  | "composition"
  | "revisionSelector"
  | "revision"
  | "configure"
  | "watch"
  | "publish";

/** What users read about each, in the order of the steps. */
export const steps: Readonly<Record<StepName, StepText>> = {
  finalizer: { reason: "InitializeCompositeResource", text: "cannot add composite resource finalizer" },
  deletion: { reason: "DeleteCompositeResource", text: "cannot remove composite resource finalizer" },
  composition: { reason: "SelectComposition", text: "cannot select Composition" },
  revisionSelector: { reason: "SelectComposition", text: "cannot select CompositionRevision" },
  revision: { reason: "ComposeResources", text: "cannot fetch Composition" },
  configure: { reason: "ComposeResources", text: "cannot configure composite resource" },
  watch: { reason: "WatchComposedResources", text: "cannot watch resource for changes" },
  publish: { reason: "PublishConnectionSecret", text: "cannot publish connection details" },
};

/** Runs a step; what it throws becomes a ReconcileFailure. */
export async function attempt<T>({ reason, text }: StepText, action: () => Promise<T> | T): Promise<T> {
  try {
    return await action();
  } catch (error) {
    throw new ReconcileFailure(reason, `${text}: ${textOf(error)}`, error);
  }
}
