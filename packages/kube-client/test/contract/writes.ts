// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { isAlreadyExists, isBadRequest, isConflict, isInvalid, isNotFound } from "@purlin/kube-objects/errors";
import {
  type ContractCase,
  type ContractContext,
  configMap,
  configMapOf,
  dataOf,
  deployment,
  deploymentOf,
  versionOf,
} from "./contract-case.ts";

/** What creates and updates promise. */
export const writes: readonly ContractCase[] = [
  {
    name: "create gives an identity, a version and a first owner of the fields",
    async run(context) {
      const object = configMapOf(context, "a", { data: { x: "1" } });
      const { metadata } = await context.client.create(object, { fieldManager: "maker" });
      assert.match(metadata.uid ?? "", /^[0-9a-f-]{36}$/);
      assert.match(metadata.resourceVersion ?? "", /^\d+$/);
      assert.deepEqual(
        metadata.managedFields?.map(({ manager, operation }) => [manager, operation]),
        [["maker", "Update"]],
      );
    },
  },
  {
    name: "create makes up a name, and refuses one that is taken",
    async run(context) {
      const { client, namespace } = context;
      const made = await client.create({ ...configMap, metadata: { generateName: "made-", namespace } });
      assert.match(made.metadata.name ?? "", /^made-[a-z0-9]{5}$/);
      await client.create(configMapOf(context, "a"));
      await assert.rejects(client.create(configMapOf(context, "a")), isAlreadyExists);
    },
  },
  {
    name: "what is invalid is refused with the field in the details",
    async run(context) {
      const object = { ...configMapOf(context, "a"), data: { "not a key": "1" } };
      await assert.rejects(context.client.create(object), (error) => {
        assert.ok(isInvalid(error));
        const causes = (error as { status?: { details?: { causes?: { field?: string }[] } } }).status?.details?.causes;
        assert.deepEqual(
          causes?.map(({ field }) => field),
          ["data[not a key]"],
        );
        return true;
      });
    },
  },
  {
    name: "unknown fields are refused, warned about or ignored, as asked",
    async run(context) {
      const object = { ...configMapOf(context, "a"), nonsense: 1 };
      await assert.rejects(context.client.create(object, { fieldValidation: "Strict" }), isBadRequest);
      const made = await context.client.create(object, { fieldValidation: "Ignore" });
      assert.equal(made["nonsense"], undefined);
    },
  },
  {
    name: "a dry run answers as if, and stores nothing",
    async run(context) {
      const { client, namespace } = context;
      const shown = await client.create(configMapOf(context, "a"), { dryRun: true });
      assert.equal(shown.metadata.name, "a");
      await assert.rejects(client.get(configMap, { namespace, name: "a" }), isNotFound);
    },
  },
  {
    name: "update replaces the object; on an old version it is a conflict",
    async run(context) {
      const { client } = context;
      const first = await client.create(configMapOf(context, "a", { data: { x: "1", y: "1" } }));
      const second = await client.update({ ...first, data: { x: "2" } });
      assert.deepEqual(dataOf(second), { x: "2" });
      assert.ok(BigInt(versionOf(second)) > BigInt(versionOf(first)));
      await assert.rejects(client.update({ ...first, data: { x: "3" } }), isConflict);
    },
  },
  {
    name: "an update that changes nothing leaves the version alone",
    async run(context) {
      const first = await context.client.create(configMapOf(context, "a", { data: { x: "1" } }));
      assert.equal(versionOf(await context.client.update(first)), versionOf(first));
    },
  },
  {
    name: "the status is written apart from the rest, and the generation follows the rest only",
    async run(context) {
      const { client } = context;
      const first = await client.create(deploymentOf(context, "web"));
      assert.equal(first.metadata.generation, 1);
      const status = { replicas: 3, observedGeneration: 1 };
      const spec = { ...(first["spec"] as object), replicas: 9 };
      const second = await client.update({ ...first, spec, status }, { subresource: "status" });
      assert.equal((second["spec"] as { replicas: number }).replicas, 1);
      assert.equal((second["status"] as { replicas: number }).replicas, 3);
      assert.equal(second.metadata.generation, 1);
      const third = await client.update({ ...second, spec, status: {} });
      assert.equal((third["status"] as { replicas: number }).replicas, 3);
      assert.equal(third.metadata.generation, 2);
    },
  },
  {
    name: "the scale of a workload is an object of its own",
    async run(context) {
      const { client, namespace } = context;
      const web = await client.create(deploymentOf(context, "web"));
      const target = { ...deployment, name: "web", namespace };
      const scale = await client.patch(target, { spec: { replicas: 4 } }, { type: "merge", subresource: "scale" });
      assert.deepEqual([scale.kind, scale["spec"]], ["Scale", { replicas: 4 }]);
      const read = await client.get(deployment, { namespace, name: web.metadata.name ?? "" });
      assert.equal((read["spec"] as { replicas: number }).replicas, 4);
    },
  },
];

