// SPDX-License-Identifier: Apache-2.0
import { hash } from "node:crypto";
import { encodeCanonical, RunFunctionRequest } from "@purlin/function-protocol";

/** Identifies what a request says, whatever the order of its maps. Its meta does not count. */
export function requestTag(request: RunFunctionRequest): string {
  const bytes = encodeCanonical(RunFunctionRequest, { ...request, meta: undefined });
  return hash("sha256", bytes, "hex");
}
