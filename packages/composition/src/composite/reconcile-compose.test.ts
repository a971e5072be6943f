// SPDX-License-Identifier: Apache-2.0
// How composed resources are written, on a real API server.

import assert from "node:assert/strict";
import { after, before, beforeEach, test } from "node:test";
import type { ControllerClient } from "@purlin/kube-controller";
import { forbidden, internalError, isNotFound } from "@purlin/kube-objects/errors";
import type { JsonObject } from "@purlin/kube-objects/json";
import type { KubeObject } from "@purlin/kube-objects/object";
import { type CompositeBench, configMap, createCompositeBench } from "../../test/composite-bench.ts";
import { cacheDefinition, definitionVersion } from "../../test/definitions.ts";
import { startTestCluster, type TestCluster } from "../../test/test-control.ts";
import { type ClientCall, type Intercept, intercepted, type ResponseWish, respond } from "../../test/test-doubles.ts";
import { annotations, kinds, labels } from "../composite-resource/constants.ts";
import { composedName, resourceRefsOf, withCrossplaneFields } from "../composite-resource/crossplane-fields.ts";
import { guardAnnotations } from "./guard/guard.ts";

const maps = { apiVersion: "v1", kind: "ConfigMap" };
const at = { namespace: "default" };
const map = (data: Record<string, string> = {}, metadata: JsonObject = {}): JsonObject =>
  configMap(data, { ...at, ...metadata });

let cluster: TestCluster;
let bench: CompositeBench;
let intercept: Intercept;
let calls: ClientCall[];
let number = 0;

before(async () => {
  cluster = await startTestCluster();
  const status = { type: "object", properties: { url: { type: "string", maxLength: 20 }, size: { type: "integer" } } };
  const schema = { type: "object", properties: { spec: { type: "object" }, status } };
  const versions = [definitionVersion("v1", { schema })];
  const xrd = await cluster.define(cacheDefinition("Cluster", { spec: { versions } }));
  const client = intercepted(cluster.client, (call) => {
    calls.push(call);
    return intercept(call);
  });
  bench = createCompositeBench(cluster, xrd, { client });
  // These tests are about deletes, also of everything: no empty state is held.
  await bench.compositionOf("c", ["f"], { annotations: { [guardAnnotations.holdEmpty]: "false" } });
});
after(() => cluster[Symbol.asyncDispose]());
beforeEach(() => {
  intercept = () => {};
  calls = [];
  bench.takeEvents();
});

const want = (wish: ResponseWish): void => bench.functions.set("f", wish);
const synced = async (name: string): Promise<string> => (await bench.condition(name, "Synced")).message ?? "";
const read = (name: string): Promise<KubeObject> => cluster.kube.get(maps, { ...at, name });
const refs = async (name: string): Promise<string[]> =>
  resourceRefsOf(await bench.read(name), "modern").map((ref) => ref.name ?? "");

async function xr(
  wish: ResponseWish,
  metadata: JsonObject = {},
): Promise<{ name: string; nameOf: (r: string) => string }> {
  want(wish);
  const name = `xr${number++}`;
  const { metadata: stored } = await bench.xr(name, { crossplane: { compositionRef: { name: "c" } } }, metadata);
  await bench.reconcile(name).catch(() => undefined);
  return { name, nameOf: (resource) => composedName(name, stored.uid ?? "", resource) };
}

test("a compose that fails is reported, and Ready stays as it was", async () => {
  const { name } = await xr({ resources: { a: map() }, ready: ["a"] });
  assert.equal((await bench.condition(name, "Ready")).status, "True");
  want({ resources: { a: map({}, { name: "BAD" }), b: map({}, { name: "WORSE" }) } });
  await assert.rejects(bench.reconcile(name));
  assert.match(await synced(name), /^cannot compose resources: cannot apply composed resource "b" because/);
  assert.equal((await bench.condition(name, "Ready")).status, "True");
});

