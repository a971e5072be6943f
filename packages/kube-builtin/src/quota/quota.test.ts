// SPDX-License-Identifier: Apache-2.0
// LimitRanges, ResourceQuotas, priority classes and default storage classes on new objects. The texts are those of kube-apiserver 1.36.3.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { defaultPlugins } from "@purlin/kube-apiserver";
import { answerValue } from "@purlin/kube-apiserver/testing";
import type { JsonObject } from "@purlin/kube-objects/json";
import { objectAt } from "@purlin/kube-objects/object";
import { startTestServer, type TestServer } from "../../test/index.ts";

let server: TestServer;
before(async () => {
  server = await startTestServer();
});
after(() => server[Symbol.asyncDispose]());

const pod = (name: string, resources: JsonObject = {}, spec: JsonObject = {}): JsonObject => ({
  metadata: { name },
  spec: { automountServiceAccountToken: false, containers: [{ name: "c", image: "i", resources }], ...spec },
});

const claim = (name: string, storage: string): JsonObject => ({
  metadata: { name },
  spec: { accessModes: ["ReadWriteOnce"], resources: { requests: { storage } } },
});

async function inNamespace(name: string): Promise<(resource: string) => string> {
  await server.post("/api/v1/namespaces", { metadata: { name } });
  return (resource) => `/api/v1/namespaces/${name}/${resource}`;
}

async function refusal(path: string, body: JsonObject): Promise<unknown> {
  const response = await server.send(path, { method: "POST", body });
  const answer = answerValue(response) as JsonObject;
  assert.equal(response.code, 403, JSON.stringify(answer));
  return answer["message"];
}

test("a LimitRange gives new Pods its defaults, and says so", async () => {
  const at = await inNamespace("limits-default");
  const limits = [{ type: "Container", max: { cpu: "2", memory: "1Gi" }, min: { cpu: "100m" }, default: { cpu: "1" } }];
  await server.post(at("limitranges"), { metadata: { name: "l" }, spec: { limits } });
  const made = await server.post(at("pods"), pod("p", { requests: { cpu: "300m" } }));
  const [container] = objectAt(made, ["spec"])["containers"] as readonly JsonObject[];
  assert.deepEqual(container?.["resources"], {
    limits: { cpu: "1", memory: "1Gi" },
    requests: { cpu: "300m", memory: "1Gi" },
  });
  assert.deepEqual(objectAt(made, ["metadata"])["annotations"], {
    "kubernetes.io/limit-ranger":
      "LimitRanger plugin set: memory request for container c; cpu, memory limit for container c",
  });
});

test("a LimitRange refuses Pods and claims outside its limits", async () => {
  const at = await inNamespace("limits-refuse");
  const limits = [
    { type: "Container", max: { cpu: "2", memory: "1Gi" }, min: { cpu: "100m" } },
    { type: "PersistentVolumeClaim", min: { storage: "1Gi" }, max: { storage: "10Gi" } },
  ];
  await server.post(at("limitranges"), { metadata: { name: "l" }, spec: { limits } });
  assert.equal(
    await refusal(at("pods"), pod("p", { requests: { cpu: "50m" }, limits: { memory: "2Gi" } })),
    'pods "p" is forbidden: [minimum cpu usage per Container is 100m, but request is 50m, maximum memory usage per Container is 1Gi, but limit is 2Gi]',
  );
  assert.equal(
    await refusal(at("persistentvolumeclaims"), claim("c", "500Mi")),
    'persistentvolumeclaims "c" is forbidden: minimum storage usage per PersistentVolumeClaim is 1Gi, but request is 500Mi',
  );
});

test("a quota refuses what exceeds it, with exact quantities, and shows its usage", async () => {
  const at = await inNamespace("quota");
  const hard = { pods: "3", "requests.cpu": "1", "count/configmaps": "1", "requests.storage": "5Gi" };
  await server.post(at("resourcequotas"), { metadata: { name: "q" }, spec: { hard } });
  assert.equal(
    await refusal(at("pods"), pod("none")),
    'pods "none" is forbidden: failed quota: q: must specify requests.cpu for: c',
  );
  await server.post(at("pods"), pod("a", { requests: { cpu: "600m" } }));
  assert.equal(
    await refusal(at("pods"), pod("b", { requests: { cpu: "401m" } })),
    'pods "b" is forbidden: exceeded quota: q, requested: requests.cpu=401m, used: requests.cpu=600m, limited: requests.cpu=1',
  );
  await server.post(at("pods"), pod("c", { requests: { cpu: "400m" } }));
  assert.deepEqual((await server.body(at("resourcequotas/q")))["status"], {
    hard,
    used: { pods: "2", "requests.cpu": "1", "count/configmaps": "0", "requests.storage": "0" },
  });
  await server.post(at("persistentvolumeclaims"), claim("v", "2Gi"));
  assert.equal(
    await refusal(at("persistentvolumeclaims"), claim("w", "4Gi")),
    'persistentvolumeclaims "w" is forbidden: exceeded quota: q, requested: requests.storage=4Gi, used: requests.storage=2Gi, limited: requests.storage=5Gi',
  );
  await server.delete(at("pods/a"));
  await server.post(at("pods"), pod("d", { requests: { cpu: "600m" } }));
});

