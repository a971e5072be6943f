// SPDX-License-Identifier: Apache-2.0
// What holds for all causes: order, evidence, budgets, and no cause where there is none.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import type { KubeReader } from "@purlin/kube-client";
import { forbidden } from "@purlin/kube-objects/errors";
import type { JsonObject } from "@purlin/kube-objects/json";
import { type KubeObject, keyText } from "@purlin/kube-objects/object";
import {
  app,
  creating,
  failed,
  ready,
  type StaticCluster,
  startStaticCluster,
  stored,
  withStatus,
} from "../test/platform.ts";
import { explainAll, explainObject } from "./explain.ts";
import { causeTable } from "./model/cause-table.ts";
import type { Explanation } from "./model/explanation.ts";
import { explanationText, groupByCause, groupText } from "./print-explanation.ts";

let cluster: StaticCluster;
before(async () => {
  cluster = await startStaticCluster();
});
after(() => cluster[Symbol.asyncDispose]());

async function explain(object: KubeObject, now = Date.now): Promise<Explanation> {
  await cluster.put(object);
  return explainObject(await stored(cluster, object), { client: cluster.client, now });
}

const soon = (): number => Date.now() + 600_000;
const bucket = (name: string): KubeObject => ({
  apiVersion: "example.org/v1",
  kind: "Bucket",
  metadata: { name, namespace: "default", annotations: { "crossplane.io/composition-resource-name": name } },
  spec: { forProvider: {} },
});
const composing = (name: string, ...names: readonly string[]): KubeObject =>
  app(name, {
    crossplane: { resourceRefs: names.map((child) => ({ apiVersion: "example.org/v1", kind: "Bucket", name: child })) },
  });

test("two independent causes are both shown, always in the same order", async () => {
  const error = (name: string): KubeObject => withStatus(bucket(name), [failed(`create failed: ${name}`)]);
  await cluster.put(error("second"), error("first"));
  const both = withStatus(composing("two", "second", "first"), creating("Unready resources: first and second"));
  const { causes, ...rest } = await explain(both, soon);
  assert.deepEqual(
    causes.map(({ code, object }) => `${code} ${object.name}`),
    ["E49 first", "E49 second"],
  );
  const text = explanationText({ causes, ...rest });
  assert.match(
    text,
    /^Cause: {4}E49 EXTERNAL_ERROR: Bucket default\/first: create failed: first\nEffect: {3}App default\/two ← resource "first" ← Bucket default\/first\n/,
  );
  assert.match(text, /\nAlso: {5}E49 Bucket default\/second: create failed: second\n/);
});

test("the failed step comes before the resources that wait for it", async () => {
  await cluster.put(withStatus(bucket("below"), [failed("create failed: below")]));
  const text = 'cannot compose resources: pipeline step "render" returned a fatal result: no port';
  const { causes } = await explain(withStatus(composing("step-first", "below"), [failed(text)]), soon);
  assert.deepEqual(
    causes.map(({ code }) => code),
    ["E29", "E49"],
  );
});

test("a nested XR explains its parent, with the whole chain", async () => {
  const inner = withStatus(composing("inner", "leaf"), creating("Unready resources: leaf"));
  await cluster.put(withStatus(bucket("leaf"), [failed("quota of the account")]), inner);
  const outer = app("outer", {
    crossplane: { resourceRefs: [{ apiVersion: "example.org/v1", kind: "App", name: "inner" }] },
  });
  const { causes } = await explain(withStatus(outer, creating("Unready resources: inner")), soon);
  assert.deepEqual(causes[0]?.effects, [
    "App default/outer",
    "App default/inner",
    'resource "leaf"',
    "Bucket default/leaf",
  ]);
});

test("composite resources that compose each other end", async () => {
  const loop = (name: string, other: string): KubeObject =>
    withStatus(
      app(name, { crossplane: { resourceRefs: [{ apiVersion: "example.org/v1", kind: "App", name: other }] } }),
      creating(),
    );
  await cluster.put(loop("loop-b", "loop-a"));
  assert.equal((await explain(loop("loop-a", "loop-b"))).verdict, "waiting");
});

test("an older generation is waiting while a function runs", async () => {
  const running = {
    type: "Synced",
    status: "Unknown",
    reason: "WaitingForFunction",
    message: 'waiting for Function "fn" in pipeline step "render" since then',
    observedGeneration: 0,
  } as const;
  const { causes } = await explain(withStatus(app("running"), [running]), soon);
  assert.deepEqual(causes, []);
});

