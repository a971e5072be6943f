// SPDX-License-Identifier: Apache-2.0
// The control plane on a real kube-apiserver: what the unit tests show on the embedded one holds there as well.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { after, before, test } from "node:test";
import { setTimeout as delay } from "node:timers/promises";
import { type ControlPlaneOptions, controlPlaneRules, leaderLeaseName, startControlPlane } from "@purlin/control-plane";
import {
  nopLogger,
  type RunFunctionRequest,
  type RunFunctionResponse,
  type RunningFunction,
  request,
  response,
  start,
} from "@purlin/function-sdk";
import {
  accessFromKubeconfig,
  createHttpsTransport,
  createInformerPool,
  createKubeClient,
  type KubeClient,
  type Kubeconfig,
  type KubeRequest,
} from "@purlin/kube-client";
import { crdType, createControllerClient, leaseSpecOf, leaseType } from "@purlin/kube-controller";
import type { JsonObject } from "@purlin/kube-objects/json";
import type { KubeObject } from "@purlin/kube-objects/object";
import { load } from "js-yaml";
import { Registry } from "prom-client";
import { type RealCluster, startRealCluster } from "../../tools/peers/real-cluster.ts";
import { eventually } from "../e2e/harness/plane.ts";
import { compositionOf, definitionOf } from "../e2e/harness/sample-kinds.ts";

const namespace = "default";
const configMap = { apiVersion: "v1", kind: "ConfigMap" };
const app = { apiVersion: "example.org/v1", kind: "App" };

let cluster: RealCluster;
let users: KubeClient;
/** One for all tests: a control plane that has not yet seen that the function moved would wait for it at the old address. */
let fn: RunningFunction;
before(async () => {
  fn = await start(compose, { address: "127.0.0.1:0", insecure: true, metricsAddress: "", log: nopLogger });
  cluster = await startRealCluster({ controllers: ["garbage-collector-controller", "namespace-controller"] });
  users = (await connect()).client;
  await eventually("the default namespace is there", () =>
    users.get({ apiVersion: "v1", kind: "Namespace" }, { name: namespace }),
  );
});
after(async () => {
  await users?.close();
  await cluster?.stop();
  await fn?.[Symbol.asyncDispose]();
});

interface Connection {
  readonly client: KubeClient;
  /** Its writes so far, as `METHOD path`. */
  readonly writes: string[];
  /** From now on nothing reaches the server. */
  cut(): void;
}

/** As the administrator, or as a user with fewer rights. */
async function connect(as?: string): Promise<Connection> {
  const file = cluster.kubeconfig;
  const config = load(readFileSync(file, "utf8")) as Kubeconfig;
  const users = config.users?.map(({ name, user }) => ({ name, user: { ...user, ...(as && { as }) } }));
  const access = await accessFromKubeconfig({ ...config, ...(users && { users }) }, { file, env: {} });
  const transport = createHttpsTransport(access, { userAgent: "crossplane" });
  const writes: string[] = [];
  let isCut = false;
  const client = createKubeClient({
    ...transport,
    stream: (sent) => (isCut ? Promise.reject(new Error("cut off")) : transport.stream(sent)),
    request(sent: KubeRequest) {
      if (isCut) return Promise.reject(new Error("cut off"));
      if (sent.method !== "GET") writes.push(`${sent.method} ${sent.path}`);
      return transport.request(sent);
    },
  });
  return {
    client,
    writes,
    cut: () => {
      isCut = true;
    },
  };
}

/** The sum of a metric over all controllers. */
async function metricOf(registry: Registry, name: string): Promise<number> {
  const values = (await registry.getSingleMetric(name)?.get())?.values ?? [];
  return values.reduce((sum, { value }) => sum + value, 0);
}

const deniedName = "denied";

function compose(req: RunFunctionRequest): RunFunctionResponse {
  const { resource: xr } = request.getObservedCompositeResource(req);
  return xr.getString("metadata.name") === deniedName ? composeIngress(req) : composeText(req);
}

