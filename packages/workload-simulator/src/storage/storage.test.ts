// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import { eventually } from "@purlin/kube-controller/testing";
import { isDeleted, stringAt } from "@purlin/kube-objects/object";
import { startScene, workloadSpec } from "../../test/world.ts";
import { kinds } from "../kinds.ts";

test("the claims of a StatefulSet are bound to volumes, which go with their claims", async () => {
  await using scene = await startScene();
  const claim = {
    metadata: { name: "data" },
    spec: { accessModes: ["ReadWriteOnce"], resources: { requests: { storage: "2Gi" } } },
  };
  const spec = workloadSpec({ replicas: 1, serviceName: "db", volumeClaimTemplates: [claim] });
  await scene.create(kinds.statefulSet, "db", { spec });
  const bound = await scene.until(kinds.claim, "data-db-0", (one) => stringAt(one, ["status", "phase"]) === "Bound");
  assert.equal(stringAt(bound, ["status", "capacity", "storage"]), "2Gi");
  const name = stringAt(bound, ["spec", "volumeName"]);
  const volume = await scene.client.get(kinds.volume, { name });
  assert.equal(stringAt(volume, ["spec", "claimRef", "name"]), "data-db-0");
  await scene.client.delete({ ...kinds.claim, namespace: "default", name: "data-db-0" });
  // The Pod still uses it.
  const used = await scene.get(kinds.claim, "data-db-0");
  assert.deepEqual(used.metadata.finalizers, ["kubernetes.io/pvc-protection"]);
  assert.equal(isDeleted(used), true);
  await scene.patch(kinds.statefulSet, "db", { spec: { replicas: 0 } });
  await eventually("the claim is deleted", async () => (await scene.list(kinds.claim)).length === 0);
  await eventually("the volume is deleted", async () => {
    const { items } = await scene.client.list(kinds.volume);
    return items.every(({ metadata }) => metadata.name !== name);
  });
});
