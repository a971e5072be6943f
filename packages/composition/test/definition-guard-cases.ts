// SPDX-License-Identifier: Apache-2.0
// Deletions of managed resource definitions, on an API server that a guard or a webhook protects.
import assert from "node:assert/strict";
import { suite, test } from "node:test";
import { crdType } from "@purlin/kube-controller";
import { eventually } from "@purlin/kube-controller/testing";
import { findStatusError } from "@purlin/kube-objects/errors";
import type { JsonObject } from "@purlin/kube-objects/json";
import type { KubeObject, OwnerReference } from "@purlin/kube-objects/object";
import { managedDefinitionType } from "../src/managed/definition-controller.ts";
import type { UsageScene } from "./usage-scene.ts";

let made = 0;

interface Definition {
  readonly name: string;
  readonly labels: JsonObject;
  /** An object of the kind. */
  readonly one: KubeObject;
}

/** Makes a definition whose CRD has it as an owner, beside others, and one object. */
async function define(
  { users }: UsageScene,
  { owners = [], isOwned = true }: { readonly owners?: readonly OwnerReference[]; readonly isOwned?: boolean } = {},
): Promise<Definition> {
  const plural = `kegs${++made}`;
  const [name, kind] = [`${plural}.guarded.example.org`, `Keg${made}`];
  const labels = { made: String(made) };
  const schema = { openAPIV3Schema: { type: "object", "x-kubernetes-preserve-unknown-fields": true } };
  const spec = {
    group: "guarded.example.org",
    names: { plural, singular: kind.toLowerCase(), kind, listKind: `${kind}List` },
    scope: "Cluster",
    versions: [{ name: "v1", served: true, storage: true, schema }],
  };
  const mrd = await users.create({
    ...managedDefinitionType,
    metadata: { name, labels },
    spec: { ...spec, state: "Active" },
  } as KubeObject);
  const own = { ...managedDefinitionType, name, uid: mrd.metadata.uid ?? "" };
  const ownerReferences = [...(isOwned ? [own] : []), ...owners];
  await users.create({ ...crdType, metadata: { name, ownerReferences }, spec } as KubeObject);
  const one = { apiVersion: "guarded.example.org/v1", kind, metadata: { name: "one" } };
  await eventually(`${kind} is served`, () => users.create(one).then(() => true));
  return { name, labels, one };
}

/** Tests the guard of managed resource definitions. */
export function testDefinitionGuard(title: string, scene: () => UsageScene): void {
  const exists = async (name: string): Promise<boolean> =>
    (await scene().users.list(managedDefinitionType)).items.some(({ metadata }) => metadata.name === name);
  const remove = (name: string, options: JsonObject = {}): Promise<unknown> =>
    scene().users.delete({ ...managedDefinitionType, name }, options);

  suite(title, () => {
    test("a definition with objects is not deleted, by no propagation that takes the CRD along, and not in a dry run", async () => {
      const { name, one } = await define(scene());
      const text = `This would delete 1 object of ${one.kind}.guarded.example.org. Delete them first, or set the annotation purlin.dev/allow-data-loss: "true" on the ManagedResourceDefinition.`;
      for (const options of [{}, { propagationPolicy: "Foreground" }, { dryRun: true }]) {
        const error = await remove(name, options as JsonObject).then(() => undefined, findStatusError);
        assert.deepEqual(
          [error?.code, error?.status.reason, error?.message],
          [409, text, `admission webhook "nodataloss.purlin.dev" denied the request: ${text}`],
        );
      }
      assert.ok(await exists(name));
      assert.equal((await scene().users.get(one, { name: "one" })).metadata.deletionTimestamp, undefined);
    });

    test("without objects it is deleted", async () => {
      const { name, one } = await define(scene());
      await scene().users.delete({ ...one, name: "one" });
      await remove(name);
      assert.equal(await exists(name), false);
    });

    test("the annotation accepts the loss", async () => {
      const { name } = await define(scene());
      const annotations = { "purlin.dev/allow-data-loss": "true" };
      await scene().users.patch({ ...managedDefinitionType, name }, { metadata: { annotations } }, { type: "merge" });
      await remove(name);
      assert.equal(await exists(name), false);
    });

    test("a CRD that stays keeps its objects: orphaned, with another owner, or not owned by the definition", async () => {
      const owner = { apiVersion: "pkg.crossplane.io/v1", kind: "ProviderRevision", name: "p-1", uid: "u-1" };
      const orphaned = await define(scene());
      await remove(orphaned.name, { propagationPolicy: "Orphan" });
      for (const options of [{ owners: [owner] }, { isOwned: false }]) {
        const { name } = await define(scene(), options);
        await remove(name);
        assert.equal(await exists(name), false);
      }
    });

    test("one with objects stays when a collection is deleted", async () => {
      const { users } = scene();
      const refused = await define(scene());
      const labelSelector = `made=${refused.labels["made"]}`;
      const path = "/apis/apiextensions.crossplane.io/v1alpha1/managedresourcedefinitions";
      await assert.rejects(
        users.raw({ method: "DELETE", path, query: { labelSelector } }),
        /This would delete 1 object/,
      );
      assert.ok(await exists(refused.name));
    });
  });
}
