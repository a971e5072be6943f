// SPDX-License-Identifier: Apache-2.0
// Changes of Pods that their node cannot make. The texts are those of kube-apiserver 1.36.3.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import type { AdmissionPlugin, ResourceType, Store } from "@purlin/kube-apiserver/kinds";
import { answerValue } from "@purlin/kube-apiserver/testing";
import type { JsonObject } from "@purlin/kube-objects/json";
import { startTestServer, type TestServer } from "../../test/index.ts";
import { resizeAdmission } from "./resize-admission.ts";

let server: TestServer;
before(async () => {
  server = await startTestServer();
  const node = (name: string, labels: JsonObject, status: JsonObject): Promise<unknown> =>
    server.post("/api/v1/nodes", { metadata: { name, labels }, status });
  const allocatable = { cpu: "2", memory: "1Gi" };
  await node("small", {}, { allocatable });
  await node("other", { "kubernetes.io/os": "windows" }, { allocatable });
  await node("able", {}, { allocatable, declaredFeatures: ["InPlacePodLevelResourcesVerticalScaling"] });
});
after(() => server[Symbol.asyncDispose]());

const pods = "/api/v1/namespaces/default/pods";

async function create(name: string, spec: JsonObject): Promise<void> {
  const containers = [{ name: "c", image: "i", resources: { requests: { cpu: "1", memory: "1Mi" } } }];
  await server.post(pods, { metadata: { name }, spec: { automountServiceAccountToken: false, containers, ...spec } });
}

const patched = async (url: string, spec: JsonObject): Promise<JsonObject> => {
  const headers = { "content-type": "application/strategic-merge-patch+json" };
  return answerValue(await server.send(url, { method: "PATCH", headers, body: { spec } })) as JsonObject;
};

const resized = (name: string, requests: JsonObject): Promise<JsonObject> =>
  patched(`${pods}/${name}/resize`, { containers: [{ name: "c", resources: { requests } }] });

/** The message of a refusal after the name of the Pod, and its cause. */
function refusalOf({ code, message, details }: JsonObject): unknown {
  assert.equal(code, 403, String(message));
  const [cause] = ((details as JsonObject)["causes"] as JsonObject[] | undefined) ?? [];
  return [String(message).replace(/^pods "[a-z-]+" is forbidden: /, ""), cause];
}

test("a Pod does not grow beyond what its node has", async () => {
  await create("grows", { nodeName: "small" });
  const start = "node didn't have enough allocatable resources:";
  assert.deepEqual(refusalOf(await resized("grows", { cpu: "2500m" })), [
    `${start} cpu, requested: 2500, allocatable: 2000`,
    { reason: "NodeCapacity" },
  ]);
  assert.deepEqual(refusalOf(await resized("grows", { cpu: "2001m", memory: "2Gi" })), [
    `${start} cpu, requested: 2001, allocatable: 2000; memory, requested: 2147483648, allocatable: 1073741824`,
    { reason: "NodeCapacity" },
  ]);
  assert.equal((await resized("grows", { cpu: "2", memory: "1Gi" }))["kind"], "Pod", "it may take all of it");
});

test("a Pod is not resized on a node with another system, and not on one that does not exist", async () => {
  await create("windows", { nodeName: "other" });
  assert.deepEqual(refusalOf(await resized("windows", { cpu: "1500m" })), [
    'pod resize is only supported on linux nodes, node "other" is "windows"',
    { reason: "UnsupportedPlatform" },
  ]);
  assert.equal((await resized("windows", { cpu: "1" }))["kind"], "Pod", "nothing changes");
  await create("lost", { nodeName: "gone" });
  assert.deepEqual(refusalOf(await resized("lost", { cpu: "1500m" })), ['node "gone" not found', undefined]);
});

test("a Pod without a node can ask for anything", async () => {
  await create("free", {});
  assert.equal((await resized("free", { cpu: "900" }))["kind"], "Pod");
});

test("resources of a whole Pod, and of init containers, change only on nodes that declare it", async () => {
  const whole = { resources: { requests: { cpu: "1" } } };
  const initContainers = [{ name: "i", image: "i", resources: { requests: { cpu: "1" } } }];
  await create("whole", { nodeName: "small", ...whole, initContainers });
  const url = `${pods}/whole/resize`;
  const more = { requests: { cpu: "1500m" } };
  const needs = (features: string): readonly unknown[] => [
    `pod update requires features ${features} which are not available on node "small"`,
    undefined,
  ];
  const [level, init] = ["InPlacePodLevelResourcesVerticalScaling", "InPlacePodVerticalScalingInitContainers"];
  assert.deepEqual(refusalOf(await patched(url, { resources: more })), needs(level));
  const changed = [{ name: "i", resources: { requests: { cpu: "500m" } } }];
  assert.deepEqual(refusalOf(await patched(url, { initContainers: changed })), needs(init));
  assert.deepEqual(
    refusalOf(await patched(url, { resources: more, initContainers: changed })),
    needs(`${level}, ${init}`),
  );
  await create("declared", { nodeName: "able", ...whole });
  assert.equal((await patched(`${pods}/declared/resize`, { resources: more }))["kind"], "Pod");
});

test("the plugins handle changes of Pods only", () => {
  const plugins = resizeAdmission({} as Store<JsonObject>);
  const handled = (operation: "CREATE" | "UPDATE", subresource: string): string[] =>
    plugins
      .filter(({ handles }: AdmissionPlugin) => {
        const type = { group: "", resource: "pods" } as ResourceType;
        return handles({ operation, type, subresource });
      })
      .map(({ name }) => name);
  assert.deepEqual(handled("UPDATE", ""), ["NodeDeclaredFeatureValidator"]);
  assert.deepEqual(handled("UPDATE", "resize"), ["NodeDeclaredFeatureValidator", "PodResizeValidator"]);
  assert.deepEqual(handled("UPDATE", "status"), []);
  assert.deepEqual(handled("CREATE", ""), []);
});
