// SPDX-License-Identifier: Apache-2.0
// Makes a database. A real one would be in a cloud; this one is only its configuration.
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
