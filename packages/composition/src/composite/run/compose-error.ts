// SPDX-License-Identifier: Apache-2.0

import { createErrorBrand } from "@purlin/base";
import { isProtocolError } from "@purlin/function-protocol";
import { ReconcileError } from "@purlin/kube-controller";
import { textOf } from "@purlin/kube-objects/errors";
import type { TypeRef } from "@purlin/kube-objects/object";
import type { FunctionRevisionUsed, PipelineCondition, PipelineEvent } from "./step-results.ts";

const composeBrand = createErrorBrand<ComposeError>("purlin.dev/composition/ComposeError");
const fatalBrand = createErrorBrand<FatalResultError>("purlin.dev/composition/FatalResultError");
const resourceBrand = createErrorBrand<ComposedResourceError>("purlin.dev/composition/ComposedResourceError");

/** Composing failed. */
export class ComposeError extends ReconcileError {
  /** The error of the phase that failed. */
  readonly failed: unknown;

  constructor(cause: unknown) {
    const reason = isFatalResult(cause) ? cause.result.reason || "ReconcileError" : "ComposeResources";
    super(reason, `cannot compose resources: ${textOf(cause)}${adviceOn(cause)}`, cause);
    this.name = "ComposeError";
    this.failed = cause;
    composeBrand.mark(this);
  }
}

/** Whether the value is a ComposeError, of this or another copy of the package. */
export function isComposeError(value: unknown): value is ComposeError {
  return composeBrand.has(value);
}

/** The results of a pipeline until a function stopped it. */
export interface FatalResult {
  readonly step: string;
  readonly message: string;
  /** Empty when the function gave none. */
  readonly reason: string;
  readonly forClaim: boolean;
  readonly events: readonly PipelineEvent[];
  readonly conditions: readonly PipelineCondition[];
  readonly functionRevisions: readonly FunctionRevisionUsed[];
}

/** A function returned a fatal result. */
export class FatalResultError extends Error {
  readonly result: FatalResult;

  constructor(result: FatalResult) {
    super(`pipeline step "${result.step}" returned a fatal result: ${result.message}`);
    this.name = "FatalResultError";
    this.result = result;
    fatalBrand.mark(this);
  }
}

/** Whether the value is a FatalResultError, of this or another copy of the package. */
export function isFatalResult(value: unknown): value is FatalResultError {
  return fatalBrand.has(value);
}

/** An error about one composed resource. */
export class ComposedResourceError extends Error {
  readonly resource: TypeRef & { readonly namespace?: string | undefined };

  constructor(text: string, resource: TypeRef & { readonly namespace?: string | undefined }, cause: unknown) {
    super(`${text}: ${textOf(cause)}`, { cause });
    this.name = "ComposedResourceError";
    this.resource = resource;
    resourceBrand.mark(this);
  }
}

/** Whether the value is a ComposedResourceError, of this or another copy of the package. */
export function isComposedResourceError(value: unknown): value is ComposedResourceError {
  return resourceBrand.has(value);
}

/**
 * Advice to append to the message of a failure; empty when the message needs none. Nothing is added to a message that a function
 * returned.
 */
export function adviceOn(error: unknown): string {
  if (isFatalResult(error)) return "";
  const text = textOf(error);
  if (/no matches for kind "[^"]*" in version "[^"]*"$/.test(text)) {
    return ": install the CRD that defines it, or correct the function";
  }
  if (/namespaces "[^"]*" not found$/.test(text)) return ": create the namespace, or correct the function";
  // Some reasons end with a question that says what to check.
  if (text.includes("function unreachable") && !text.endsWith("?")) {
    return ": check that the function runs and can be reached there";
  }
  if (hasCause(error, (one) => isProtocolError(one) && one.code === "UNSTABLE_REQUIREMENTS")) {
    return ": the function must return the same requirements on every call, also when they are satisfied";
  }
  return "";
}

function hasCause(error: unknown, isWanted: (one: unknown) => boolean): boolean {
  for (let one = error; one !== undefined && one !== null; one = (one as { readonly cause?: unknown }).cause) {
    if (isWanted(one)) return true;
  }
  return false;
}