function composeIngress(req: RunFunctionRequest): RunFunctionResponse {
  const rsp = response.to(req);
  const ingress = { apiVersion: "networking.k8s.io/v1", kind: "Ingress" };
  const spec = { defaultBackend: { service: { name: "shop", port: { number: 80 } } } };
  response.setDesiredComposedResource(rsp, "entry", { ...ingress, spec }, { ready: true });
  return rsp;
}

function composeText(req: RunFunctionRequest): RunFunctionResponse {
  const rsp = response.to(req);
  const { resource: xr } = request.getObservedCompositeResource(req);
  const data = { text: xr.getString("spec.text") };
  response.setDesiredComposedResource(rsp, "map", { ...configMap, data }, { ready: true });
  response.requireSchema(rsp, "gadget", "late.example.org/v1", "Gadget");
  const gadget = request.lookupRequiredSchema(req, "gadget");
  response.setDesiredCompositeStatus(rsp, { gadget: gadget.state });
  return rsp;
}

const planeOptions = (client: KubeClient, more: Partial<ControlPlaneOptions> = {}): ControlPlaneOptions => ({
  client,
  functions: { security: "plaintext" },
  settings: { developmentFunctions: true },
  ...more,
});

const applyAll = async (objects: readonly KubeObject[]): Promise<void> => {
  for (const object of objects) {
    await eventually(`${object.kind} is taken`, () => users.apply(object, { fieldManager: "test", force: true }));
  }
};

const appOf = (name: string, text: string): KubeObject => ({ ...app, metadata: { name, namespace }, spec: { text } });

function isTrue(object: KubeObject, type: string): boolean {
  const status = object["status"] as { conditions?: readonly { type: string; status: string }[] } | undefined;
  return status?.conditions?.some((one) => one.type === type && one.status === "True") ?? false;
}

async function readyApp(name: string): Promise<KubeObject> {
  let last: KubeObject | undefined;
  return eventually(
    `App ${name} is ready`,
    async () => {
      last = await users.get(app, { namespace, name });
      return isTrue(last, "Ready") && isTrue(last, "Synced") && last;
    },
    () => JSON.stringify(last?.["status"]),
  );
}

const mapOf = async (name: string): Promise<KubeObject | undefined> =>
  (await users.list(configMap, { namespace, labelSelector: `crossplane.io/composite=${name}` })).items[0];

test("definition, composition, composite resource; a forced look writes nothing; a foreign edit costs one write", async () => {
  const { client, writes } = await connect();
  const registry = new Registry();
  await using plane = startControlPlane(planeOptions(client, { registry }));
  const { engine } = await plane.ready;
  await applyAll([functionAt(fn.address), definition, composition, appOf("one", "hello")]);
  await readyApp("one");
  const look = async (): Promise<string[]> => {
    const [before, passes] = [writes.length, await metricOf(registry, "controller_runtime_reconcile_total")];
    engine.enqueue("composite/apps.example.org", { namespace, name: "one" });
    // As long as news of a write takes to arrive; however long a busy machine takes for what follows from it.
    await delay(500);
    await eventually("it was reconciled, and the controllers are idle", async () => {
      const isLookedAt = (await metricOf(registry, "controller_runtime_reconcile_total")) > passes;
      const atWork = ["controller_runtime_active_workers", "workqueue_depth"].map((name) => metricOf(registry, name));
      return isLookedAt && (await Promise.all(atWork)).every((count) => count === 0);
    });
    return writes.slice(before).filter((line) => !line.includes("/events"));
  };
  await eventually("all is quiet", async () => (await look()).length === 0);
  assert.deepEqual(await look(), []);
  const map = await mapOf("one");
  assert.ok(map);
  const before = writes.length;
  await users.update({ ...map, data: { text: "tampered" } });
  await eventually("it is reverted", async () => JSON.stringify((await mapOf("one"))?.["data"]) === '{"text":"hello"}');
  await eventually("all is quiet", async () => (await look()).length === 0);
  const own = writes.slice(before).filter((line) => !line.includes("/events"));
  assert.deepEqual(own, [`PATCH /api/v1/namespaces/${namespace}/configmaps/${map.metadata.name}`]);
  await client.close();
});

