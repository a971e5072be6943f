// SPDX-License-Identifier: Apache-2.0
// The storefront function with our SDK. storefront.py and storefront.mjs do the same with the public SDKs.
import {
  Capability,
  type JsonObject,
  main,
  type RunFunctionRequest,
  type RunFunctionResponse,
  request,
  resource,
  response,
} from "@purlin/function-sdk";

const trail = "interop.example.org/trail";
const condition = "ConfigReady";

interface StepInput {
  readonly step: string;
  readonly config: string;
}

await main((req, ctx) => {
  const rsp = ctx.to(req);
  const step = request.requireInput(req, (input) => input as unknown as StepInput);
  const { resource: xr } = request.getObservedCompositeResource(req);
  const seen = (request.getContextKey(req, trail) ?? []) as string[];
  response.setContextKey(rsp, trail, [...seen, step.step]);
  ask(req, rsp, { ...step, namespace: xr.namespace ?? "" });

  const config = dataOf(req, "config");
  if (config === undefined) return reportMissing(req, rsp, step);

  const image = String(dataOf(req, "overrides")?.["image"] ?? config["image"]);
  const replicas = xr.getInteger("spec.replicas");
  const observed = request.getObservedComposedResources(req).get("deployment");
  const ready = observed?.resource.getCondition("Available").status === "True";
  response.setDesiredComposedResource(rsp, "deployment", desiredDeployment(image, replicas), { ready });
  response.setDesiredCompositeStatus(rsp, statusOf(req, image));
  response.conditionTrue(rsp, condition, "Found").withMessage(`using image ${image}`).targetCompositeAndClaim();
  response.normal(rsp, `composed a Deployment with ${replicas} replicas`).withReason("Composed").targetComposite();
  return rsp;
});

function dataOf(req: RunFunctionRequest, name: string): JsonObject | undefined {
  return request.getRequiredResource(req, name)?.resource.object["data"] as JsonObject | undefined;
}

function ask(
  req: RunFunctionRequest,
  rsp: RunFunctionResponse,
  step: StepInput & { readonly namespace: string },
): void {
  const configMaps = { apiVersion: "v1", kind: "ConfigMap", namespace: step.namespace };
  if (request.hasCapability(req, Capability.CAPABILITY_REQUIRED_RESOURCES)) {
    response.requireResources(rsp, "config", { ...configMaps, matchName: step.config });
    response.requireResources(rsp, "backends", { ...configMaps, matchLabels: { tier: "backend" } });
    const overrides = dataOf(req, "config")?.["overrides"];
    if (typeof overrides === "string")
      response.requireResources(rsp, "overrides", { ...configMaps, matchName: overrides });
  }
  if (request.hasCapability(req, Capability.CAPABILITY_REQUIRED_SCHEMAS)) {
    response.requireSchema(rsp, "deployment", "apps/v1", "Deployment");
    response.requireSchema(rsp, "nothing", "example.org/v1", "Nothing");
  } else {
    response.warning(rsp, "schemas are not supported by this control plane");
  }
}

function reportMissing(req: RunFunctionRequest, rsp: RunFunctionResponse, { config }: StepInput): RunFunctionResponse {
  if (!request.lookupRequiredResources(req, "config").resolved) {
    const waiting = response.conditionUnknown(rsp, condition, "Waiting");
    waiting.withMessage("the ConfigMap is being looked up").targetCompositeAndClaim();
    return rsp;
  }
  const message = `there is no ConfigMap "${config}"`;
  response.conditionFalse(rsp, condition, "NotFound").withMessage(message).targetCompositeAndClaim();
  response.warning(rsp, message).withReason("ConfigMissing").targetCompositeAndClaim();
  return rsp;
}

function desiredDeployment(image: string, replicas: number): JsonObject {
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

function statusOf(req: RunFunctionRequest, image: string): JsonObject {
  const deployment = new resource.ComposedObject(request.getRequiredSchema(req, "deployment") ?? {});
  return {
    image,
    capabilities: [...(req.meta?.capabilities ?? [])].sort(),
    replicasType: deployment.getString("properties.spec.properties.replicas.type", "unknown"),
    nothing: request.lookupRequiredSchema(req, "nothing").state === "absent" ? "absent" : "unknown",
    backends: request.getRequiredResources(req, "backends").map(({ resource }) => resource.name ?? ""),
    registryUser: request.lookupCredentials(req, "registry")?.text("user") ?? "",
  };
}
