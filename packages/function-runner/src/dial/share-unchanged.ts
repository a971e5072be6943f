// SPDX-License-Identifier: Apache-2.0
import { Buffer } from "node:buffer";
import type { RunFunctionRequest, RunFunctionResponse, Struct } from "@purlin/function-protocol";

/**
 * Puts the request's own Structs in place of those that came back unchanged. Most steps change little of what earlier
 * ones desire; what was decoded, sorted or hashed of it before need not be again, and the response's bytes can go.
 */
export function shareUnchanged(request: RunFunctionRequest, response: RunFunctionResponse): void {
  response.context = shared(request.context, response.context);
  const { composite, resources } = response.desired ?? {};
  if (composite !== undefined) composite.resource = shared(request.desired?.composite?.resource, composite.resource);
  for (const [name, desired] of resources ?? []) {
    desired.resource = shared(request.desired?.resources.get(name)?.resource, desired.resource);
  }
}

function shared(before: Struct | undefined, after: Struct | undefined): Struct | undefined {
  if (before === undefined || after === undefined) return after;
  return Buffer.compare(before.bytes, after.bytes) === 0 ? before : after;
}
