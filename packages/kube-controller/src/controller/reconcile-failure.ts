// SPDX-License-Identifier: Apache-2.0
import { createErrorBrand, textOf } from "@purlin/kube-objects/errors";

const brand = createErrorBrand<ReconcileFailure>("purlin.dev/kube-controller/ReconcileFailure");

/** A step of the reconcile that failed: what users read, and the reason of the event that tells them. */
export class ReconcileFailure extends Error {
  readonly reason: string;

  constructor(reason: string, message: string, cause: unknown) {
    super(message, { cause });
    this.name = "ReconcileFailure";
    this.reason = reason;
    brand.mark(this);
  }

  /** One whose cause says everything already. */
  static saying(reason: string, cause: unknown): ReconcileFailure {
    return new ReconcileFailure(reason, textOf(cause), cause);
  }
}

/** Whether the value is a ReconcileFailure, of this or another copy of the package. */
export function isReconcileFailure(value: unknown): value is ReconcileFailure {
  return brand.has(value);
}

/** What to say when a step of the reconcile fails. */
export interface StepText {
  readonly reason: string;
  readonly text: string;
}

/** Runs a step; what it throws becomes a ReconcileFailure. */
export async function attempt<T>({ reason, text }: StepText, action: () => Promise<T> | T): Promise<T> {
  try {
    return await action();
  } catch (error) {
    throw new ReconcileFailure(reason, `${text}: ${textOf(error)}`, error);
  }
}