test("an event that is older than the condition is ignored", async () => {
  const object = withStatus(app("events"), [failed("Unsynced resources: web")]);
  await cluster.put(object);
  const { metadata } = await stored(cluster, object);
  const event = (name: string, lastTimestamp: string, message: string): KubeObject => ({
    apiVersion: "v1",
    kind: "Event",
    metadata: { name, namespace: "default" },
    involvedObject: {
      apiVersion: "example.org/v1",
      kind: "App",
      name: "events",
      namespace: "default",
      uid: metadata.uid ?? "",
    },
    type: "Warning",
    reason: "ComposeResources",
    message: `cannot apply composed resource "web": Deployment.apps "web" is invalid: ${message}`,
    lastTimestamp,
  });
  await cluster.put(event("old", "2020-01-01T00:00:00Z", "spec.paused: Invalid value: 1"));
  assert.match((await explain(object)).causes[0]?.sentence ?? "", /no event with the details was found/);
  await cluster.put(
    event(
      "new",
      new Date(Date.now() + 2000).toISOString().replace(/\.\d+Z/, "Z"),
      'spec.replicas: Invalid value: "3": must be integer',
    ),
  );
  const { causes } = await explain(object);
  assert.deepEqual([causes[0]?.code, causes[0]?.path], ["E36", "spec.replicas"]);
});

test("a withheld resource leads to the one that it waits for", async () => {
  await cluster.put(withStatus(bucket("db"), [failed("no such subnet")]));
  const object = withStatus(composing("sequenced", "db"), creating("Unready resources: db"));
  await cluster.put(object);
  const { metadata } = await stored(cluster, object);
  await cluster.put({
    apiVersion: "v1",
    kind: "Event",
    metadata: { name: "sequencer", namespace: "default" },
    involvedObject: {
      apiVersion: "example.org/v1",
      kind: "App",
      name: "sequenced",
      namespace: "default",
      uid: metadata.uid ?? "",
    },
    type: "Normal",
    reason: "ComposeResources",
    message:
      'Pipeline step "sequence": Delaying creation of resource(s) matching "cache" because "db" does not exist yet',
    lastTimestamp: new Date(Date.now() + 2000).toISOString().replace(/\.\d+Z/, "Z"),
  });
  const explanation = await explain(object, soon);
  assert.deepEqual(
    explanation.causes.map(({ code }) => code),
    ["E49"],
    explanationText(explanation),
  );
  await cluster.put(withStatus(bucket("db"), creating()));
  assert.equal((await explain(object, soon)).causes[0]?.code, "E52");
});

test("a pinned composite resource is healthy, with a note", async () => {
  const revisionOf = (number: number): KubeObject => ({
    apiVersion: "apiextensions.crossplane.io/v1",
    kind: "CompositionRevision",
    metadata: { name: `pins-${number}`, labels: { "crossplane.io/composition-name": "pins" } },
    spec: {
      revision: number,
      compositeTypeRef: { apiVersion: "example.org/v1", kind: "App" },
      mode: "Pipeline",
      pipeline: [{ step: "s", functionRef: { name: "fn" } }],
    },
  });
  await cluster.put(revisionOf(1), revisionOf(2));
  const pinned = app("pinned", {
    crossplane: {
      compositionUpdatePolicy: "Manual",
      compositionRef: { name: "pins" },
      compositionRevisionRef: { name: "pins-1" },
    },
  });
  const explanation = await explain(withStatus(pinned, ready));
  assert.equal(explanation.verdict, "healthy");
  assert.match(
    explanationText(explanation),
    /Pinned to revision 1 of 2 of Composition pins: it does not get later changes; set compositionUpdatePolicy: Automatic, .* \(E05\)/,
  );
});

test("an inactive kind of a provider is not reported as a missing one", async () => {
  await cluster.put({
    apiVersion: "apiextensions.crossplane.io/v1alpha1",
    kind: "ManagedResourceDefinition",
    metadata: { name: "topics.sns.example.org" },
    spec: {
      group: "sns.example.org",
      scope: "Namespaced",
      names: { kind: "Topic", plural: "topics" },
      versions: [{ name: "v1", served: true, storage: true, schema: { openAPIV3Schema: { type: "object" } } }],
      state: "Inactive",
    },
  });
  const text =
    'cannot compose resources: cannot apply composed resource "t": no matches for kind "Topic" in version "sns.example.org/v1"';
  const { causes } = await explain(withStatus(app("topic"), [failed(text)]));
  assert.match(causes[0]?.sentence ?? "", /ManagedResourceDefinition topics\.sns\.example\.org is inactive/);
});

test("what may not be read is one line, and the cause is still found", async () => {
  const client: Pick<KubeReader, "get" | "list"> = {
    get: (type, key, options) => cluster.client.get(type, key, options),
    list: async (type, options) => {
      if (type.kind === "CustomResourceDefinition")
        throw forbidden({ group: "apiextensions.k8s.io", resource: "customresourcedefinitions" }, "", "no");
      return cluster.client.list(type, options);
    },
  };
  const object = withStatus(composing("blind", "first"), creating("Unready resources: first"));
  await cluster.put(withStatus(bucket("first"), [failed("create failed")]), object);
  const { causes, notRead } = await explainObject(await stored(cluster, object), { client, now: soon });
  assert.equal(causes[0]?.code, "E49");
  assert.deepEqual(notRead, ["CustomResourceDefinition objects: forbidden"]);
});

