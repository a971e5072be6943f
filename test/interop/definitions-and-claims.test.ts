// SPDX-License-Identifier: Apache-2.0
// The controllers of definitions and claims on a real kube-apiserver: what the unit tests show on the embedded one holds
// there as well, above all what hangs on field ownership, defaults and garbage collection.
import assert from "node:assert/strict";
import { after, before, suite, test } from "node:test";
import { crdType } from "@purlin/kube-controller";
import { eventually } from "@purlin/kube-controller/testing";
import type { JsonObject } from "@purlin/kube-objects/json";
import { controllerReference, type KubeObject, memberAt } from "@purlin/kube-objects/object";
import { kinds } from "../../packages/composition/src/composite-resource/constants.ts";
import {
  appKind,
  appType,
  appXrd,
  cacheXrd,
  established,
  held,
  offered,
  ready,
  shop,
  startTestClaims,
  startTestDefinitions,
  type TestClaims,
  type TestDefinitions,
  xappType,
} from "../../packages/composition/test/definition-control.ts";
import { appDefinition, cacheDefinition, definitionVersion } from "../../packages/composition/test/definitions.ts";
import { find, startTestControl } from "../../packages/composition/test/test-control.ts";
import { startKubernetesServer } from "./kubernetes-server.ts";

const specOf = (object: KubeObject): JsonObject => object["spec"] as JsonObject;

