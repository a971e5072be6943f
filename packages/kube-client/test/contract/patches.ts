// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { isConflict, isInvalid, isNotFound } from "@purlin/kube-objects/errors";
import {
  type ContractCase,
  configMap,
  configMapOf,
  dataOf,
  deployment,
  deploymentOf,
  versionOf,
} from "./contract-case.ts";

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
