// SPDX-License-Identifier: Apache-2.0
// Copies ConfigMaps into one that is named after the time for which the backup was scheduled.
import { type FunctionHandler, request, response } from "@purlin/function-sdk";

export const fn: FunctionHandler = (req, ctx) => {
  const rsp = ctx.to(req);
  const operation = request.getContextKey(req, "purlin.dev/operation") as { scheduledTime?: string } | undefined;
  const time = (operation?.scheduledTime ?? "manual").toLowerCase().replaceAll(":", "-");
  const sources = request.getRequiredResources(req, "sources");
  const data = Object.fromEntries(
    sources.map(({ resource }) => [`${resource.name}.json`, JSON.stringify(resource.getValue("data", {}))]),
  );
  response.setDesiredComposedResource(rsp, "backup", {
    apiVersion: "v1",
    kind: "ConfigMap",
    metadata: { name: `backup-${time}`, namespace: "default", labels: { "example.org/backup": "true" } },
    data,
  });
  response.setOutput(rsp, { objects: sources.length });
  return rsp;
};

export default fn;
