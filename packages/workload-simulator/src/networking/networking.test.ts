// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import { eventually } from "@purlin/kube-controller/testing";
import { type KubeObject, memberAt, objectsAt, stringAt } from "@purlin/kube-objects/object";
import { startScene, workloadSpec } from "../../test/world.ts";
import { kinds } from "../kinds.ts";

const readyEndpoints = (slice: KubeObject): string[] =>
  objectsAt(slice, ["endpoints"])
    .filter((endpoint) => memberAt(endpoint, ["conditions", "ready"]) === true)
    .map((endpoint) => stringAt(endpoint, ["targetRef", "name"]));

test("a Service has EndpointSlices with the Pods that it selects, and a load balancer has an address", async () => {
  await using scene = await startScene();
  const ports = [{ name: "http", port: 80, targetPort: 8080 }];
  await scene.create(kinds.service, "web", { spec: { type: "LoadBalancer", selector: { app: "web" }, ports } });
  await scene.create(kinds.deployment, "web", { spec: workloadSpec({ replicas: 2 }) });
  const slice = await eventually("two ready endpoints", async () => {
    const [one] = await scene.list(kinds.endpointSlice);
    return one !== undefined && readyEndpoints(one).length === 2 && one;
  });
  assert.deepEqual(objectsAt(slice, ["ports"]), [{ name: "http", port: 8080, protocol: "TCP" }]);
  assert.equal(slice.metadata.labels?.["kubernetes.io/service-name"], "web");
  const service = await scene.until(
    kinds.service,
    "web",
    (one) => objectsAt(one, ["status", "loadBalancer", "ingress"]).length > 0,
  );
  const [ingress] = objectsAt(service, ["status", "loadBalancer", "ingress"]);
  assert.match(stringAt(ingress ?? {}, ["ip"]), /^198\.(18|19)\./);
  await scene.patch(kinds.deployment, "web", { spec: { replicas: 0 } });
  await eventually("no endpoints", async () => {
    const [one] = await scene.list(kinds.endpointSlice);
    return one !== undefined && objectsAt(one, ["endpoints"]).length === 0;
  });
});

test("a Service has legacy Endpoints, which go with it", async () => {
  await using scene = await startScene();
  const ports = [{ name: "http", port: 80, targetPort: 8080 }];
  await scene.create(kinds.service, "web", { spec: { selector: { app: "web" }, ports } });
  await scene.create(kinds.deployment, "web", { spec: workloadSpec({ replicas: 2 }) });
  const endpoints = await eventually("two addresses", async () => {
    const [one] = await scene.list(kinds.endpoints);
    const [subset = {}] = one === undefined ? [] : objectsAt(one, ["subsets"]);
    return objectsAt(subset, ["addresses"]).length === 2 && one;
  });
  const [subset = {}] = objectsAt(endpoints, ["subsets"]);
  assert.deepEqual(objectsAt(subset, ["ports"]), [{ name: "http", port: 8080, protocol: "TCP" }]);
  await scene.client.delete({ ...kinds.service, namespace: "default", name: "web" });
  await eventually("no Endpoints", async () => (await scene.list(kinds.endpoints)).length === 0);
});

test("an Ingress has an address", async () => {
  await using scene = await startScene();
  const backend = { service: { name: "web", port: { number: 80 } } };
  await scene.create(kinds.ingress, "web", { spec: { defaultBackend: backend } });
  const ingress = await scene.until(kinds.ingress, "web", (one) => addressOf(one) !== "");
  assert.match(addressOf(ingress), /^198\.(18|19)\./);
});

const addressOf = (object: KubeObject): string =>
  stringAt(objectsAt(object, ["status", "loadBalancer", "ingress"])[0] ?? {}, ["ip"]);

const gatewayCrd = {
  apiVersion: "apiextensions.k8s.io/v1",
  kind: "CustomResourceDefinition",
  metadata: {
    name: "gateways.gateway.networking.k8s.io",
    annotations: { "api-approved.kubernetes.io": "https://example.org" },
  },
  spec: {
    group: "gateway.networking.k8s.io",
    scope: "Namespaced",
    names: { kind: "Gateway", plural: "gateways", singular: "gateway", listKind: "GatewayList" },
    versions: [
      {
        name: "v1",
        served: true,
        storage: true,
        subresources: { status: {} },
        schema: { openAPIV3Schema: { type: "object", "x-kubernetes-preserve-unknown-fields": true } },
      },
    ],
  },
};

test("a Gateway is accepted and programmed once its kind is defined", async () => {
  await using scene = await startScene();
  // The simulation runs before the kind exists.
  await scene.create(kinds.deployment, "web", { spec: workloadSpec({ replicas: 1 }) });
  await scene.until(kinds.deployment, "web", (one) => memberAt(one, ["status", "availableReplicas"]) === 1);
  await scene.client.create(gatewayCrd);
  const listeners = [{ name: "http", port: 80, protocol: "HTTP" }];
  await eventually("the kind is served", () =>
    scene.create(kinds.gateway, "web", { spec: { gatewayClassName: "any", listeners } }).catch(() => undefined),
  );
  const gateway = await scene.until(kinds.gateway, "web", (one) => objectsAt(one, ["status", "addresses"]).length > 0);
  const types = objectsAt(gateway, ["status", "conditions"]).map((condition) => condition["type"]);
  assert.deepEqual(types, ["Accepted", "Programmed"]);
});
