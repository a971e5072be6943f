// SPDX-License-Identifier: Apache-2.0
// Marks a ConfigMap for repair when it says that it is unhealthy. It writes nothing when all is well, so it does not wake itself.
import { type FunctionHandler, request, response } from "@purlin/function-sdk";

export const fn: FunctionHandler = (req, ctx) => {
  const rsp = ctx.to(req);
  const watched = request.getWatchedResource(req)?.resource;
  if (watched === undefined || watched.getString("data.health", "") !== "unhealthy") {
    response.setOutput(rsp, { action: "none" });
    return rsp;
  }
  response.setDesiredComposedResource(rsp, "repaired", {
    apiVersion: "v1",
    kind: "ConfigMap",
    metadata: { name: watched.name, namespace: watched.namespace },
    data: { health: "restarting" },
  });
  response.normal(rsp, `restarting ${watched.name}`);
  response.setOutput(rsp, { action: "restart" });
  return rsp;
};

export default fn;