test("a burst of writes stays within a quota", async () => {
  const at = await inNamespace("quota-burst");
  const hard = { "count/configmaps": "7", configmaps: "7" };
  await server.post(at("resourcequotas"), { metadata: { name: "q" }, spec: { hard } });
  const codes = await Promise.all(
    Array.from({ length: 40 }, async (_, index) => {
      const body = { metadata: { name: `m${index}` } };
      return (await server.send(at("configmaps"), { method: "POST", body })).code;
    }),
  );
  assert.equal(codes.filter((code) => code === 201).length, 7);
  assert.equal(((await server.body(at("configmaps")))["items"] as JsonObject[]).length, 7);
  const dry = await server.send(`${at("configmaps")}?dryRun=All`, {
    method: "POST",
    body: { metadata: { name: "x" } },
  });
  assert.equal(dry.code, 403, "a dry run is checked too");
});

test("a deleted Pod that a finalizer keeps counts as an object only", async () => {
  const at = await inNamespace("kept-pod");
  await server.post(at("resourcequotas"), {
    metadata: { name: "q" },
    spec: { hard: { pods: "1", "count/pods": "9" } },
  });
  const used = async (): Promise<JsonObject> => objectAt(await server.body(at("resourcequotas/q")), ["status", "used"]);
  const kept = { ...pod("kept"), metadata: { name: "kept", finalizers: ["example.org/held"] } };
  await server.post(at("pods"), kept);
  assert.deepEqual(await used(), { "count/pods": "1", pods: "1" });
  await server.delete(at("pods/kept"));
  assert.deepEqual(await used(), { "count/pods": "1", pods: "0" });
  await server.post(at("pods"), pod("next"));
  assert.match(String(await refusal(at("pods"), pod("third"))), /exceeded quota: q, requested: pods=1, used: pods=1/);
  await server.patch(at("pods/kept"), { metadata: { finalizers: null } });
  assert.deepEqual(await used(), { "count/pods": "1", pods: "1" });
});

test("a quota counts the overhead of a runtime class, and refuses a resize and a deadline that exceed it", async () => {
  const at = await inNamespace("quota-changes");
  const handler = "h";
  await server.post("/apis/node.k8s.io/v1/runtimeclasses", {
    metadata: { name: "heavy" },
    ...{ handler, overhead: { podFixed: { cpu: "250m" } } },
  });
  await server.post(at("resourcequotas"), { metadata: { name: "q" }, spec: { hard: { "requests.cpu": "2" } } });
  await server.post(at("pods"), pod("a", { requests: { cpu: "1" } }, { runtimeClassName: "heavy" }));
  const { status } = (await server.body(at("resourcequotas/q"))) as { status: JsonObject };
  assert.deepEqual(status["used"], { "requests.cpu": "1250m" });
  const resize = (cpu: string): Promise<{ readonly code: number }> => {
    const body = { spec: { containers: [{ name: "c", resources: { requests: { cpu } } }] } };
    return server.send(at("pods/a/resize"), {
      method: "PATCH",
      body,
      headers: { "content-type": "application/strategic-merge-patch+json" },
    });
  };
  assert.equal((await resize("1800m")).code, 403);
  assert.equal((await resize("1750m")).code, 200);
  await server.post(at("resourcequotas"), {
    metadata: { name: "ending" },
    spec: { hard: { pods: "0" }, scopes: ["Terminating"] },
  });
  const patch = (spec: JsonObject): Promise<{ readonly code: number }> =>
    server.send(at("pods/a"), {
      method: "PATCH",
      body: { spec },
      headers: { "content-type": "application/merge-patch+json" },
    });
  assert.equal((await patch({ activeDeadlineSeconds: 5 })).code, 403);
  assert.equal((await patch({ terminationGracePeriodSeconds: 30 })).code, 200, "the scopes stay the same");
});

