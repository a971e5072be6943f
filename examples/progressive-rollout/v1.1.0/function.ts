// SPDX-License-Identifier: Apache-2.0
import { type FunctionHandler, request, response } from "@purlin/function-sdk";

/** Makes the settings of a bucket, and its backup plan. */
const makeBucket: FunctionHandler = (req, ctx) => {
  const rsp = ctx.to(req);
  const xr = request.getObservedCompositeResource(req).resource;
  const name = xr.getString("metadata.name");
  const configMap = (kind: string, data: Record<string, string>) => ({
    apiVersion: "v1",
    kind: "ConfigMap",
    metadata: { name: `${name}-${kind}` },
    data,
  });
  const settings = { region: xr.getString("spec.region", "north"), versioning: "on" };
  response.setDesiredComposedResource(rsp, "settings", configMap("settings", settings), { ready: true });
  response.setDesiredComposedResource(rsp, "backup", configMap("backup", { every: "1h" }), { ready: true });
  return rsp;
};

export default makeBucket;
