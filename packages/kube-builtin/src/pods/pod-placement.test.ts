// SPDX-License-Identifier: Apache-2.0
// Bindings and evictions. The texts are those of kube-apiserver 1.36.3.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { answerValue } from "@purlin/kube-apiserver/testing";
import type { JsonObject } from "@purlin/kube-objects/json";
import { objectAt } from "@purlin/kube-objects/object";
import { startTestServer, type TestServer } from "../../test/index.ts";

let server: TestServer;
before(async () => {
  server = await startTestServer();
});
after(() => server[Symbol.asyncDispose]());

const pods = "/api/v1/namespaces/default/pods";
const budgets = "/apis/policy/v1/namespaces/default/poddisruptionbudgets";

async function createPod(name: string, labels: JsonObject = {}): Promise<void> {
  const spec = { automountServiceAccountToken: false, containers: [{ name: "c", image: "i" }] };
  await server.post(pods, { metadata: { name, labels }, spec });
}

async function post(path: string, body: JsonObject): Promise<JsonObject> {
  const response = await server.send(path, { method: "POST", body });
  return { ...(answerValue(response) as JsonObject), code: response.code };
}

test("a binding assigns a Pod to a node, once", async () => {
  await createPod("bound");
  const binding = { metadata: { name: "bound" }, target: { kind: "Node", name: "n1" } };
  const first = await post(`${pods}/bound/binding`, binding);
  assert.deepEqual([first["code"], first["status"]], [201, "Success"]);
  const stored = await server.body(`${pods}/bound`);
  assert.equal(objectAt(stored, ["spec"])["nodeName"], "n1");
  const [condition] = objectAt(stored, ["status"])["conditions"] as readonly JsonObject[];
  assert.deepEqual([condition?.["type"], condition?.["status"]], ["PodScheduled", "True"]);
  const second = await post("/api/v1/namespaces/default/bindings", binding);
  assert.equal(second["code"], 409);
  assert.equal(
    second["message"],
    'Operation cannot be fulfilled on pods/binding "bound": pod bound is already assigned to node "n1"',
  );
});

test("an eviction deletes a Pod that no budget protects", async () => {
  await createPod("free");
  assert.equal((await post(`${pods}/free/eviction`, { metadata: { name: "free" } }))["code"], 201);
  assert.equal((await server.send(`${pods}/free`)).code, 404);
  assert.equal((await post(`${pods}/none/eviction`, { metadata: { name: "none" } }))["code"], 404);
  const misnamed = await post(`${pods}/none/eviction`, { metadata: { name: "other" } });
  assert.equal(misnamed["message"], "name in URL does not match name in Eviction object");
});

test("an eviction takes from the budget of the Pod, and is refused when nothing is left", async () => {
  await createPod("guarded", { app: "guarded" });
  await server.patch(`${pods}/guarded/status`, {
    status: { phase: "Running", conditions: [{ type: "Ready", status: "True" }] },
  });
  const spec = { minAvailable: 1, selector: { matchLabels: { app: "guarded" } } };
  await server.post(budgets, { metadata: { name: "b" }, spec });
  const eviction = { metadata: { name: "guarded" } };
  const early = await post(`${pods}/guarded/eviction`, eviction);
  assert.deepEqual(objectAt(early, ["details"])["causes"], [
    { reason: "DisruptionBudget", message: "The disruption budget b is still being processed by the server." },
  ]);
  const status = {
    observedGeneration: 1,
    disruptionsAllowed: 0,
    desiredHealthy: 1,
    currentHealthy: 1,
    expectedPods: 1,
  };
  await server.patch(`${budgets}/b/status`, { status });
  const refused = await post(`${pods}/guarded/eviction`, eviction);
  assert.deepEqual(
    [refused["code"], refused["message"]],
    [429, "Cannot evict pod as it would violate the pod's disruption budget."],
  );
  assert.deepEqual(objectAt(refused, ["details"])["causes"], [
    { reason: "DisruptionBudget", message: "The disruption budget b needs 1 healthy pods and has 1 currently" },
  ]);
  await server.patch(`${budgets}/b/status`, { status: { disruptionsAllowed: 1, currentHealthy: 2 } });
  assert.equal((await post(`${pods}/guarded/eviction`, eviction))["code"], 201);
  const left = objectAt(await server.body(`${budgets}/b`), ["status"]);
  assert.equal(left["disruptionsAllowed"], 0);
  assert.deepEqual(Object.keys(left["disruptedPods"] as JsonObject), ["guarded"]);
});

test("a Pod that has its node gets the zone and the region of it", async () => {
  const zones = { "topology.kubernetes.io/zone": "z", "topology.kubernetes.io/region": "r" };
  await server.post("/api/v1/nodes", { metadata: { name: "zoned", labels: { ...zones, other: "x" } } });
  const labelsOf = async (name: string, nodeName: string): Promise<unknown> => {
    const spec = { automountServiceAccountToken: false, nodeName, containers: [{ name: "c", image: "i" }] };
    await server.post(pods, { metadata: { name, labels: { a: "b", "topology.kubernetes.io/zone": "y" } }, spec });
    return objectAt(await server.body(`${pods}/${name}`), ["metadata", "labels"]);
  };
  assert.deepEqual(await labelsOf("zoned", "zoned"), { a: "b", ...zones });
  assert.deepEqual(await labelsOf("lost", "none"), { a: "b", "topology.kubernetes.io/zone": "y" });
});

test("options of an eviction may name any kind, and have the fields of their type", async () => {
  await createPod("optional");
  const evict = async (deleteOptions: unknown, query = "", more: JsonObject = {}): Promise<unknown[]> => {
    const body = { metadata: { name: "optional" }, deleteOptions, ...more } as JsonObject;
    const { code, message, status } = await post(`${pods}/optional/eviction${query}`, body);
    return [code, message ?? status];
  };
  const dryRun = ["All"];
  assert.deepEqual(await evict({ dryRun, kind: "Pod", apiVersion: "v2" }), [201, "Success"]);
  assert.deepEqual(await evict({ dryRun }, "", { apiVersion: "policy/v1beta1", kind: "Eviction" }), [201, "Success"]);
  const unread = 'Eviction in version "v1" cannot be handled as a Eviction:';
  const into =
    "json: cannot unmarshal number into Go struct field DeleteOptions.deleteOptions.TypeMeta.kind of type string";
  assert.deepEqual(await evict({ dryRun, kind: 3 }), [400, `${unread} ${into}`]);
  assert.deepEqual(await evict({ dryRun, x: 1 }, "?fieldValidation=Strict"), [
    400,
    `${unread} strict decoding error: unknown field "deleteOptions.x"`,
  ]);
  const potential = "deleteOptions.ignoreStoreReadErrorWithClusterBreakingPotential";
  assert.deepEqual(await evict({ dryRun, ignoreStoreReadErrorWithClusterBreakingPotential: true }), [
    422,
    `Eviction.policy "optional" is invalid: ${potential}: Invalid value: true: can not be set for pod eviction, try after removing the option`,
  ]);
  assert.deepEqual(await evict({}, "", { apiVersion: "v1", kind: "Pod" }), [
    400,
    'Pod in version "v1" cannot be handled as a Eviction: converting (v1.Pod) to (policy.Eviction): unknown conversion',
  ]);
});