test("Pods that may not be read are one line, and the function that does not run is still the cause", async () => {
  const name = "fn-unread";
  const type = { apiVersion: "pkg.crossplane.io/v1" };
  const labels = { "pkg.crossplane.io/package": name };
  const unavailable = { type: "RuntimeHealthy", status: "False" as const, reason: "UnhealthyPackageRevision" };
  const message = "function package deployment is unavailable with message: no Pod is available";
  const revision = {
    ...{ ...type, kind: "FunctionRevision", metadata: { name: `${name}-1`, labels } },
    spec: { desiredState: "Active", image: "registry.example.org/fn:v1", revision: 1 },
  };
  const fn = { ...type, kind: "Function", metadata: { name }, spec: { package: "registry.example.org/fn:v1" } };
  const unhealthy = { type: "Healthy", status: "False" as const, reason: "UnhealthyPackageRevision" };
  await cluster.put(
    withStatus(revision, [condition("RevisionHealthy", "HealthyPackageRevision"), { ...unavailable, message }]),
    withStatus(fn, [condition("Installed", "ActivePackageRevision"), unhealthy], { currentRevision: `${name}-1` }),
  );
  const client: Pick<KubeReader, "get" | "list"> = {
    get: (one, key, options) => cluster.client.get(one, key, options),
    list: async (one, options) => {
      if (one.kind === "Pod") throw forbidden({ group: "", resource: "pods" }, "", "no");
      return cluster.client.list(one, options);
    },
  };
  const { causes, notRead } = await explainObject(await stored(cluster, fn), { client, now: soon });
  assert.deepEqual([causes[0]?.code, causes[0]?.object.name], ["E15", `${name}-1`]);
  assert.deepEqual(notRead, ["Pod objects: forbidden"]);
});

test("reads stop at the limit of requests, and say so", async () => {
  const names = Array.from({ length: 30 }, (_, index) => `many-${index}`);
  const object = withStatus(composing("many", ...names), creating());
  await cluster.put(object);
  const { notRead } = await explainObject(await stored(cluster, object), {
    client: cluster.client,
    budget: { requests: 10 },
  });
  assert.ok(notRead.includes("Bucket objects: the limit of 10 requests is reached"), notRead.join());
});

/** Explains this many composite resources that fail for one reason. Resolves to the groups, and to the requests that were sent. */
async function explainMany(length: number): Promise<{ groups: ReturnType<typeof groupByCause>; sent: string[] }> {
  const items = Array.from({ length }, (_, index) => ({
    ...withStatus(app(`x${index}`), [
      failed(
        'cannot compose resources: cannot run Composition pipeline step "s": cannot get gRPC client connection for Function "fn-x": cannot find an active FunctionRevision (a FunctionRevision with spec.desiredState: Active)',
      ),
    ]),
  }));
  const sent: string[] = [];
  const client: Pick<KubeReader, "get" | "list"> = {
    get(type, key, options) {
      sent.push(`get ${type.kind} ${keyText(key)}`);
      return cluster.client.get(type, key, options);
    },
    async list(type, options) {
      sent.push(`list ${type.kind}`);
      return type.kind === "App" ? { items, resourceVersion: "1" } : cluster.client.list(type, options);
    },
  };
  const { explanations } = await explainAll({ client });
  return { groups: groupByCause(explanations.filter(({ object }) => object.kind === "App")), sent: sent.sort() };
}

test("a thousand composite resources with one cause are one group, for the requests of ten", async () => {
  const { groups, sent } = await explainMany(1000);
  assert.deepEqual(sent, (await explainMany(10)).sent);
  assert.deepEqual(sent, [...new Set(sent)], "nothing is read twice");
  assert.deepEqual(
    groups.map(({ code, objects }) => [code, objects.length]),
    [["E11", 1000]],
  );
  assert.match(
    groups.map(groupText).join(),
    /^1000 objects \(App default\/x0, .* and 997 more\): E11 FUNCTION_NOT_INSTALLED: Step "s" uses Function fn-x/,
  );
});