test("warnings do not make an XR unready", async () => {
  const { name } = await xr({ results: [{ severity: 2, message: "careful" }] });
  assert.equal((await bench.condition(name, "Synced")).status, "True");
  assert.equal((await bench.condition(name, "Ready")).status, "True");
});

test("a reference without a name is skipped", async () => {
  const { name } = await xr({ resources: { a: map() } });
  const stored = await bench.read(name);
  const nameless = [
    { apiVersion: "v1", kind: "Secret" },
    ...resourceRefsOf(stored, "modern").map((ref) => ({ ...ref })),
  ];
  await cluster.kube.update(
    withCrossplaneFields(stored, "modern", { resourceRefs: nameless as unknown as JsonObject[] }),
  );
  await bench.reconcile(name);
  assert.equal(await synced(name), "");
  assert.equal((await refs(name)).length, 1);
});

test("what the cache does not have yet is read from the server, and not made twice", async () => {
  const { name, nameOf } = await xr({ resources: { a: map({ v: "1" }) } });
  const client: ControllerClient = {
    ...cluster.client,
    get: async (type, key, options) => (type.kind === "ConfigMap" ? undefined : cluster.client.get(type, key, options)),
  };
  const blind = createCompositeBench(
    cluster,
    await cluster.kube.get(kinds.definition, { name: bench.kind.definition }),
    { client },
  );
  let observed: string[] = [];
  blind.functions.set("f", (request) => {
    observed = [...(request.observed?.resources.keys() ?? [])];
    return respond(request, { resources: { a: map({ v: "1" }) } });
  });
  await blind.reconcile(name);
  assert.deepEqual([observed, await refs(name)], [["a"], [nameOf("a")]]);
});

test("what was deleted behind our back returns under the same name", async () => {
  const { name, nameOf } = await xr({ resources: { a: map() } });
  const before = await read(nameOf("a"));
  await cluster.kube.delete({ ...maps, ...at, name: nameOf("a") });
  await bench.seen(maps, { ...at, name: nameOf("a") });
  await bench.reconcile(name);
  assert.notEqual((await read(nameOf("a"))).metadata.uid, before.metadata.uid);
});

test("a resource that another owner controls is treated as absent", async () => {
  const { name, nameOf } = await xr({ resources: { a: map() } });
  const owner = { apiVersion: "v1", kind: "Other", name: "o", uid: "other", controller: true };
  await cluster.kube.patch(
    { ...maps, ...at, name: nameOf("a") },
    { metadata: { ownerReferences: [owner] } },
    { type: "merge" },
  );
  await bench.seen(maps, { ...at, name: nameOf("a") });
  let observed: number | undefined;
  bench.functions.set("f", (request) => {
    observed = request.observed?.resources.size;
    return respond(request);
  });
  await bench.reconcile(name);
  assert.equal(observed, 0);
  await read(nameOf("a"));
});

test("a composed resource without its annotation is an error", async () => {
  const { name, nameOf } = await xr({ resources: { a: map() } });
  const gone = { metadata: { annotations: { [annotations.resourceName]: null } } };
  await cluster.kube.patch({ ...maps, ...at, name: nameOf("a") }, gone, { type: "merge" });
  await bench.seen(maps, { ...at, name: nameOf("a") });
  await assert.rejects(bench.reconcile(name));
  assert.equal(
    await synced(name),
    `cannot compose resources: cannot get existing composed resources: encountered composed resource without required "crossplane.io/composition-resource-name" annotation (a ConfigMap named ${nameOf("a")}): annotate it with its name in the pipeline, or take it out of the resourceRefs`,
  );
});

