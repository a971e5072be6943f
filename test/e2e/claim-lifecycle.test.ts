// SPDX-License-Identifier: Apache-2.0
// A claim from its first apply to its end: connection details, edits, things that are deleted behind its back, things that
// are wrong for a while, and both ways to go.
import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import { after, before, test } from "node:test";
import { type RunFunctionRequest, type RunFunctionResponse, request, response } from "@purlin/function-sdk";
import type { KubeObject } from "@purlin/kube-objects/object";
import { conditionOf, eventually, type Plane, startPlane } from "./harness/plane.ts";
import { rendersAsApplied } from "./harness/rendered.ts";
import { definitionOf, namespaceOf } from "./harness/sample-kinds.ts";

const group = "data.example.org";
const claimType = { apiVersion: `${group}/v1`, kind: "Database" };
const xrType = { apiVersion: `${group}/v1`, kind: "XDatabase" };
const configMap = { apiVersion: "v1", kind: "ConfigMap" };
const secretType = { apiVersion: "v1", kind: "Secret" };
const namespace = "shop";

/** Composes a ConfigMap for each size, something of another kind when asked to, and gives two connection details. */
function makeDatabase(req: RunFunctionRequest): RunFunctionResponse {
  const rsp = response.to(req);
  const { resource: xr } = request.getObservedCompositeResource(req);
  const {
    sizes = [],
    kind,
    fail = false,
  } = xr.getObject("spec") as {
    readonly sizes?: readonly string[];
    readonly kind?: string;
    readonly fail?: boolean;
  };
  for (const size of sizes) {
    response.setDesiredComposedResource(
      rsp,
      size,
      { ...configMap, metadata: { namespace }, data: { size } },
      { ready: true },
    );
  }
  if (kind !== undefined) {
    response.setDesiredComposedResource(
      rsp,
      "other",
      { apiVersion: "late.example.org/v1", kind, metadata: {} },
      { ready: true },
    );
  }
  response.setDesiredConnectionDetails(rsp, { user: Buffer.from("sam"), password: Buffer.from("secret") });
  response.setDesiredCompositeStatus(rsp, { count: sizes.length });
  if (fail) response.fatal(rsp, "no more disks");
  return rsp;
}

const definition = definitionOf({
  group,
  kind: "XDatabase",
  claimKind: "Database",
  scope: "Legacy",
  spec: { sizes: { type: "array", items: { type: "string" } }, kind: { type: "string" }, fail: { type: "boolean" } },
  status: { count: { type: "integer" } },
  more: { connectionSecretKeys: ["user"] },
});

const composition: KubeObject = {
  apiVersion: "apiextensions.crossplane.io/v1",
  kind: "Composition",
  metadata: { name: "database" },
  spec: {
    compositeTypeRef: xrType,
    writeConnectionSecretsToNamespace: "system",
    pipeline: [{ step: "make", functionRef: { name: "database" } }],
  },
};

let plane: Plane;
before(async () => {
  plane = await startPlane({ functions: { database: makeDatabase } });
  await plane.apply(namespaceOf(namespace), namespaceOf("system"), definition, composition);
});
after(() => plane[Symbol.asyncDispose]());

const claim = (name: string, spec: object): KubeObject =>
  ({ ...claimType, metadata: { namespace, name }, spec }) as KubeObject;
const isReady = (object: KubeObject): boolean => conditionOf(object, "Ready")?.status === "True";
const ready = (name: string, more: (claim: KubeObject) => boolean = () => true): Promise<KubeObject> =>
  plane.until(`${name} is ready`, claimType, { namespace, name }, (one) => isReady(one) && more(one));
const count = (wanted: number) => (object: KubeObject) =>
  (object["status"] as { count?: number } | undefined)?.count === wanted;

async function xrOf(name: string): Promise<KubeObject> {
  const { spec } = (await plane.get(claimType, { namespace, name })) as unknown as {
    spec: { resourceRef: { name: string } };
  };
  return plane.get(xrType, { name: spec.resourceRef.name });
}

async function sizesOf(name: string): Promise<string[]> {
  const selector = `crossplane.io/claim-name=${name}`;
  const { items } = await plane.users.list(configMap, { namespace, labelSelector: selector });
  return items.map((map) => (map["data"] as { readonly size: string }).size).sort();
}

test("connection details reach the claim's secret, those that the definition lets through", async () => {
  await plane.apply(claim("details", { sizes: ["s"], writeConnectionSecretToRef: { name: "details" } }));
  await ready("details");
  const secret = await plane.get(secretType, { namespace, name: "details" });
  assert.deepEqual(secret["data"], { user: Buffer.from("sam").toString("base64") });
  assert.equal(secret["type"], "connection.crossplane.io/v1alpha1");
  assert.equal(secret.metadata.ownerReferences?.[0]?.kind, "Database");
  const { uid = "" } = (await xrOf("details")).metadata;
  const source = await plane.get(secretType, { namespace: "system", name: uid });
  assert.deepEqual(source["data"], secret["data"]);
  await rendersAsApplied(plane.users, xrType, { name: (await xrOf("details")).metadata.name ?? "" });
});

test("an edit that takes something away takes it away, and an idle claim writes nothing", async () => {
  await plane.apply(claim("edited", { sizes: ["l", "m", "s"] }));
  await ready("edited", count(3));
  assert.deepEqual(await sizesOf("edited"), ["l", "m", "s"]);
  await plane.apply(claim("edited", { sizes: ["m"] }));
  await ready("edited", count(1));
  await eventually("what is no longer wanted is gone", async () => (await sizesOf("edited")).join() === "m");
  await eventually("no writes", async () => {
    plane.takeWrites();
    await new Promise((resolve) => setTimeout(resolve, 1000));
    return plane.takeWrites().length === 0;
  });
});

