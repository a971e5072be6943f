// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { after, before, test } from "node:test";
import { silentLog, systemClock } from "@purlin/base";
import { createCrd, installCrds, object, text } from "@purlin/kube-controller";
import { eventually } from "@purlin/kube-controller/testing";
import type { JsonObject } from "@purlin/kube-objects/json";
import { controllerReference, type KubeObject } from "@purlin/kube-objects/object";
import { cacheDefinition } from "../../test/definitions.ts";
import { UsageScene } from "../../test/usage-scene.ts";
import { deriveCompositeCrd } from "../definition/derive-crd.ts";
import { createProtectionControllers } from "./deletion-protection.ts";

const longKind = { kind: "LongResource", plural: "longresources", group: `${"a".repeat(44)}.example.org` };

let scene: UsageScene;
before(async () => {
  scene = await UsageScene.start();
  const version = { name: "v1", fields: { spec: object({ a: text }) }, columns: [], hasStatus: true };
  const crd = (group: string, kind: string, plural: string): KubeObject =>
    createCrd({ group, kind, plural, versions: [version] });
  await installCrds(scene.users, [
    crd("pkg.crossplane.io", "Provider", "providers"),
    crd("pkg.crossplane.io", "ProviderRevision", "providerrevisions"),
    crd("nop.crossplane.io", "NopResource", "nopresources"),
    crd(longKind.group, longKind.kind, longKind.plural),
  ]);
  const { client, engine, events } = scene.control;
  const deps = { client, engine, events, clock: systemClock, log: silentLog };
  for (const controller of createProtectionControllers(deps)) await scene.control.run(controller);
});
after(() => scene[Symbol.asyncDispose]());

const pkg = "pkg.crossplane.io/v1";
const usageName = "provider-protection-cd3dfadeb10cadade483114127257935c282591b766815b09ff6";
const clusterUsage: KubeObject = {
  apiVersion: "protection.crossplane.io/v1beta1",
  kind: "ClusterUsage",
  metadata: { name: usageName },
};

/** A Provider whose definition of a kind is established, and an object of the kind. */
async function installed(
  provider: string,
  { group, kind, plural }: { readonly group: string; readonly kind: string; readonly plural: string },
): Promise<{ readonly provider: KubeObject; readonly mrd: KubeObject; readonly managed: KubeObject }> {
  const { users } = scene;
  const owner = await users.create({ apiVersion: pkg, kind: "Provider", metadata: { name: provider } });
  const revision = await users.create({
    apiVersion: pkg,
    kind: "ProviderRevision",
    metadata: { name: `${provider}-1`, labels: { "pkg.crossplane.io/package": provider } },
  });
  const names: JsonObject = { kind, plural };
  const schema: JsonObject = { openAPIV3Schema: { type: "object" } };
  const mrd = await users.create({
    apiVersion: "apiextensions.crossplane.io/v1alpha1",
    kind: "ManagedResourceDefinition",
    metadata: { name: `${plural}.${group}`, ownerReferences: [controllerReference(revision)] },
    spec: {
      group,
      names,
      scope: "Cluster",
      state: "Active",
      versions: [{ name: "v1", served: true, storage: true, schema }],
    },
  });
  const managed = await users.create({ apiVersion: `${group}/v1`, kind, metadata: { name: "one" } });
  const established = { type: "Established", status: "True", reason: "EstablishedManagedResource" };
  const condition = { ...established, lastTransitionTime: "2026-01-01T00:00:00Z" };
  await users.update({ ...mrd, status: { conditions: [condition] } } as KubeObject, { subresource: "status" });
  return { provider: owner, mrd, managed };
}

test("a Provider cannot be deleted while it has managed resources", async () => {
  const { provider, mrd, managed } = await installed("provider-nop", {
    group: "nop.crossplane.io",
    kind: "NopResource",
    plural: "nopresources",
  });
  await scene.ready(clusterUsage);
  assert.equal(
    (await scene.denied(provider)).reason,
    `This resource is in-use by 1 usage(s), including the *v1beta1.ClusterUsage "${usageName}" with reason: "Provider has active managed resources of type NopResource.nop.crossplane.io".`,
  );
  await scene.delete(managed);
  await scene.gone(clusterUsage);
  await eventually("the Provider can be deleted", async () => {
    await scene.delete(provider);
    return true;
  });
  const watches = (): readonly string[] =>
    scene.control.engine
      .watchesOf("protection/managedresourcedefinition.apiextensions.crossplane.io")
      .map(({ type }) => type);
  assert.deepEqual(watches(), ["Definition", "Instances of nopresources.nop.crossplane.io"]);
  await scene.delete(mrd);
  await eventually("the instances are no longer watched", () => watches().length === 1);
});

test("a definition with a name of 70 characters protects its Provider: its label is cut, and ends in its hash", async () => {
  const name = `${longKind.plural}.${longKind.group}`;
  assert.equal(name.length, 70);
  const { provider, managed } = await installed("provider-long", longKind);
  const hash = createHash("sha256").update(name).digest("hex");
  const metadata = { name: `provider-protection-${hash.slice(0, 52)}` };
  const usage = await scene.ready({ ...clusterUsage, metadata });
  const label = usage.metadata.labels?.["apiextensions.crossplane.io/mrd"];
  assert.deepEqual([label, label?.length], [`${name.slice(0, 54)}-${hash.slice(0, 8)}`, 63]);
  assert.match((await scene.denied(provider)).reason, /Provider has active managed resources of type LongResource\./);
  await scene.delete(managed);
  await scene.gone(usage);
});

test("a definition cannot be deleted while it has composite resources, and has no Usage without them", async () => {
  const { users } = scene;
  const definition = await users.create(cacheDefinition("Cluster"));
  await installCrds(users, [deriveCompositeCrd(definition, { functionRevisions: false })]);
  const condition = {
    ...{ type: "Established", status: "True", reason: "WatchingCompositeResource" },
    lastTransitionTime: "2026-01-01T00:00:00Z",
  };
  await users.update({ ...definition, status: { conditions: [condition] } } as KubeObject, { subresource: "status" });
  const type = { apiVersion: "platform.example.org/v1", kind: "Cache" };
  const protects = async (): Promise<KubeObject | undefined> => {
    const { items } = await users.list({ apiVersion: clusterUsage.apiVersion, kind: "ClusterUsage" });
    return items.find(({ metadata }) => metadata.name?.startsWith("definition-protection-"));
  };
  const cache = await eventually("the kind is served", () =>
    users.create({ ...type, metadata: { name: "c" }, spec: {} }),
  );
  const usage = await eventually("the ClusterUsage", protects);
  await scene.ready(usage);
  assert.match(
    (await scene.denied(definition)).reason,
    /with reason: "CompositeResourceDefinition has composite resources of type Cache\.platform\.example\.org"\.$/,
  );
  await scene.delete(cache);
  await scene.gone(usage);
  await scene.delete(definition);
  await scene.gone(definition);
});