test("a step's input that is not an object is reported with its step", async () => {
  const name = `c${number++}`;
  const revision = await bench.compositionOf(name, [
    { step: "s", functionRef: { name: "f" }, input: { apiVersion: "v1", kind: "I" } },
  ]);
  assert.ok(revision);
  want({});
  const xrName = `xr${number++}`;
  await bench.xr(xrName, { crossplane: { compositionRef: { name } } });
  await bench.reconcile(xrName);
  const last = bench.functions.calls.at(-1);
  assert.deepEqual(last?.request.input?.value, { apiVersion: "v1", kind: "I" });
});

test("a credential that is missing is reported with step and name, and its function is not called", async () => {
  const composition = `c${number++}`;
  const credentials = [{ name: "aws", source: "Secret", secretRef: { namespace: "default", name: "nope" } }];
  await bench.compositionOf(composition, [{ step: "s", functionRef: { name: "f" }, credentials }]);
  const name = `xr${number++}`;
  await bench.xr(name, { crossplane: { compositionRef: { name: composition } } });
  const before = bench.functions.calls.length;
  await assert.rejects(bench.reconcile(name));
  assert.equal(
    await synced(name),
    'cannot compose resources: cannot get Composition pipeline step "s" credential "aws" from Secret: secrets "nope" not found in namespace "default"',
  );
  assert.equal(bench.functions.calls.length, before);
});

test("a bootstrap requirement that cannot be fetched is reported with its name", async () => {
  const composition = `c${number++}`;
  const requirements = {
    requiredResources: [{ requirementName: "r", apiVersion: "x.example.org/v1", kind: "Nothing" }],
  };
  await bench.compositionOf(composition, [{ step: "s", functionRef: { name: "f" }, requirements }]);
  const name = `xr${number++}`;
  await bench.xr(name, { crossplane: { compositionRef: { name: composition } } });
  await assert.rejects(bench.reconcile(name));
  assert.equal(
    await synced(name),
    'cannot compose resources: pipeline step "s": cannot fetch bootstrap required resources for requirement "r": no matches for kind "Nothing" in version "x.example.org/v1": install the CRD that defines it, or correct the function',
  );
});

test("a resource that is no longer desired loses its labels and is deleted before its reference is removed", async () => {
  const { name, nameOf } = await xr({ resources: { a: map(), b: map() } });
  want({ nothingDesired: true });
  cluster.takeWrites();
  await bench.reconcile(name);
  const path = (resource: string): string => `/api/v1/namespaces/default/configmaps/${nameOf(resource)}`;
  const writes = cluster.takeWrites();
  for (const resource of ["a", "b"]) {
    assert.ok(writes.indexOf(`PUT ${path(resource)}`) < writes.indexOf(`DELETE ${path(resource)}`));
    assert.ok(writes.includes(`PUT ${path(resource)}`));
  }
  assert.ok(
    writes.findLastIndex((line) => line.startsWith("DELETE")) <
      writes.indexOf(`PATCH /apis/platform.example.org/v1/caches/${name}`),
  );
  assert.deepEqual(await refs(name), []);
});

test("it is deleted in the foreground, and stays until what depends on it is gone", async () => {
  const { name, nameOf } = await xr({ resources: { a: map() } });
  const { uid = "" } = (await read(nameOf("a"))).metadata;
  const ownerReferences = [{ ...maps, name: nameOf("a"), uid, blockOwnerDeletion: true }];
  const held = { ...at, name: `${name}-dependent`, ownerReferences, finalizers: ["example.org/hold"] };
  await cluster.kube.create({ ...maps, metadata: held });
  want({});
  await bench.reconcile(name);
  assert.deepEqual((await read(nameOf("a"))).metadata.finalizers, ["foregroundDeletion"]);
});

test("the uid is a precondition, so that a namesake is not deleted", async () => {
  const { name, nameOf } = await xr({ resources: { a: map() } });
  want({});
  const gone = nameOf("a");
  let remade: KubeObject | undefined;
  intercept = async ({ method, kind }) => {
    if (method !== "delete" || kind !== "ConfigMap" || remade) return;
    await cluster.kube.delete({ ...maps, ...at, name: gone });
    remade = await cluster.kube.create({ ...maps, metadata: { ...at, name: gone } });
  };
  await bench.reconcile(name).catch(() => undefined);
  assert.equal((await read(gone)).metadata.uid, remade?.metadata.uid);
});