suite("claims", () => {
  let claims: TestClaims;
  before(async () => {
    claims = await startTestClaims({ server: await startKubernetesServer() });
  });
  after(() => claims[Symbol.asyncDispose]());

  async function settle(name: string): Promise<number> {
    for (let passes = 1; passes < 10; passes++) {
      claims.control.takeWrites();
      assert.deepEqual(await claims.pass(name), {});
      if (claims.control.takeWrites().length === 0) return passes;
    }
    throw new Error(`${name} does not settle`);
  }

  test("a claim is bound in three writes, and a settled one writes nothing", async () => {
    await claims.create("new", { image: "a", sizes: ["s"], net: { port: 80 } }, { labels: { tier: "front" } });
    claims.control.takeWrites();
    await claims.pass("new");
    assert.equal(claims.control.takeWrites().length, 3);
    await claims.editStatus(await claims.xr("new"), { url: "u", conditions: [ready()] });
    await claims.edit(await claims.xr("new"), ["spec", "compositionRef"], { name: "chosen" });
    await settle("new");
    assert.equal(await settle("new"), 1);
    assert.equal((await claims.condition("new", "Ready"))?.status, "True");
    assert.equal((await claims.xr("new")).metadata.generateName, undefined);
  });

  test("fields removed from the claim are removed from the composite resource", async () => {
    await claims.create("less", { image: "a", sizes: ["s", "m"], net: { port: 1, host: "h" } }, { labels: { a: "1" } });
    await claims.pass("less");
    await claims.edit(await claims.xr("less"), ["metadata", "labels", "theirs"], "x");
    await claims.edit(await claims.claim("less"), ["metadata", "labels"], undefined);
    await claims.edit(await claims.claim("less"), ["spec", "net"], { host: "h" });
    await claims.edit(await claims.claim("less"), ["spec", "sizes"], ["m"]);
    await claims.pass("less");
    const xr = await claims.xr("less");
    assert.deepEqual(Object.keys(xr.metadata.labels ?? {}).sort(), [
      "crossplane.io/claim-name",
      "crossplane.io/claim-namespace",
      "theirs",
    ]);
    assert.deepEqual(specOf(xr)["net"], { host: "h" });
    assert.deepEqual(specOf(xr)["sizes"], ["m"]);
    assert.equal(await settle("less"), 1);
  });

  test("under Manual the claim's revision is forced, and Automatic releases it", async () => {
    await claims.create("manual", { compositionUpdatePolicy: "Manual", compositionRevisionRef: { name: "r1" } });
    await claims.pass("manual");
    await claims.pass("manual");
    assert.deepEqual(specOf(await claims.xr("manual"))["compositionRevisionRef"], { name: "r1" });
    await claims.edit(await claims.claim("manual"), ["spec", "compositionUpdatePolicy"], "Automatic");
    await claims.pass("manual");
    await claims.pass("manual");
    await claims.edit(await claims.xr("manual"), ["spec", "compositionRevisionRef"], { name: "r2" });
    await settle("manual");
    assert.deepEqual(specOf(await claims.claim("manual"))["compositionRevisionRef"], { name: "r2" });
  });

  test("field ownership of plain updates is upgraded in two reconciles", async () => {
    const xr = { ...appKind.compositeType, metadata: { name: "plain" }, spec: { image: "a", sizes: ["s"] } };
    await claims.control.client.create(xr, { fieldManager: "crossplane" });
    await claims.create("upgraded", {
      image: "a",
      sizes: ["s"],
      resourceRef: { ...appKind.compositeType, name: "plain" },
    });
    const managers = async (): Promise<string[]> =>
      ((await claims.xr("upgraded")).metadata.managedFields ?? []).map(({ manager = "" }) => manager).sort();
    await claims.pass("upgraded");
    assert.deepEqual(await managers(), ["apiextensions.crossplane.io/claim", "before-first-apply"]);
    await claims.pass("upgraded");
    assert.deepEqual(await managers(), ["apiextensions.crossplane.io/claim"]);
    assert.equal(await settle("upgraded"), 1);
    await claims.edit(await claims.claim("upgraded"), ["spec", "sizes"], undefined);
    await claims.pass("upgraded");
    assert.equal(specOf(await claims.xr("upgraded"))["sizes"], undefined);
  });

  test("connection details are copied, once", async () => {
    await claims.create("details", { writeConnectionSecretToRef: { name: "details" } });
    await claims.pass("details");
    const ref = { namespace: shop, name: "source" };
    const xr = await claims.edit(await claims.xr("details"), ["spec", "writeConnectionSecretToRef"], ref);
    const metadata = { ...ref, ownerReferences: [controllerReference(xr)] };
    const type = "connection.crossplane.io/v1alpha1";
    await claims.control.users.create({ ...kinds.secret, metadata, type, data: { a: "YQ==" } });
    await claims.editStatus(xr, { conditions: [ready()] });
    await claims.pass("details");
    const copy = await claims.control.client.get(kinds.secret, { namespace: shop, name: "details" });
    assert.deepEqual(memberAt(copy ?? {}, ["data"]), { a: "YQ==" });
    assert.equal(await settle("details"), 1);
  });

  test("foreground deletion of a claim waits for its composite resource and everything it owns", async () => {
    await claims.create("foreground", { compositeDeletePolicy: "Foreground" });
    await claims.pass("foreground");
    const xr = await claims.xr("foreground");
    const { name = "" } = xr.metadata;
    const composed = {
      apiVersion: "v1",
      kind: "ConfigMap",
      metadata: {
        namespace: shop,
        name: "composed",
        finalizers: ["test/held"],
        ownerReferences: [controllerReference(xr)],
      },
    };
    await claims.control.users.create(composed);
    await claims.control.client.delete({ ...appKind.claimType, namespace: shop, name: "foreground" });
    assert.deepEqual(await claims.pass("foreground"), { requeue: true });
    await eventually("the composed resource goes", async () => {
      const found = await find(claims.control.users, composed, "composed", shop);
      return found?.metadata.deletionTimestamp !== undefined;
    });
    assert.deepEqual(await claims.pass("foreground"), { requeue: true });
    assert.equal((await claims.condition("foreground", "Ready"))?.reason, "Deleting");
    await claims.control.users.patch(
      { apiVersion: "v1", kind: "ConfigMap", namespace: shop, name: "composed" },
      { metadata: { finalizers: null } },
      { type: "merge" },
    );
    await eventually(
      "the composite resource is gone",
      async () => (await claims.control.client.get(appKind.compositeType, { name })) === undefined,
    );
    assert.deepEqual(await claims.pass("foreground"), {});
    // The server has removed it; the cache sees that a moment later.
    await eventually(
      "the claim is gone",
      async () =>
        (await claims.control.client.get(appKind.claimType, { namespace: shop, name: "foreground" })) === undefined,
    );
  });
});

