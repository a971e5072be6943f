// SPDX-License-Identifier: Apache-2.0
// Reads every observed resource and writes ten desired ones.
import {
  fromObject,
  getCondition,
  getObservedComposedResources,
  serve,
  setDesiredComposedResources,
} from "@crossplane-org/function-sdk-typescript";

serve((req, rsp) => {
  const summary = {};
  for (const [name, { resource }] of Object.entries(getObservedComposedResources(req))) {
    summary[name] = `${resource.kind} ${resource.metadata.name} ${getCondition(resource, "Ready").status}`;
  }
  const desired = {};
  for (let i = 0; i < 10; i++) {
    desired[`summary-${i}`] = fromObject({
      apiVersion: "v1",
      kind: "ConfigMap",
      metadata: { namespace: "team-blue", labels: { summary: String(i) } },
      data: summary,
    });
  }
  return setDesiredComposedResources(rsp, desired);
});