test("what lost its controller is left alone", async () => {
  const { name, nameOf } = await xr({ resources: { a: map() } });
  await cluster.kube.patch(
    { ...maps, ...at, name: nameOf("a") },
    { metadata: { ownerReferences: null } },
    { type: "merge" },
  );
  await bench.seen(maps, { ...at, name: nameOf("a") });
  want({});
  await bench.reconcile(name);
  assert.equal((await read(nameOf("a"))).metadata.labels?.[labels.composite], name);
  assert.deepEqual(await refs(name), []);
});

for (const failing of ["update", "delete"] as const) {
  test(`when the ${failing} of garbage fails, references stay`, async () => {
    const { name, nameOf } = await xr({ resources: { a: map() } });
    want({});
    intercept = ({ method, kind }) => {
      if (method === failing && kind === "ConfigMap") throw internalError("boom");
    };
    await assert.rejects(bench.reconcile(name));
    const what = failing === "update" ? "cleanup composed resource labels of resource" : "delete composed resource";
    const text = `cannot compose resources: cannot garbage collect composed resources that are no longer desired: cannot ${what} "a" (a ConfigMap named ${nameOf("a")}): `;
    assert.ok((await synced(name)).startsWith(text), await synced(name));
    assert.deepEqual(await refs(name), [nameOf("a")]);
    intercept = () => {};
    await bench.reconcile(name);
    assert.deepEqual(await refs(name), []);
    await assert.rejects(read(nameOf("a")), isNotFound);
  });
}

test("garbage that is deleted meanwhile is ignored", async () => {
  const { name, nameOf } = await xr({ resources: { a: map() } });
  want({});
  let done = false;
  intercept = async ({ method, kind }) => {
    if (method !== "update" || kind !== "ConfigMap" || done) return;
    done = true;
    await cluster.kube.delete({ ...maps, ...at, name: nameOf("a") });
  };
  await bench.reconcile(name);
  assert.equal(await synced(name), "");
});

test("when references cannot be stored, nothing is applied", async () => {
  intercept = ({ method, kind, subresource }) => {
    if (method === "apply" && kind === "Cache" && subresource === "") throw internalError("boom");
  };
  const { name } = await xr({ resources: { a: map() } });
  assert.match(await synced(name), /^cannot compose resources: cannot update composed resource references: .*boom/);
  assert.deepEqual(
    calls.filter(({ method, kind }) => method === "apply" && kind === "ConfigMap"),
    [],
  );
});

test("an object once written by updates is taken over in three passes", async () => {
  const { name, nameOf } = await xr({ resources: { a: map({ keep: "1", drop: "1" }) } });
  const stored = await read(nameOf("a"));
  const plain = { ...stored, metadata: { ...stored.metadata, managedFields: [{}] }, data: { keep: "1", drop: "1" } };
  await cluster.kube.update(plain as KubeObject, { fieldManager: "legacy" });
  await bench.seen(maps, { ...at, name: nameOf("a") });
  const passes: number[] = [];
  for (let pass = 0; pass < 3; pass++) {
    calls = [];
    await bench.reconcile(name);
    passes.push(calls.filter(({ method }) => method === "patch").length);
  }
  assert.equal(passes[2], 0, String(passes));
  want({ resources: { a: map({ keep: "1" }) } });
  await bench.reconcile(name);
  assert.deepEqual((await read(nameOf("a")))["data"], { keep: "1" });
});

