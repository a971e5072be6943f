// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { isAlreadyExists, isBadRequest, isConflict, isInvalid, isNotFound } from "@purlin/kube-objects/errors";
import {
  type ContractCase,
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
