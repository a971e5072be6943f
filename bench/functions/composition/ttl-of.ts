// SPDX-License-Identifier: Apache-2.0
import { type RunFunctionRequest, request, type Ttl } from "@purlin/function-sdk";

/** How long a response may be reused: what the step's input says, or nothing at all. */
export function ttlOf(req: RunFunctionRequest): Ttl {
  const { ttlSeconds } = request.getInput(req) ?? {};
  return typeof ttlSeconds === "number" ? ttlSeconds * 1000 : null;
}