test("a composed resource that a user deletes is created again under its name", async () => {
  await plane.apply(claim("restored", { sizes: ["s"] }));
  await ready("restored");
  const before = await xrOf("restored");
  const { name = "" } = before.metadata;
  await plane.users.delete({ ...xrType, name });
  const after = await plane.until(
    "there is another one",
    xrType,
    { name },
    (one) => one.metadata.uid !== before.metadata.uid && isReady(one),
  );
  assert.notEqual(after.metadata.uid, before.metadata.uid);
  await eventually("and what it composes", async () => (await sizesOf("restored")).join() === "s");
});

test("a fatal result deletes nothing; when it is over all continues", async () => {
  await plane.apply(claim("failing", { sizes: ["m", "s"] }));
  await ready("failing", count(2));
  await plane.apply(claim("failing", { sizes: [], fail: true }));
  const { name = "" } = (await xrOf("failing")).metadata;
  const failed = await plane.until(
    "it says so",
    xrType,
    { name },
    (one) => conditionOf(one, "Synced")?.status === "False",
  );
  assert.equal(
    conditionOf(failed, "Synced")?.message,
    'cannot compose resources: pipeline step "make" returned a fatal result: no more disks',
  );
  assert.deepEqual(await sizesOf("failing"), ["m", "s"]);
  await plane.apply(claim("failing", { sizes: ["m"] }));
  await ready("failing", count(1));
});

test("a kind that does not exist is named, and recovers by itself when it comes", async () => {
  await plane.apply(claim("early", { sizes: [], kind: "Gadget" }));
  const bound = await plane.until(
    "it is bound",
    claimType,
    { namespace, name: "early" },
    (one) => conditionOf(one, "Synced") !== undefined,
  );
  assert.equal(conditionOf(bound, "Synced")?.status, "True", "that is between the composite resource and its function");
  const { name = "" } = (await xrOf("early")).metadata;
  const waiting = await plane.until(
    "it says so",
    xrType,
    { name },
    (one) => conditionOf(one, "Synced")?.status === "False",
  );
  assert.match(conditionOf(waiting, "Synced")?.message ?? "", /Gadget/);
  await plane.apply({
    apiVersion: "apiextensions.k8s.io/v1",
    kind: "CustomResourceDefinition",
    metadata: { name: "gadgets.late.example.org" },
    spec: {
      group: "late.example.org",
      scope: "Cluster",
      names: { plural: "gadgets", singular: "gadget", kind: "Gadget", listKind: "GadgetList" },
      versions: [{ name: "v1", served: true, storage: true, schema: { openAPIV3Schema: { type: "object" } } }],
    },
  });
  await ready("early");
});

test("a claim that refers to another claim's composite resource is refused", async () => {
  await plane.apply(claim("owner", { sizes: ["s"] }));
  await ready("owner");
  const xr = await xrOf("owner");
  await plane.apply(claim("thief", { sizes: ["l"], resourceRef: { ...xrType, name: xr.metadata.name } }));
  const refused = await plane.until(
    "the error is in its condition",
    claimType,
    { namespace, name: "thief" },
    (one) => conditionOf(one, "Synced") !== undefined,
  );
  assert.equal(
    conditionOf(refused, "Synced")?.message,
    `refusing to operate on composite resource "${xr.metadata.name}" that is not bound to this claim: bound to claim "owner"`,
  );
  await plane.users.delete({ ...claimType, namespace, name: "thief" });
  await plane.gone(claimType, { namespace, name: "thief" });
  assert.deepEqual(await sizesOf("owner"), ["s"]);
});

test("foreground deletion of a claim waits for its composed resources", async () => {
  await plane.apply(claim("patient", { sizes: ["s"], compositeDeletePolicy: "Foreground" }));
  await ready("patient");
  const { items } = await plane.users.list(configMap, { namespace, labelSelector: "crossplane.io/claim-name=patient" });
  const { name = "" } = items[0]?.metadata ?? {};
  const held = { ...configMap, namespace, name };
  await plane.users.patch(held, { metadata: { finalizers: ["test/held"] } }, { type: "merge" });
  await plane.users.delete({ ...claimType, namespace, name: "patient" });
  await plane.until("the ConfigMap is being deleted", configMap, { namespace, name }, (one) =>
    Boolean(one.metadata.deletionTimestamp),
  );
  const waiting = await plane.until(
    "the claim says so",
    claimType,
    { namespace, name: "patient" },
    (one) => conditionOf(one, "Ready")?.reason === "Deleting",
  );
  assert.ok(waiting.metadata.deletionTimestamp);
  await plane.users.patch(held, { metadata: { finalizers: null } }, { type: "merge" });
  await plane.gone(claimType, { namespace, name: "patient" });
});

test("deleting a definition deletes its claims, composite resources and CRDs", async () => {
  await plane.users.delete({ apiVersion: definition.apiVersion, kind: definition.kind, name: `xdatabases.${group}` });
  await plane.gone(definition, { name: `xdatabases.${group}` });
  const crds = { apiVersion: "apiextensions.k8s.io/v1", kind: "CustomResourceDefinition" };
  await plane.gone(crds, { name: `databases.${group}` });
  await plane.gone(crds, { name: `xdatabases.${group}` });
  await eventually("nothing that was composed is left", async () => {
    const { items } = await plane.users.list(configMap, { namespace, labelSelector: "crossplane.io/claim-name" });
    return items.length === 0;
  });
});
