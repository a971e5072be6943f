// SPDX-License-Identifier: Apache-2.0
// Composes two ConfigMaps from a composite resource.
import { main, request, response } from "@purlin/function-sdk";
import { ttlOf } from "./ttl-of.ts";

await main((req) => {
  const rsp = response.to(req, { ttl: ttlOf(req) });
  const { resource: xr } = request.getObservedCompositeResource(req);
  for (const name of ["first", "second"]) {
    response.setDesiredComposedResource(rsp, name, {
      apiVersion: "v1",
      kind: "ConfigMap",
      data: { owner: xr.name ?? "", text: xr.getString("spec.text") },
    });
  }
  return rsp;
});
