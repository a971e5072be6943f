// SPDX-License-Identifier: Apache-2.0
// Composite resources made of workloads become ready on `purlin up`, or say why they do not.
import assert from "node:assert/strict";
import { once } from "node:events";
import { mkdirSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { setTimeout } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { type TempFolder, tempFolder } from "@purlin/base/testing/temp-folder";
import { purlin, up } from "../../test/function-folder.ts";

const definition = `
apiVersion: apiextensions.crossplane.io/v2
kind: CompositeResourceDefinition
metadata: {name: shops.example.org}
spec:
  scope: Namespaced
  group: example.org
  names: {kind: Shop, plural: shops}
  versions:
    - name: v1
      served: true
      referenceable: true
      schema:
        openAPIV3Schema:
          type: object
          properties:
            spec: {type: object, properties: {image: {type: string}}}
            status: {type: object, properties: {address: {type: string}}}
---
apiVersion: apiextensions.crossplane.io/v1
kind: Composition
metadata: {name: shops}
spec:
  compositeTypeRef: {apiVersion: example.org/v1, kind: Shop}
  mode: Pipeline
  pipeline: [{step: compose, functionRef: {name: compose-shop}}]
---
apiVersion: pkg.crossplane.io/v1
kind: Function
metadata: {name: compose-shop, annotations: {purlin.dev/source: compose.ts}}
spec: {package: example.org/compose-shop:v1}
`;

const source = `
import { request, response } from "@purlin/function-sdk";

const conditionOf = (object, type) =>
  object?.getObject("status", {}).conditions?.find((condition) => condition.type === type);

export default (req, ctx) => {
  const rsp = ctx.to(req);
  const shop = request.getObservedCompositeResource(req).resource;
  const observed = request.getObservedComposedResources(req);
  const labels = { shop: shop.name };
  const spec = { containers: [{ name: "web", image: shop.getString("spec.image") }] };
  const deployment = observed.get("deployment")?.resource;
  const available = conditionOf(deployment, "Available");
  response.setDesiredComposedResource(rsp, "deployment", {
    apiVersion: "apps/v1", kind: "Deployment",
    spec: { replicas: 2, selector: { matchLabels: labels }, template: { metadata: { labels }, spec } },
  }, { ready: available?.status === "True" });
  if (available?.status === "False") response.warning(rsp, "The Deployment is not available: " + available.reason);
  const service = observed.get("service")?.resource;
  const address = service?.getObject("status.loadBalancer", {}).ingress?.[0]?.ip ?? "";
  response.setDesiredComposedResource(rsp, "service", {
    apiVersion: "v1", kind: "Service",
    spec: { type: "LoadBalancer", selector: labels, ports: [{ port: 80 }] },
  }, { ready: address !== "" });
  response.setDesiredComposedResource(rsp, "data", {
    apiVersion: "v1", kind: "PersistentVolumeClaim",
    spec: { accessModes: ["ReadWriteOnce"], resources: { requests: { storage: "1Gi" } } },
  }, { ready: observed.get("data")?.resource.getString("status.phase", "") === "Bound" });
  response.setDesiredCompositeStatus(rsp, { address });
  return rsp;
};
`;

const shop = (name: string, image: string): string =>
  `apiVersion: example.org/v1\nkind: Shop\nmetadata: {name: ${name}, namespace: default}\nspec: {image: "${image}"}\n`;

const brokenImages = `---
apiVersion: simulation.purlin.dev/v1alpha1
kind: Simulation
metadata: {name: broken-images}
spec: {match: {images: ["*:broken"]}, outcome: ImagePullBackOff}
`;

function projectFolder(): TempFolder {
  const folder = tempFolder({ "package.json": '{"type":"module"}', "platform.yaml": definition, "compose.ts": source });
  const root = fileURLToPath(new URL("../../../..", import.meta.url));
  mkdirSync(join(folder.path, "node_modules/@purlin"), { recursive: true });
  symlinkSync(join(root, "packages/function-sdk"), join(folder.path, "node_modules/@purlin/function-sdk"));
  return folder;
}

async function untilPrinted(folder: TempFolder, command: readonly string[], pattern: RegExp): Promise<void> {
  while (!pattern.test((await purlin(folder, ...command)).stdout)) await setTimeout(50);
}

test("a composite resource of a Deployment, a Service and a claim becomes ready; one with a failing image does not", async () => {
  using folder = projectFolder();
  folder.write("shop.yaml", shop("good", "nginx:1"));
  {
    await using waiting = up(folder, ".", "--wait");
    const closed = once(waiting.child, "close");
    await waiting.next("stdout", /✓ workloads are simulated: Pods get a status, but no container runs/);
    await closed;
    assert.equal(waiting.child.exitCode, 0);
  }
  folder.write("broken.yaml", shop("bad", "nginx:broken") + brokenImages);
  await using running = up(folder, ".");
  await running.next("stdout", /Shop default\/bad: .*Unready resources: deployment/);
  await untilPrinted(folder, ["get", "pods"], /^bad-\S+ +0\/1 +ImagePullBackOff /m);
  await untilPrinted(folder, ["events"], /Shop\/bad .*The Deployment is not available: MinimumReplicasUnavailable/);
  assert.match((await purlin(folder, "get", "shop", "good")).stdout, / True +True /);
  assert.equal(await running.stop(), 0);
});
