// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import {
  type FunctionHandler,
  nopLogger,
  type RunFunctionRequest,
  type RunFunctionResponse,
  request,
  response,
  start,
} from "@purlin/function-sdk";
import type { KubeClient } from "@purlin/kube-client";
import { leaseSpecOf, leaseType } from "@purlin/kube-controller";
import { eventually } from "@purlin/kube-controller/testing";
import type { KubeObject } from "@purlin/kube-objects/object";
import { Registry } from "prom-client";
import {
  app,
  appComposition,
  appDefinition,
  conditionStatus,
  type EmbeddedApi,
  functionAt,
  startEmbeddedApi,
} from "../test/embedded-api.ts";
import type { ControlPlaneOptions } from "./control-plane-options.ts";
import { leaderLeaseName, startControlPlane } from "./start-control-plane.ts";

const namespace = "default";
const configMap = { apiVersion: "v1", kind: "ConfigMap" };

/** Composes one ConfigMap with the App's text. */
let fnCalls = 0;
function composeText(req: RunFunctionRequest): RunFunctionResponse {
  fnCalls++;
  const rsp = response.to(req);
  const { resource: xr } = request.getObservedCompositeResource(req);
  const data = { text: xr.getString("spec.text") };
  response.setDesiredComposedResource(rsp, "map", { ...configMap, data }, { ready: true });
  return rsp;
}

async function serve(handler: FunctionHandler) {
  return start(handler, { address: "127.0.0.1:0", insecure: true, metricsAddress: "", log: nopLogger });
}

function optionsFor(api: EmbeddedApi, more: Partial<ControlPlaneOptions> = {}): ControlPlaneOptions {
  return {
    client: api.connect(),
    functions: { security: "plaintext" },
    settings: { developmentFunctions: true },
    ...more,
  };
}

async function applyAll({ users }: EmbeddedApi, objects: readonly KubeObject[]): Promise<void> {
  for (const object of objects) {
    await eventually(`${object.kind} is taken`, () => users.apply(object, { fieldManager: "test", force: true }));
  }
}

const appOf = (name: string, text: string): KubeObject => ({ ...app, metadata: { name, namespace }, spec: { text } });

const readyApp = (api: EmbeddedApi, name: string): Promise<KubeObject> =>
  eventually(`App ${name} is ready`, async () => {
    const found = await api.users.get(app, { namespace, name });
    return conditionStatus(found, "Ready") === "True" && conditionStatus(found, "Synced") === "True" && found;
  });

const mapOf = async ({ users }: EmbeddedApi, name: string): Promise<KubeObject | undefined> => {
  const { items } = await users.list(configMap, { namespace, labelSelector: `crossplane.io/composite=${name}` });
  return items[0];
};

test("from an empty API server to a composed resource, live changes, and nothing when nothing changes", async () => {
  await using api = await startEmbeddedApi();
  await using fn = await serve(composeText);
  const registry = new Registry();
  await using plane = startControlPlane(optionsFor(api, { registry }));
  await plane.ready;
  assert.equal(plane.state, "running");
  await applyAll(api, [functionAt(fn.address), appDefinition, appComposition, appOf("one", "hello")]);
  await readyApp(api, "one");
  assert.deepEqual((await mapOf(api, "one"))?.["data"], { text: "hello" });

  await applyAll(api, [appOf("one", "changed")]);
  await eventually(
    "the change arrives",
    async () =>
      (await mapOf(api, "one"))?.["data"] !== undefined &&
      JSON.stringify((await mapOf(api, "one"))?.["data"]).includes("changed"),
  );

  const map = await mapOf(api, "one");
  assert.ok(map);
  await api.users.update({ ...map, data: { text: "tampered" } });
  await eventually(
    "changes of other clients are reverted",
    async () => JSON.stringify((await mapOf(api, "one"))?.["data"]) === '{"text":"changed"}',
  );

  const events = await eventually("events are emitted", async () => {
    const { items } = await api.users.list({ apiVersion: "v1", kind: "Event" }, { namespace });
    return items.length > 0 && items;
  });
  const ofApp = events.filter((one) => (one["involvedObject"] as KubeObject).kind === "App");
  assert.ok(ofApp.length > 0);
  for (const event of ofApp) {
    assert.deepEqual(event["source"], { component: "defined/compositeresourcedefinition.apiextensions.crossplane.io" });
    assert.deepEqual(event.metadata.annotations, { controller: "composite/apps.example.org" });
  }
  const text = await registry.metrics();
  for (const name of [
    'engine_controllers_started_total{controller="composite/apps.example.org"} 1',
    "function_run_function_request_total{",
    "controller_runtime_reconcile_total{",
    "circuit_breaker_events_total{",
  ]) {
    assert.ok(text.includes(name), name);
  }

  await api.users.delete({ ...app, namespace, name: "one" });
  await eventually("the App and what it composed are gone", async () => {
    const { items } = await api.users.list(app, { namespace });
    return items.length === 0 && (await mapOf(api, "one")) === undefined;
  });
  await plane.stop();
  assert.equal(plane.state, "stopped");
  await plane.ended;
});