test("a function sees the schema of a kind that was established a moment ago", async () => {
  const { client } = await connect();
  await using plane = startControlPlane(planeOptions(client));
  const { engine } = await plane.ready;
  await applyAll([functionAt(fn.address), definition, composition, appOf("two", "x")]);
  const seen = async (): Promise<string | undefined> =>
    ((await users.get(app, { namespace, name: "two" }))["status"] as { gadget?: string } | undefined)?.gadget;
  await eventually("there is no such kind", async () => (await seen()) === "absent");
  await users.create(gadgetCrd);
  await eventually("it is established", async () =>
    isTrue(await users.get(gadgetCrd, { name: "gadgets.late.example.org" }), "Established"),
  );
  await delay(1000);
  engine.enqueue("composite/apps.example.org", { namespace, name: "two" });
  await eventually("its schema is seen, at the first look", async () => (await seen()) === "found");
  await client.close();
});

test("two replicas: the leader is cut off, the other takes over, nothing that was made changes", async () => {
  const timing = { leaseDurationMs: 12_000, renewDeadlineMs: 9_000, retryPeriodMs: 1000 };
  const election = (identity: string) => ({ namespace, identity, ...timing });
  const [first, second] = [await connect(), await connect()];
  await using one = startControlPlane(planeOptions(first.client, { election: election("one") }));
  await one.ready;
  await using two = startControlPlane(planeOptions(second.client, { election: election("two") }));
  await applyAll([functionAt(fn.address), definition, composition, appOf("three", "x")]);
  await readyApp("three");
  const before = await mapOf("three");
  assert.deepEqual([one.state, two.state, second.writes], ["running", "waiting", []]);
  first.cut();
  await two.ready;
  const lease = await users.get(leaseType, { namespace, name: leaderLeaseName });
  assert.equal(leaseSpecOf(lease).holderIdentity, "two");
  await applyAll([appOf("four", "y")]);
  await readyApp("four");
  assert.deepEqual(await mapOf("three"), before);
  await first.client.close();
  await second.client.close();
});

test("lack-of-rights: a kind that the control plane may not manage is named with the verbs it lacks, and works once granted", async () => {
  await grant("robot-core", controlPlaneRules);
  await grant("robot-kinds", [allOf("example.org", "late.example.org")]);
  const { client } = await connect("robot");
  await eventually("the server has seen its rights", () => client.list(crdType));
  await using plane = startControlPlane(planeOptions(client));
  await plane.ready;
  await applyAll([functionAt(fn.address), definition, composition, appOf(deniedName, "x")]);
  const denied = await eventually("it says so", async () => {
    const found = await users.get(app, { namespace, name: deniedName });
    return syncedText(found).includes("is not allowed") && found;
  });
  const verbs = "[get, list, watch, create, update, patch, delete]";
  const diagnosis = `robot is not allowed to ${verbs} resource ingresses.networking.k8s.io/v1 in namespace ${namespace}`;
  const text = syncedText(denied);
  assert.ok(text.startsWith('[cannot compose resources: cannot apply composed resource "entry": '), text);
  assert.ok(text.endsWith(`, ${diagnosis}]`), text);
  await eventually("the event says the same", async () => {
    const { items } = await users.list({ apiVersion: "v1", kind: "Event" }, { namespace });
    return items.some((event) => event["reason"] === "RoleBasedAccessControl" && event["message"] === diagnosis);
  });
  await grant("robot-network", [allOf("networking.k8s.io")]);
  await readyApp(deniedName);
  await client.close();
});

