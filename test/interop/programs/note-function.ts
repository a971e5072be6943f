// SPDX-License-Identifier: Apache-2.0
// A pure function: one ConfigMap with the text of the composite resource.
import { type RunFunctionRequest, type RunFunctionResponse, request, response } from "@purlin/function-sdk";

/** Composes a note. */
export function composeNote(req: RunFunctionRequest): RunFunctionResponse {
  const rsp = response.to(req);
  const { resource: xr } = request.getObservedCompositeResource(req);
  if (xr.getString("spec.text") === "fatal") response.fatal(rsp, "the text is fatal");
  const map = { apiVersion: "v1", kind: "ConfigMap", data: { text: xr.getString("spec.text") } };
  response.setDesiredComposedResource(rsp, "note", map, { ready: true });
  return rsp;
}

export default composeNote;
