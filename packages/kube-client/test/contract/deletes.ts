// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { isConflict, isNotFound } from "@purlin/kube-objects/errors";
import { type ContractCase, type ContractContext, configMap, configMapOf, versionOf } from "./contract-case.ts";

/** What deletes promise. */
export const deletes: readonly ContractCase[] = [
  {
    name: "delete removes, and then there is nothing to delete",
    async run(context) {
      const { client, namespace } = context;
      await client.create(configMapOf(context, "a"));
      assert.equal(await client.delete({ ...configMap, namespace, name: "a" }), undefined);
      await assert.rejects(client.delete({ ...configMap, namespace, name: "a" }), isNotFound);
    },
  },
  {
    name: "delete with preconditions removes only the object that was meant",
    async run(context) {
      const { client, namespace } = context;
      const created = await client.create(configMapOf(context, "a"));
      const target = { ...configMap, namespace, name: "a" };
      const stranger = "00000000-0000-4000-8000-000000000000";
      await assert.rejects(client.delete(target, { preconditions: { uid: stranger } }), isConflict);
      await assert.rejects(client.delete(target, { preconditions: { resourceVersion: "1" } }), isConflict);
      const { uid = "" } = created.metadata;
      await client.delete(target, { preconditions: { uid, resourceVersion: versionOf(created) } });
      await assert.rejects(client.get(configMap, target), isNotFound);
    },
  },
  {
    name: "a dry run deletes nothing",
    async run(context) {
      const { client, namespace } = context;
      await client.create(configMapOf(context, "a"));
      await client.delete({ ...configMap, namespace, name: "a" }, { dryRun: true });
      assert.equal((await client.get(configMap, { namespace, name: "a" })).metadata.name, "a");
    },
  },
  {
    name: "an object with finalizers stays until the last one is taken away",
    async run(context) {
      const { client, namespace } = context;
      const object = configMapOf(context, "a");
      await client.create({ ...object, metadata: { ...object.metadata, finalizers: ["example.org/hold"] } });
      const target = { ...configMap, namespace, name: "a" };
      const held = await client.delete(target);
      assert.match(held?.metadata.deletionTimestamp ?? "", /^\d{4}-/);
      assert.deepEqual(held, await client.get(configMap, target));
      await client.patch(target, { metadata: { finalizers: null } }, { type: "merge" });
      await assert.rejects(client.get(configMap, target), isNotFound);
    },
  },
  {
    name: "a namespace stays for as long as it is emptied",
    async run({ client }) {
      const namespaceType = { apiVersion: "v1", kind: "Namespace" };
      const { metadata } = await client.create({ ...namespaceType, metadata: { generateName: "goes-" } });
      const held = await client.delete({ ...namespaceType, name: metadata.name ?? "" });
      assert.match(held?.metadata.deletionTimestamp ?? "", /^\d{4}-/);
    },
  },
  {
    name: "a collection is deleted by its selector",
    async run(context) {
      const { client, namespace } = context;
      for (const [name, app] of Object.entries({ a: "web", b: "web", c: "db" })) {
        await client.create(configMapOf(context, name, { labels: { app } }));
      }
      await client.deleteCollection(configMap, { namespace, labelSelector: "app=web" });
      const { items } = await client.list(configMap, { namespace, labelSelector: "app" });
      assert.deepEqual(
        items.map(({ metadata }) => metadata.name),
        ["c"],
      );
    },
  },
  ...(["Background", "Foreground"] as const).map((propagationPolicy) => ({
    name: `what an object owns goes with it: ${propagationPolicy}`,
    async run(context: ContractContext) {
      const { client, namespace, signal } = context;
      const { uid = "" } = (await client.create(configMapOf(context, "owner"))).metadata;
      const owner = { ...configMap, name: "owner", uid, blockOwnerDeletion: true };
      const owned = configMapOf(context, "owned");
      const { metadata } = await client.create({ ...owned, metadata: { ...owned.metadata, ownerReferences: [owner] } });
      const events = await client.watch(configMap, {
        namespace,
        fieldSelector: "metadata.name=owned",
        resourceVersion: metadata.resourceVersion,
        signal,
      });
      await client.delete({ ...configMap, namespace, name: "owner" }, { propagationPolicy });
      for await (const event of events) if (event.type === "DELETED") break;
      await assert.rejects(client.get(configMap, { namespace, name: "owned" }), isNotFound);
    },
  })),
];