test("an invalid resource is reported, and the others are applied", async () => {
  const { name, nameOf } = await xr({
    resources: { a: map(), b: map({ "not a key": "x" }), c: map() },
    ready: ["a", "b", "c"],
  });
  assert.equal(await synced(name), "Unsynced resources: b");
  assert.equal((await bench.condition(name, "Ready")).status, "True");
  await read(nameOf("a"));
  await read(nameOf("c"));
  const events = bench.takeEvents().join("\n");
  assert.match(events, /Warning ComposeResources: cannot apply composed resource "b": /);
  assert.match(events, /Normal ComposeResources: Composed resource "b" is not yet valid/);
  await bench.reconcile(name);
  const repeated = bench.takeEvents().filter((text) => text.includes("is not yet"));
  assert.deepEqual(repeated, [], "what its conditions say already is not repeated in events");
});

test("a resource that is refused otherwise ends the pass, and later ones are not begun", async () => {
  const resources = Object.fromEntries(Array.from({ length: 30 }, (_, i) => [`r${10 + i}`, map()]));
  intercept = ({ method, kind, name }) => {
    if (method === "apply" && kind === "ConfigMap") throw forbidden({ group: "", resource: "configmaps" }, name, "no");
  };
  const { name } = await xr({ resources });
  assert.match(await synced(name), /cannot compose resources: cannot apply composed resource "r10": /);
  assert.ok(calls.filter(({ method, kind }) => method === "apply" && kind === "ConfigMap").length <= 8);
  assert.equal((await refs(name)).length, 30);
});

test("of two XRs that compose one object the first keeps it", async () => {
  const shared = `shared${number++}`;
  const wish = { resources: { b: map({ v: "1" }, { name: shared }) }, ready: ["b"] };
  const first = await xr(wish);
  const second = await xr(wish);
  assert.equal(await synced(first.name), "");
  assert.equal(await synced(second.name), "Unsynced resources: b");
  assert.equal((await bench.condition(second.name, "Ready")).status, "True");
  assert.equal((await read(shared)).metadata.ownerReferences?.length, 1);
  want({});
  await bench.reconcile(first.name);
  await bench.seen(maps, { ...at, name: shared });
  want(wish);
  await bench.reconcile(second.name);
  assert.equal(await synced(second.name), "", "it recovers by itself");
});

test("a kind that is not served is reported, and recovers when it is", async () => {
  const thing = { apiVersion: "late.example.org/v1", kind: "Late", metadata: { ...at, name: `late${number}` } };
  const { name } = await xr({ resources: { a: thing } });
  assert.match(
    await synced(name),
    /cannot apply composed resource "a": no matches for kind "Late" in version "late.example.org\/v1"/,
  );
  want({});
  await bench.reconcile(name);
  assert.deepEqual([await synced(name), await refs(name)], ["", []]);
});

test("a kind that changes under a name is made beside the old one", async () => {
  const { name, nameOf } = await xr({ resources: { a: map() } });
  want({ resources: { a: { apiVersion: "v1", kind: "Secret", metadata: { ...at } } } });
  await bench.reconcile(name);
  await cluster.kube.get({ apiVersion: "v1", kind: "Secret" }, { ...at, name: nameOf("a") });
  assert.deepEqual(
    resourceRefsOf(await bench.read(name), "modern").map(({ kind }) => kind),
    ["Secret"],
  );
  await read(nameOf("a"));
});

test("a foreign edit of an owned field is undone with one write", async () => {
  const { name, nameOf } = await xr({ resources: { a: map({ v: "1" }), b: map({ v: "1" }) }, ready: ["a", "b"] });
  await cluster.kube.patch({ ...maps, ...at, name: nameOf("a") }, { data: { v: "2" } }, { type: "merge" });
  await bench.seen(maps, { ...at, name: nameOf("a") });
  cluster.takeWrites();
  await bench.reconcile(name);
  assert.deepEqual(cluster.takeWrites(), [`PATCH /api/v1/namespaces/default/configmaps/${nameOf("a")}`]);
  assert.deepEqual((await read(nameOf("a")))["data"], { v: "1" });
});