test("a forced look at Ready objects writes nothing, and a foreign edit costs exactly one write", async () => {
  await using api = await startEmbeddedApi();
  await using fn = await serve(composeText);
  await using plane = startControlPlane(optionsFor(api));
  const { engine } = await plane.ready;
  await applyAll(api, [functionAt(fn.address), appDefinition, appComposition]);
  const names = Array.from({ length: 100 }, (_, i) => `app-${i}`);
  await applyAll(
    api,
    names.map((name) => appOf(name, "x")),
  );
  for (const name of names) await readyApp(api, name);
  await untilQuiet(api);
  const before = api.writes.length;
  const calls = fnCalls;
  for (const name of names) engine.enqueue("composite/apps.example.org", { namespace, name });
  await eventually("each has been looked at", async () => fnCalls >= calls + names.length);
  await untilQuiet(api);
  assert.deepEqual(api.writes.slice(before), []);
  const map = await mapOf(api, "app-7");
  assert.ok(map);
  await api.users.update({ ...map, data: { text: "tampered" } });
  await eventually(
    "it is reverted",
    async () => JSON.stringify((await mapOf(api, "app-7"))?.["data"]) === '{"text":"x"}',
  );
  await untilQuiet(api);
  assert.deepEqual(api.writes.slice(before), [`PATCH /api/v1/namespaces/default/configmaps/${map.metadata.name}`]);
});

test("a restart of a settled control plane writes nothing", async () => {
  await using api = await startEmbeddedApi();
  await using fn = await serve(composeText);
  const first = startControlPlane(optionsFor(api));
  await first.ready;
  await applyAll(api, [functionAt(fn.address), appDefinition, appComposition, appOf("one", "x"), appOf("two", "y")]);
  for (const name of ["one", "two"]) await readyApp(api, name);
  await untilQuiet(api);
  await first.stop();
  const before = api.writes.length;
  const calls = fnCalls;
  await using second = startControlPlane(optionsFor(api));
  await second.ready;
  await eventually("both have been looked at", async () => fnCalls >= calls + 2);
  await untilQuiet(api);
  assert.deepEqual(api.writes.slice(before), []);
});

/** Until nothing was written for a while. */
function untilQuiet(api: EmbeddedApi): Promise<boolean> {
  return eventually("all is quiet", async () => {
    const before = api.writes.length;
    for (let i = 0; i < 20; i++) await new Promise((resolve) => setTimeout(resolve, 10));
    return api.writes.length === before;
  });
}

test("a function sees the schema of a CRD that has just been established, and a kind it requires when it appears", async () => {
  await using api = await startEmbeddedApi();
  const seen: string[] = [];
  await using fn = await serve((req) => {
    const rsp = response.to(req);
    response.requireSchema(rsp, "gadget", "late.example.org/v1", "Gadget");
    response.requireSchema(rsp, "map", "v1", "ConfigMap");
    const gadget = request.lookupRequiredSchema(req, "gadget");
    const map = request.lookupRequiredSchema(req, "map");
    if (gadget.state === "found" && map.state === "found") seen.push(JSON.stringify(gadget.schema));
    response.setDesiredCompositeStatus(rsp, { seen: `${gadget.state} ${map.state}` });
    return rsp;
  });
  await using plane = startControlPlane(optionsFor(api));
  const { engine } = await plane.ready;
  await applyAll(api, [functionAt(fn.address), appDefinition, appComposition, appOf("one", "x")]);
  const status = async (): Promise<unknown> =>
    ((await api.users.get(app, { namespace, name: "one" }))["status"] as { seen?: string } | undefined)?.seen;
  await eventually("the function has looked", async () => (await status()) !== undefined);
  const before = await status();
  await api.users.create(gadgetCrd);
  await eventually("the CRD is established", async () => {
    const crd = await api.users.get(gadgetCrd, { name: "gadgets.late.example.org" });
    return conditionStatus(crd, "Established") === "True";
  });
  engine.enqueue("composite/apps.example.org", { namespace, name: "one" });
  await eventually("the function sees the schema", async () => {
    engine.enqueue("composite/apps.example.org", { namespace, name: "one" });
    return seen.length > 0;
  });
  assert.ok(seen[0]?.includes("sprockets"), String(seen[0]));
  await eventually("its status names it", async () => (await status()) !== before);
});

test("two control planes: one works, and when it is killed the other takes over without touching anything", async () => {
  await using api = await startEmbeddedApi();
  await using fn = await serve(composeText);
  const timing = { leaseDurationMs: 6000, renewDeadlineMs: 5000, retryPeriodMs: 500 };
  const election = (identity: string) => ({ namespace: "default", identity, ...timing });
  const [first, second] = [api.connect(), api.connect()];
  await using one = startControlPlane(optionsFor(api, { client: first, election: election("one") }));
  await one.ready;
  await using two = startControlPlane(optionsFor(api, { client: second, election: election("two") }));
  await applyAll(api, [functionAt(fn.address), appDefinition, appComposition, appOf("a", "x")]);
  await readyApp(api, "a");
  assert.deepEqual([one.state, two.state], ["running", "waiting"]);
  const before = await mapOf(api, "a");
  // Killed: it can no longer reach the server, and gives nothing back.
  await first.close();
  await two.ready;
  assert.equal(two.state, "running");
  const lease = await api.users.get(leaseType, { namespace: "default", name: leaderLeaseName });
  assert.equal(leaseSpecOf(lease).holderIdentity, "two");
  await applyAll(api, [appOf("b", "y")]);
  await readyApp(api, "b");
  assert.deepEqual(await mapOf(api, "a"), before, "what was there is as it was");
});

