// SPDX-License-Identifier: Apache-2.0
import { type FunctionHandler, request, response } from "@purlin/function-sdk";

/** Makes the settings of a bucket. */
const makeBucket: FunctionHandler = (req, ctx) => {
  const rsp = ctx.to(req);
  const xr = request.getObservedCompositeResource(req).resource;
  const name = xr.getString("metadata.name");
  const settings = {
    apiVersion: "v1",
    kind: "ConfigMap",
    metadata: { name: `${name}-settings` },
    data: { region: xr.getString("spec.region", "north") },
  };
  ctx.log.info("made a bucket", { version: "v1.0.0", bucket: name });
  response.setDesiredComposedResource(rsp, "settings", settings, { ready: true });
  return rsp;
};

export default makeBucket;
