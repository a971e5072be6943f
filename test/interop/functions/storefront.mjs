// SPDX-License-Identifier: Apache-2.0
// The storefront function with the public TypeScript SDK. storefront.ts and storefront.py do the same.
import {
  Capability,
  fromObject,
  getCondition,
  getContextKey,
  getInput,
  getObservedComposedResources,
  getObservedCompositeResource,
  getRequiredResource,
  getRequiredSchema,
  hasCapability,
  Ready,
  requireResource,
  requireSchema,
  Severity,
  Status,
  serve,
  setContextKey,
  setDesiredComposedResources,
  setDesiredCompositeStatus,
  Target,
  warning,
} from "@crossplane-org/function-sdk-typescript";

const trail = "interop.example.org/trail";

serve((req, rsp) => {
  const step = getInput(req);
  const xr = getObservedCompositeResource(req).resource;
  const [seen] = getContextKey(req, trail);
  setContextKey(rsp, trail, [...(seen ?? []), step.step]);
  ask(req, rsp, step, xr);

  const [[config], resolved] = getRequiredResource(req, "config");
  if (config === undefined) return reportMissing(rsp, step, resolved);

  const [[overrides]] = getRequiredResource(req, "overrides");
  const image = overrides?.resource.data.image ?? config.resource.data.image;
  const { replicas } = xr.spec;
  const observed = getObservedComposedResources(req).deployment;
  const available = getCondition(observed?.resource, "Available").status === "True";
  setDesiredComposedResources(rsp, {
    deployment: fromObject(desiredDeployment(image, replicas), {}, available ? Ready.READY_TRUE : Ready.READY_FALSE),
  });
  setDesiredCompositeStatus({ rsp, status: statusOf(req, image) });
  addCondition(rsp, Status.STATUS_CONDITION_TRUE, "Found", `using image ${image}`);
  rsp.results.push({
    severity: Severity.SEVERITY_NORMAL,
    message: `composed a Deployment with ${replicas} replicas`,
    reason: "Composed",
    target: Target.TARGET_COMPOSITE,
  });
  return rsp;
});

function ask(req, rsp, step, xr) {
  const { namespace } = xr.metadata;
  const configMaps = { apiVersion: "v1", kind: "ConfigMap", namespace };
  if (hasCapability(req, Capability.CAPABILITY_REQUIRED_RESOURCES)) {
    requireResource(rsp, "config", { ...configMaps, matchName: step.config });
    requireResource(rsp, "backends", { ...configMaps, matchLabels: { labels: { tier: "backend" } } });
    const [[config]] = getRequiredResource(req, "config");
    const overrides = config?.resource.data.overrides;
    if (overrides !== undefined) requireResource(rsp, "overrides", { ...configMaps, matchName: overrides });
  }
  if (hasCapability(req, Capability.CAPABILITY_REQUIRED_SCHEMAS)) {
    requireSchema(rsp, "deployment", "apps/v1", "Deployment");
    requireSchema(rsp, "nothing", "example.org/v1", "Nothing");
  } else {
    warning(rsp, "schemas are not supported by this control plane");
  }
}

function reportMissing(rsp, step, resolved) {
  if (!resolved) {
    addCondition(rsp, Status.STATUS_CONDITION_UNKNOWN, "Waiting", "the ConfigMap is being looked up");
    return rsp;
  }
  const message = `there is no ConfigMap "${step.config}"`;
  addCondition(rsp, Status.STATUS_CONDITION_FALSE, "NotFound", message);
  rsp.results.push({
    severity: Severity.SEVERITY_WARNING,
    message,
    reason: "ConfigMissing",
    target: Target.TARGET_COMPOSITE_AND_CLAIM,
  });
  return rsp;
}

function desiredDeployment(image, replicas) {
  return {
    apiVersion: "apps/v1",
    kind: "Deployment",
    metadata: { labels: { app: "storefront" } },
    spec: {
      replicas,
      selector: { matchLabels: { app: "storefront" } },
      template: {
        metadata: { labels: { app: "storefront" } },
        spec: { containers: [{ name: "web", image }] },
      },
    },
  };
}

function statusOf(req, image) {
  const [schema] = getRequiredSchema(req, "deployment");
  const [nothing, looked] = getRequiredSchema(req, "nothing");
  const [backends] = getRequiredResource(req, "backends");
  return {
    image,
    capabilities: [...(req.meta?.capabilities ?? [])].sort(),
    replicasType: schema?.properties.spec.properties.replicas.type ?? "unknown",
    nothing: looked && nothing === undefined ? "absent" : "unknown",
    backends: backends.map(({ resource }) => resource.metadata.name),
    registryUser: req.credentials.registry?.credentialData?.data.user?.toString() ?? "",
  };
}

function addCondition(rsp, status, reason, message) {
  rsp.conditions.push({
    type: "ConfigReady",
    status,
    reason,
    message,
    target: Target.TARGET_COMPOSITE_AND_CLAIM,
  });
}
