// SPDX-License-Identifier: Apache-2.0
// What a database consists of. A real one would be a cloud's; here its configuration is all there is to see.
import { type FunctionHandler, request, response } from "@purlin/function-sdk";

export const fn: FunctionHandler = (req, ctx) => {
  const rsp = ctx.to(req);
  const database = request.getObservedCompositeResource(req).resource;
  const namespace = database.getString("spec.namespace");
  const host = `${database.name}.databases.example.org`;

  response.setDesiredComposedResource(
    rsp,
    "configuration",
    {
      apiVersion: "v1",
      kind: "ConfigMap",
      metadata: { namespace },
      data: { host, megabytes: String(database.getNumber("spec.megabytes")) },
    },
    { ready: request.getObservedComposedResources(req).has("configuration") },
  );
  response.setDesiredCompositeStatus(rsp, { host });
  return rsp;
};

export default fn;