test("a quota counts the devices of claims by their class", async () => {
  const at = await inNamespace("quota-devices");
  const name = "gpu.deviceclass.resource.k8s.io/devices";
  await server.post(at("resourcequotas"), { metadata: { name: "q" }, spec: { hard: { [name]: "3" } } });
  const claims = "/apis/resource.k8s.io/v1/namespaces/quota-devices/resourceclaims";
  const claimOf = (called: string, count: number): JsonObject => ({
    metadata: { name: called },
    spec: { devices: { requests: [{ name: "r", exactly: { deviceClassName: "gpu", count } }] } },
  });
  await server.post(claims, claimOf("a", 2));
  assert.equal(
    await refusal(claims, claimOf("b", 2)),
    `resourceclaims.resource.k8s.io "b" is forbidden: exceeded quota: q, requested: ${name}=2, used: ${name}=2, limited: ${name}=3`,
  );
  const { status } = (await server.body(at("resourcequotas/q"))) as { status: JsonObject };
  assert.deepEqual(status["used"], { [name]: "2" });
});

test("a quota with scopes counts only the Pods in them", async () => {
  const at = await inNamespace("quota-scopes");
  const spec = { hard: { pods: "0" }, scopes: ["BestEffort"] };
  await server.post(at("resourcequotas"), { metadata: { name: "q" }, spec });
  await refusal(at("pods"), pod("best"));
  await server.post(at("pods"), pod("other", { requests: { cpu: "1m" } }));
});

test("a Pod has the priority of its class, or of the default class", async () => {
  const at = await inNamespace("priority");
  const classes = "/apis/scheduling.k8s.io/v1/priorityclasses";
  await server.post(classes, { metadata: { name: "high" }, value: 1000, preemptionPolicy: "Never" });
  const high = objectAt(await server.post(at("pods"), pod("high", {}, { priorityClassName: "high" })), ["spec"]);
  assert.deepEqual([high["priority"], high["preemptionPolicy"]], [1000, "Never"]);
  await server.post(classes, { metadata: { name: "usual" }, value: 7, globalDefault: true });
  const usual = objectAt(await server.post(at("pods"), pod("usual")), ["spec"]);
  assert.deepEqual([usual["priority"], usual["priorityClassName"]], [7, "usual"]);
  assert.equal(
    await refusal(classes, { metadata: { name: "second" }, value: 8, globalDefault: true }),
    'priorityclasses.scheduling.k8s.io "second" is forbidden: PriorityClass usual is already marked as default. Only one default can exist',
  );
  await server.delete(`${classes}/usual`);
});

test("a claim without a class gets the newest default class", async () => {
  const at = await inNamespace("storage");
  const annotations = { "storageclass.kubernetes.io/is-default-class": "true" };
  const classes = "/apis/storage.k8s.io/v1/storageclasses";
  await server.post(classes, { metadata: { name: "fast", annotations }, provisioner: "x" });
  const made = await server.post(at("persistentvolumeclaims"), claim("c", "1Gi"));
  assert.equal(objectAt(made, ["spec"])["storageClassName"], "fast");
});

test("a server without a plugin does what the plugin would refuse", async () => {
  const admissionPlugins = defaultPlugins.filter(
    (name) => !["ResourceQuota", "DefaultStorageClass", "ValidatingAdmissionWebhook"].includes(name),
  );
  await using other = await startTestServer({ admissionPlugins });
  const at = (resource: string): string => `/api/v1/namespaces/default/${resource}`;
  await other.post(at("resourcequotas"), { metadata: { name: "q" }, spec: { hard: { configmaps: "0" } } });
  const clientConfig = { url: "https://127.0.0.1:1/x" };
  const rules = [{ apiGroups: ["*"], apiVersions: ["*"], operations: ["*"], resources: ["*"] }];
  const webhook = { name: "a.b.c", clientConfig, rules, sideEffects: "None", admissionReviewVersions: ["v1"] };
  await other.post("/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations", {
    metadata: { name: "denies" },
    webhooks: [webhook],
  });
  await other.post(at("configmaps"), { metadata: { name: "beyond" } });
  const annotations = { "storageclass.kubernetes.io/is-default-class": "true" };
  const storageClass = { metadata: { name: "fast", annotations }, provisioner: "x" };
  await other.post("/apis/storage.k8s.io/v1/storageclasses", storageClass);
  const made = await other.post(at("persistentvolumeclaims"), claim("c", "1Gi"));
  assert.equal(objectAt(made, ["spec"])["storageClassName"], undefined);
});
