// SPDX-License-Identifier: Apache-2.0

import { textOf } from "@purlin/kube-objects/errors";
import type { TypeRef } from "@purlin/kube-objects/object";
import type { FunctionRevisionUsed, PipelineCondition, PipelineEvent } from "./pipeline-outcome.ts";

const fatalBrand = Symbol.for("purlin.dev/composition/FatalResultError");
const resourceBrand = Symbol.for("purlin.dev/composition/ComposedResourceError");

/** What a pipeline had said before a function stopped it. */
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

/** A function answered that it cannot go on. */
export class FatalResultError extends Error {
  readonly result: FatalResult;

  constructor(result: FatalResult) {
    super(`pipeline step "${result.step}" returned a fatal result: ${result.message}`);
    this.name = "FatalResultError";
    this.result = result;
    Object.defineProperty(this, fatalBrand, { value: true });
  }
}

/** Whether the value is a FatalResultError, of this or another copy of the package. */
export function isFatalResult(value: unknown): value is FatalResultError {
  return typeof value === "object" && value !== null && fatalBrand in value;
}

/** Something went wrong with one composed resource in particular. */
export class ComposedResourceError extends Error {
  readonly resource: TypeRef & { readonly namespace?: string | undefined };

  constructor(text: string, resource: TypeRef & { readonly namespace?: string | undefined }, cause: unknown) {
    super(`${text}: ${textOf(cause)}`, { cause });
    this.name = "ComposedResourceError";
    this.resource = resource;
    Object.defineProperty(this, resourceBrand, { value: true });
  }
}

/** Whether the value is a ComposedResourceError, of this or another copy of the package. */
export function isComposedResourceError(value: unknown): value is ComposedResourceError {
  return typeof value === "object" && value !== null && resourceBrand in value;
}
