// SPDX-License-Identifier: Apache-2.0
import { createErrorBrand, textOf } from "@purlin/kube-objects/errors";

const brand = createErrorBrand<ReconcileError>("purlin.dev/kube-controller/ReconcileError");
const terminalBrand = createErrorBrand<TerminalError>("purlin.dev/kube-controller/TerminalError");

/** A step of a reconcile failed: the message that users read, and the reason of its event. */
export class ReconcileError extends Error {
  readonly reason: string;

  constructor(reason: string, message: string, cause?: unknown) {
    super(message, { cause });
    this.name = "ReconcileError";
    this.reason = reason;
    brand.mark(this);
  }

  /** An error whose cause has the whole message. */
  static from(reason: string, cause: unknown): ReconcileError {
    return new ReconcileError(reason, textOf(cause), cause);
  }
}

/** A failure that a retry cannot repair. It is reported like any other; the next change of the object starts the next reconcile. */
export class TerminalError extends ReconcileError {
  constructor(reason: string, message: string, cause?: unknown) {
    super(reason, message, cause);
    this.name = "TerminalError";
    terminalBrand.mark(this);
  }
}

/** Whether the value is a ReconcileError, of this or another copy of the package. */
export function isReconcileError(value: unknown): value is ReconcileError {
  return brand.has(value);
}

/** Whether the value is a TerminalError, of this or another copy of the package. */
export function isTerminalError(value: unknown): value is TerminalError {
  return terminalBrand.has(value);
}

/** The event reason and the message prefix of a step that fails. */
export interface StepText {
  readonly reason: string;
  readonly text: string;
}

/** Runs a step; an error that it throws becomes a ReconcileError. */
export async function attempt<T>({ reason, text }: StepText, action: () => Promise<T> | T): Promise<T> {
  try {
    return await action();
  } catch (error) {
    throw new ReconcileError(reason, `${text}: ${textOf(error)}`, error);
  }
}
