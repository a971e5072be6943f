// SPDX-License-Identifier: Apache-2.0

import { isProtocolError } from "@purlin/function-protocol";

/** What whoever reads about a failure can do, to go after its text; empty when the text says it all. */
export function adviceOn(error: unknown): string {
  const text = error instanceof Error ? error.message : String(error);
  if (/no matches for kind "[^"]*" in version "[^"]*"$/.test(text)) {
    return ": install the CRD that defines it, or correct the function";
  }
  // Some reasons end with a question that says what to look at.
  if (/the function could not be reached.*[^?]$/.test(text)) {
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
