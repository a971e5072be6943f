// SPDX-License-Identifier: Apache-2.0
// Reads every observed resource and writes ten desired ones.
import { main, request, resource, response } from "@purlin/function-sdk";

await main((req, ctx) => {
  const rsp = ctx.to(req);
  const summary: Record<string, string> = {};
  for (const [name, { resource: observed }] of request.getObservedComposedResources(req)) {
    const ready = resource.getCondition(observed.object, "Ready").status;
    summary[name] = `${observed.kind} ${observed.name} ${ready}`;
  }
  for (let i = 0; i < 10; i++) {
    response.setDesiredComposedResource(rsp, `summary-${i}`, {
      apiVersion: "v1",
      kind: "ConfigMap",
      metadata: { namespace: "team-blue", labels: { summary: String(i) } },
      data: summary,
    });
  }
  return rsp;
});