/** What patches and applies promise. */
export const patches: readonly ContractCase[] = [
  {
    name: "a merge patch sets and, with null, removes",
    async run(context) {
      const { client, namespace } = context;
      await client.create(configMapOf(context, "a", { data: { x: "1", y: "1" } }));
      const target = { ...configMap, namespace, name: "a" };
      const patched = await client.patch(target, { data: { x: null, z: "3" } }, { type: "merge" });
      assert.deepEqual(dataOf(patched), { y: "1", z: "3" });
      await assert.rejects(client.patch({ ...target, name: "none" }, {}, { type: "merge" }), isNotFound);
    },
  },
  {
    name: "a JSON patch tests before it changes",
    async run(context) {
      const { client, namespace } = context;
      await client.create(configMapOf(context, "a", { data: { x: "1" } }));
      const target = { ...configMap, namespace, name: "a" };
      const change = { op: "replace", path: "/data/x", value: "2" };
      const patched = await client.patch(target, [{ op: "test", path: "/data/x", value: "1" }, change], {
        type: "json",
      });
      assert.deepEqual(dataOf(patched), { x: "2" });
      const stale = [{ op: "test", path: "/data/x", value: "1" }, change];
      await assert.rejects(client.patch(target, stale, { type: "json" }), isInvalid);
    },
  },
  {
    name: "a strategic merge patch merges lists by their key",
    async run(context) {
      const { client, namespace } = context;
      await client.create(deploymentOf(context, "web"));
      const env = [{ name: "B", value: "2" }];
      const patch = { spec: { template: { spec: { containers: [{ name: "main", env }] } } } };
      const patched = await client.patch({ ...deployment, namespace, name: "web" }, patch, { type: "strategic" });
      const { containers } = (patched["spec"] as PodOwner).template.spec;
      assert.deepEqual(
        containers.map(({ image, env: all }) => [image, all.map(({ name }) => name)]),
        [["main:1", ["B", "A"]]],
      );
    },
  },
  {
    name: "a patch that names an old version is a conflict",
    async run(context) {
      const { client, namespace } = context;
      const first = await client.create(configMapOf(context, "a", { data: { x: "1" } }));
      await client.update({ ...first, data: { x: "2" } });
      const patch = { metadata: { resourceVersion: versionOf(first) }, data: { x: "3" } };
      await assert.rejects(client.patch({ ...configMap, namespace, name: "a" }, patch, { type: "merge" }), isConflict);
    },
  },
  {
    name: "apply creates, changes nothing the second time, and takes away what is no longer applied",
    async run(context) {
      const { client } = context;
      const options = { fieldManager: "one" };
      const first = await client.apply(configMapOf(context, "a", { data: { x: "1", y: "1" } }), options);
      const again = await client.apply(configMapOf(context, "a", { data: { x: "1", y: "1" } }), options);
      assert.deepEqual(again, first);
      const less = await client.apply(configMapOf(context, "a", { data: { y: "1" } }), options);
      assert.deepEqual(dataOf(less), { y: "1" });
    },
  },
  {
    name: "apply of a field of another manager is a conflict unless forced",
    async run(context) {
      const { client } = context;
      await client.apply(configMapOf(context, "a", { data: { x: "1" } }), { fieldManager: "one" });
      const other = configMapOf(context, "a", { data: { x: "2", y: "2" } });
      await assert.rejects(client.apply(other, { fieldManager: "two" }), (error) => {
        assert.ok(isConflict(error));
        assert.match((error as Error).message, /conflict with "one": \.data\.x/);
        return true;
      });
      const forced = await client.apply(other, { fieldManager: "two", force: true });
      assert.deepEqual(dataOf(forced), { x: "2", y: "2" });
      const managers = forced.metadata.managedFields?.map(({ manager, operation }) => `${manager} ${operation}`);
      assert.ok(managers?.includes("two Apply"), `${managers}`);
    },
  },
];

type PodOwner = {
  readonly template: {
    readonly spec: {
      readonly containers: readonly { readonly image: string; readonly env: readonly { readonly name: string }[] }[];
    };
  };
};

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
