// SPDX-License-Identifier: Apache-2.0
import { acceptedTypes } from "./negotiate.ts";
import { notProduced } from "./plain-refusals.ts";

/** What a list gives besides, when it is watched. */
const streamType = "application/json;stream=watch";
/** Go clients name it first; that it is not given is found out when the form is agreed on. */
const namedFirst = "application/vnd.kubernetes.protobuf";

/**
 * Throws 406 unless the header names one of the types, or anything. The paths of built-in resources ask this before they look at what
 * is wanted, by name alone: `application/*` is none of their types.
 */
export function requireProducible(
  accept: string | undefined,
  options: { readonly types?: readonly string[] } = {},
): void {
  const types = options.types ?? acceptedTypes;
  const ranges = (accept ?? "").split(",").map((clause) => clause.split(";", 1)[0]?.trim() ?? "");
  const fits = (range: string): boolean => range === "*/*" || range === namedFirst || types.includes(range);
  if ((accept ?? "") !== "" && !ranges.some(fits)) throw notProduced(types);
}

/** The types of a path of a built-in resource that can be watched. */
export const listTypes: readonly string[] = [...acceptedTypes, streamType];