suite("definitions", () => {
  let running: TestDefinitions;
  before(async () => {
    running = await startTestDefinitions(await startTestControl([], await startKubernetesServer()));
  });
  after(() => running.control[Symbol.asyncDispose]());

  test("are established, offered, changed and deleted, in order", async () => {
    const { users, takeWrites } = running.control;
    await users.create({ apiVersion: "v1", kind: "Namespace", metadata: { name: shop } });
    await users.create(appDefinition());
    await running.becomes("Established", { ...established, observedGeneration: 1 });
    await running.becomes("Offered", offered);

    await users.create({
      ...appType,
      metadata: { namespace: shop, name: "claim", finalizers: [held] },
      spec: { image: "a" },
    });
    const xr = await users.create({ ...xappType, metadata: { name: "xr", finalizers: [held] }, spec: { image: "a" } });
    assert.equal(memberAt(xr, ["spec", "compositionUpdatePolicy"]), "Automatic");

    const versions = [definitionVersion("v1alpha1", { version: { referenceable: false } }), definitionVersion("v1")];
    await users.patch({ ...kinds.definition, name: appXrd }, { spec: { versions } }, { type: "merge" });
    await running.becomes("Established", { ...established, observedGeneration: 2 });
    await eventually("claims of the new version", () =>
      running.life.includes("start claim platform.example.org/v1 App"),
    );

    takeWrites();
    await users.delete({ ...kinds.definition, name: appXrd });
    await eventually("the definition is gone", async () => (await running.xrd()) === undefined);
    assert.deepEqual((await users.list(crdType, { fieldSelector: `metadata.name=${appXrd}` })).items, []);
    assert.deepEqual(
      (await users.list(crdType, { fieldSelector: "metadata.name=apps.platform.example.org" })).items,
      [],
    );
    const lines = takeWrites();
    const collection = lines.indexOf("DELETE /apis/platform.example.org/v1/xapps");
    const crd = lines.findIndex((line) => line.startsWith("DELETE") && line.endsWith(appXrd));
    assert.ok(collection >= 0 && crd > collection, lines.join("\n"));
  });

  test("write nothing when nothing changes", async () => {
    const { control } = running;
    await control.users.create(cacheDefinition("Namespaced", { schema: { type: "object", example: { a: 1 } } }));
    await running.becomes("Established", established, cacheXrd);
    await eventually("the cache", async () => {
      const found = await control.client.get(kinds.definition, { name: cacheXrd });
      return found !== undefined && memberAt(found, ["status", "conditions"]) !== undefined;
    });
    control.takeWrites();
    for (const name of running.controllerNames) control.engine.enqueue(name, { name: cacheXrd });
    await running.control.users.patch(
      { ...kinds.definition, name: cacheXrd },
      { metadata: { annotations: { note: "n" } } },
      { type: "merge" },
    );
    await eventually("the annotation is seen", async () => {
      const found = await control.client.get(kinds.definition, { name: cacheXrd });
      return found?.metadata.annotations?.["note"] === "n";
    });
    await control.users.delete({ ...kinds.definition, name: cacheXrd });
    await eventually("the definition is gone", async () => (await running.xrd(cacheXrd)) === undefined);
    const writes = control.takeWrites().filter((line) => line.includes("customresourcedefinitions"));
    assert.deepEqual(writes, [`DELETE /apis/apiextensions.k8s.io/v1/customresourcedefinitions/${cacheXrd}`]);
  });

  test("a schema that the server refuses is named by its place in the definition", async () => {
    const schema = { type: "object", properties: { spec: { type: "object", properties: { a: { type: "text" } } } } };
    await running.control.users.create(appDefinition({ schema }));
    const { message } = await running.becomes("Synced", { status: "False" });
    assert.match(
      message ?? "",
      /spec\.versions\[0\]\.schema\.openAPIV3Schema\.properties\[spec\]\.properties\[a\]\.type: Unsupported value: "text"/,
    );
    await running.control.users.delete({ ...kinds.definition, name: appXrd });
    await eventually("the definition is gone", async () => (await running.xrd()) === undefined);
  });
});
