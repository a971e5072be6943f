// SPDX-License-Identifier: Apache-2.0

import { isProtocolError } from "@purlin/function-protocol";
import { isFatalResult } from "../run/compose-error.ts";

/**
 * What whoever reads about a failure can do, to go after its text; empty when the text says it all. What a function says
 * is its own: nothing is added to that.
 */
export function adviceOn(error: unknown): string {
  if (isFatalResult(error)) return "";
  const text = error instanceof Error ? error.message : String(error);
  if (/no matches for kind "[^"]*" in version "[^"]*"$/.test(text)) {
    return ": install the CRD that defines it, or correct the function";
  }
  if (/namespaces "[^"]*" not found$/.test(text)) return ": create the namespace, or correct the function";
  // Some reasons end with a question that says what to look at.
  if (text.includes("the function could not be reached") && !text.endsWith("?")) {
    return ": check that the function runs and can be reached there";
  }
  if (innermost(error, (one) => isProtocolError(one) && one.code === "UNSTABLE_REQUIREMENTS")) {
    return ": the function has to ask for the same on every call, also once it has the answer";
  }
  return "";
}

/** Whether one of the errors that led to this one is as wanted. */
function innermost(error: unknown, isWanted: (one: unknown) => boolean): boolean {
  for (let one = error; one !== undefined && one !== null; one = (one as { readonly cause?: unknown }).cause) {
    if (isWanted(one)) return true;
  }
  return false;
}
