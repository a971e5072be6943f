// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import { eventually } from "@purlin/kube-controller/testing";
import { type KubeObject, memberAt, objectsAt, stringAt } from "@purlin/kube-objects/object";
import { kinds } from "../kinds.ts";
import { startScene, workloadSpec } from "../testing/scene.ts";

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