const allOf = (...apiGroups: readonly string[]): JsonObject => ({ apiGroups, resources: ["*"], verbs: ["*"] });

async function grant(name: string, rules: readonly JsonObject[]): Promise<void> {
  const rbac = "rbac.authorization.k8s.io";
  const roleRef = { apiGroup: rbac, kind: "ClusterRole", name };
  const subjects = [{ apiGroup: rbac, kind: "User", name: "robot" }];
  await applyAll([
    { apiVersion: `${rbac}/v1`, kind: "ClusterRole", metadata: { name }, rules },
    { apiVersion: `${rbac}/v1`, kind: "ClusterRoleBinding", metadata: { name }, roleRef, subjects },
  ]);
}

function syncedText(object: KubeObject): string {
  const { conditions = [] } = (object["status"] ?? {}) as { conditions?: { type: string; message?: string }[] };
  return conditions.find(({ type }) => type === "Synced")?.message ?? "";
}

test("what the server writes in its own way is applied once", async () => {
  const { client: kube, writes } = await connect();
  const informers = createInformerPool(kube);
  const client = createControllerClient({ client: kube, informers });
  const labels = { app: "x" };
  const container = {
    name: "main",
    image: "main:1",
    ports: [{ containerPort: 80 }, { containerPort: 81, protocol: "UDP" }],
    resources: { limits: { cpu: "1000m", memory: "0.5Gi" } },
  };
  const deployment = {
    apiVersion: "apps/v1",
    kind: "Deployment",
    metadata: { name: "canonical", namespace },
    spec: {
      replicas: 0,
      selector: { matchLabels: labels },
      template: { metadata: { labels }, spec: { containers: [container] } },
    },
  };
  const ours = { fieldManager: "us", force: true } as const;
  assert.equal((await client.applyIfChanged(deployment, ours)).sent, true);
  for (let i = 0; i < 3; i++) assert.equal((await client.applyIfChanged(deployment, ours)).sent, false);
  const plain = structuredClone(deployment);
  plain.metadata.name = "plain";
  plain.spec.template.spec.containers[0] = { ...container, resources: { limits: { cpu: "1", memory: "512Mi" } } };
  assert.equal((await client.applyIfChanged(plain, ours)).sent, true);
  const stored = await users.get(plain, { namespace, name: "plain" });
  await users.update({ ...stored, metadata: { ...stored.metadata, annotations: { by: "others" } } });
  await eventually("the edit is seen", async () =>
    Boolean((await client.get(plain, { namespace, name: "plain" }))?.metadata.annotations?.["by"]),
  );
  assert.equal(
    (await client.applyIfChanged(plain, ours)).sent,
    false,
    "defaults and foreign fields do not count as a change",
  );
  assert.equal(writes.length, 2);
  await client.close();
  await informers.stop();
  await kube.close();
});

function functionAt(address: string): KubeObject {
  const annotations = {
    "render.crossplane.io/runtime": "Development",
    "render.crossplane.io/runtime-development-target": address,
  };
  return {
    apiVersion: "pkg.crossplane.io/v1",
    kind: "Function",
    metadata: { name: "fn", annotations },
    spec: { package: "example.org/fn:v1" },
  };
}

const definition = definitionOf({
  group: "example.org",
  kind: "App",
  scope: "Namespaced",
  spec: { text: { type: "string" } },
  status: { gadget: { type: "string" } },
});
const composition = compositionOf("apps", app, "fn");

const gadgetCrd: KubeObject = {
  apiVersion: "apiextensions.k8s.io/v1",
  kind: "CustomResourceDefinition",
  metadata: { name: "gadgets.late.example.org" },
  spec: {
    group: "late.example.org",
    scope: "Namespaced",
    names: { plural: "gadgets", singular: "gadget", kind: "Gadget", listKind: "GadgetList" },
    versions: [{ name: "v1", served: true, storage: true, schema: { openAPIV3Schema: { type: "object" } } }],
  },
};