test("a control plane that loses the Lease stops, and continues when it leads again", async () => {
  await using api = await startEmbeddedApi();
  await using fn = await serve(composeText);
  const election = { namespace: "default", identity: "one", renewDeadlineMs: 20_000, retryPeriodMs: 100 };
  const registry = new Registry();
  await using plane = startControlPlane(optionsFor(api, { election, registry }));
  await plane.ready;
  const lease = { namespace: "default", name: leaderLeaseName };
  const giveTo = async (holderIdentity: string): Promise<void> => {
    const held = await api.users.get(leaseType, lease);
    await api.users.update({ ...held, spec: { ...leaseSpecOf(held), holderIdentity } });
  };
  await eventually("the Lease is taken away", async () => giveTo("other").then(() => true));
  await eventually("it waits", async () => plane.state === "waiting");
  await applyAll(api, [functionAt(fn.address), appDefinition, appComposition]);
  await eventually("the Lease is free", async () => giveTo("").then(() => true));
  await eventually("it works again", async () => plane.state === "running");
  await applyAll(api, [appOf("one", "x")]);
  await readyApp(api, "one");
  const text = await registry.metrics();
  assert.match(text, /^engine_controllers_started_total\{controller="defined[^}]*\} 2$/m);
});

test("a control plane that cannot start says why; one that is stopped early is not a failure", async () => {
  await using api = await startEmbeddedApi();
  const client = api.connect();
  await client.close();
  const broken = startControlPlane({ client, functions: { security: "plaintext" } });
  await assert.rejects(broken.ready, /cannot install CustomResourceDefinition/);
  await assert.rejects(broken.ended, /cannot install CustomResourceDefinition/);
  await broken.stop();
  const early = startControlPlane(optionsFor(api));
  await early.stop();
  await early.ended;
  await assert.rejects(early.ready, /stopp/);
});

const gadgetCrd: KubeObject = {
  apiVersion: "apiextensions.k8s.io/v1",
  kind: "CustomResourceDefinition",
  metadata: { name: "gadgets.late.example.org" },
  spec: {
    group: "late.example.org",
    scope: "Namespaced",
    names: { plural: "gadgets", singular: "gadget", kind: "Gadget", listKind: "GadgetList" },
    versions: [
      {
        name: "v1",
        served: true,
        storage: true,
        schema: { openAPIV3Schema: { type: "object", properties: { sprockets: { type: "integer" } } } },
      },
    ],
  },
};

/** Lists of this kind are not answered until their signal aborts. */
function silentAbout(kind: string, client: KubeClient): { client: KubeClient; asked: Promise<void> } {
  const { promise: asked, resolve } = Promise.withResolvers<void>();
  const list: KubeClient["list"] = (type, options = {}) => {
    if (type.kind !== kind) return client.list(type, options);
    resolve();
    return new Promise((_, reject) => {
      options.signal?.addEventListener("abort", () => reject(options.signal?.reason), { once: true });
    });
  };
  return { client: { ...client, list }, asked };
}

for (const kind of ["CustomResourceDefinition", "Composition"]) {
  test(`one that waits for a server that does not answer about ${kind}s can be stopped`, async () => {
    await using api = await startEmbeddedApi();
    const { client, asked } = silentAbout(kind, api.connect());
    await using plane = startControlPlane(optionsFor(api, { client }));
    await asked;
    assert.equal(plane.state, "starting");
    await plane.stop();
    assert.equal(plane.state, "stopped");
    await assert.rejects(plane.ready, /stopped before it was ready/);
  });
}

test("what packages have opened is closed after the last reconcile, which may still be using it", async () => {
  await using api = await startEmbeddedApi();
  const order: string[] = [];
  const [begun, gate] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const spec = {
    name: "slow",
    async reconcile() {
      begun.resolve();
      await gate.promise;
      order.push("reconciled");
      return {};
    },
  };
  const packages: ControlPlaneOptions["packages"] = {
    open: async () => ({
      controllers: [{ spec, watches: [] }],
      async [Symbol.asyncDispose]() {
        order.push("closed");
      },
    }),
  };
  const plane = startControlPlane(optionsFor(api, { packages }));
  const { engine } = await plane.ready;
  engine.enqueue("slow", { name: "any" });
  await begun.promise;
  const stopped = plane.stop();
  await new Promise((resolve) => setImmediate(resolve));
  gate.resolve();
  await stopped;
  assert.deepEqual(order, ["reconciled", "closed"]);
});