test("fifty healthy objects have no cause", async () => {
  const specs: readonly JsonObject[] = [
    {},
    { text: "a" },
    { crossplane: { compositionRef: { name: "c" } } },
    { crossplane: { resourceRefs: [] } },
    { crossplane: { compositionUpdatePolicy: "Automatic" } },
  ];
  const more = [
    [],
    [{ type: "Responsive", status: "True", reason: "WatchCircuitClosed" }],
    [{ type: "DatabaseReady", status: "True", reason: "Fine" }],
    [{ type: "Held", status: "False", reason: "None" }],
  ] as const;
  const annotations = [{}, { "crossplane.io/paused": "false" }, { "crossplane.io/poll-interval": "1m" }];
  let checked = 0;
  for (const [index, spec] of specs.entries()) {
    for (const [place, conditions] of more.entries()) {
      for (const [number, notes] of annotations.entries()) {
        const object = withStatus(app(`fine-${index}-${place}-${number}`, spec, { annotations: notes }), [
          ...ready,
          ...conditions,
        ]);
        const { verdict, causes } = await explain(object, soon);
        assert.deepEqual([verdict, causes], ["healthy", []], object.metadata.name ?? "");
        checked += 1;
      }
    }
  }
  assert.ok(checked >= 50);
});

const condition = (type: string, reason: string) => ({ type, status: "True" as const, reason });

test("healthy claims, composite resources of claims and packages have no cause", async () => {
  const bound = (index: number): KubeObject[] => [
    withStatus(
      {
        apiVersion: "example.org/v1",
        kind: "XShop",
        metadata: { name: `web-${index}-x`, labels: { "crossplane.io/claim-name": `web-${index}` } },
        spec: { claimRef: { apiVersion: "example.org/v1", kind: "Shop", name: `web-${index}`, namespace: "default" } },
      },
      ready,
    ),
    withStatus(
      {
        apiVersion: "example.org/v1",
        kind: "Shop",
        metadata: { name: `web-${index}`, namespace: "default" },
        spec: { resourceRef: { apiVersion: "example.org/v1", kind: "XShop", name: `web-${index}-x` } },
      },
      ready,
    ),
  ];
  const installed = (kind: string): KubeObject[] => [
    withStatus(
      {
        apiVersion: "pkg.crossplane.io/v1",
        kind: `${kind}Revision`,
        metadata: {
          name: `fine-${kind.toLowerCase()}-1`,
          labels: { "pkg.crossplane.io/package": `fine-${kind.toLowerCase()}` },
        },
        spec: { desiredState: "Active", image: "registry.example.org/fine:v1", revision: 1 },
      },
      [condition("RevisionHealthy", "HealthyPackageRevision"), condition("RuntimeHealthy", "HealthyPackageRevision")],
    ),
    withStatus(
      {
        apiVersion: "pkg.crossplane.io/v1",
        kind,
        metadata: { name: `fine-${kind.toLowerCase()}` },
        spec: { package: "registry.example.org/fine:v1" },
      },
      [condition("Installed", "ActivePackageRevision"), condition("Healthy", "HealthyPackageRevision")],
      { currentRevision: `fine-${kind.toLowerCase()}-1` },
    ),
  ];
  const objects = [...[1, 2, 3].flatMap(bound), ...["Function", "Provider", "Configuration"].flatMap(installed)];
  for (const object of objects) {
    const { verdict, causes } = await explain(object, soon);
    assert.deepEqual([verdict, causes], ["healthy", []], `${object.kind} ${object.metadata.name ?? ""}`);
  }
});

test("there are 68 causes, each with a text of its own", () => {
  const docs = Object.values(causeTable);
  assert.equal(docs.length, 68);
  assert.equal(new Set(docs.map(({ name }) => name)).size, 68);
  assert.equal(new Set(docs.map(({ summary }) => summary)).size, 68);
});

test("an Operation in a namespaced composite resource belongs into one of the cluster", async () => {
  const message =
    'cannot compose resources: cannot apply cluster scoped composed resource "rotate" (an Operation named rotate) for a namespaced composite resource.';
  const synced = { type: "Synced", status: "False" as const, reason: "ReconcileError", message };
  const { causes } = await explain(withStatus(app("operating"), [synced]), soon);
  assert.equal(causes[0]?.code, "E43");
  assert.deepEqual(causes[0]?.next, ["compose it by a composite resource whose XRD has the scope Cluster"]);
});

test("a held composite resource is approved with the hash of its condition", async () => {
  const held = (message: string) => ({ type: "Held", status: "True" as const, reason: "TooManyDeletes", message });
  const message = "Nothing is applied: annotate it with purlin.dev/approve-plan=0a1b to apply plan 0a1b";
  const { causes } = await explain(withStatus(app("approvable"), [...ready, held(message)]), soon);
  assert.deepEqual(causes[0]?.next, [
    "kubectl annotate --overwrite app.example.org/approvable -n default purlin.dev/approve-plan=0a1b",
  ]);
  const broken = await explain(withStatus(app("unapprovable"), [...ready, held("a move cannot be done")]), soon);
  assert.deepEqual(broken.causes[0]?.next, ["correct what the condition Held names"]);
});
