// SPDX-License-Identifier: Apache-2.0
// Claims and volumes in memory.
import assert from "node:assert/strict";
import { test } from "node:test";
import type { JsonObject } from "@purlin/kube-objects/json";
import { stringAt } from "@purlin/kube-objects/object";
import { World } from "../../test/world.ts";
import { kinds } from "../kinds.ts";
import { claimController, volumeController } from "./claims.ts";

const spec = { accessModes: ["ReadWriteOnce"], resources: { requests: { storage: "5Gi" } } };

function worldWith(claim: JsonObject = {}): World {
  const world = new World();
  const isDefault = { "storageclass.kubernetes.io/is-default-class": "true" };
  world.put(kinds.storageClass, "standard", {
    metadata: { namespace: null, annotations: isDefault },
    provisioner: "p",
    reclaimPolicy: "Delete",
  });
  world.put(kinds.storageClass, "keep", { metadata: { namespace: null }, provisioner: "q", reclaimPolicy: "Retain" });
  world.put(kinds.claim, "data", { spec: { ...spec, ...claim } });
  return world;
}

const step = (world: World) => world.reconcile(claimController, "data");

test("a claim is bound to a volume of its size, of the default class", async () => {
  const world = worldWith({ volumeMode: "Block" });
  await step(world);
  const name = "pvc-uid-of-data";
  const [volume] = world.list(kinds.volume);
  assert.deepEqual(volume?.["spec"], {
    accessModes: ["ReadWriteOnce"],
    capacity: { storage: "5Gi" },
    claimRef: {
      apiVersion: "v1",
      kind: "PersistentVolumeClaim",
      namespace: "default",
      name: "data",
      uid: "uid-of-data",
    },
    hostPath: { path: "/simulated/uid-of-data" },
    persistentVolumeReclaimPolicy: "Delete",
    storageClassName: "standard",
    volumeMode: "Block",
  });
  assert.equal(volume?.metadata.name, name);
  assert.deepEqual(volume?.["status"], { phase: "Bound" });
  const claim = world.get(kinds.claim, "data");
  assert.equal(stringAt(claim, ["spec", "volumeName"]), name);
  assert.equal(stringAt(claim, ["spec", "storageClassName"]), "standard");
  assert.deepEqual(claim["status"], { phase: "Bound", accessModes: ["ReadWriteOnce"], capacity: { storage: "5Gi" } });
  assert.equal(claim.metadata.annotations?.["volume.kubernetes.io/storage-provisioner"], "p");
  assert.deepEqual(world.takeEvents(), [`ProvisioningSucceeded: Successfully provisioned volume ${name}`]);
  world.takeWrites();
  await step(world);
  assert.deepEqual(world.takeWrites(), []);
});

test("a claim names its class, and the volume is kept as the class says", async () => {
  const world = worldWith({ storageClassName: "keep" });
  await step(world);
  const [volume] = world.list(kinds.volume);
  assert.equal(stringAt(volume ?? {}, ["spec", "persistentVolumeReclaimPolicy"]), "Retain");
  assert.equal(stringAt(volume ?? {}, ["spec", "storageClassName"]), "keep");
});

test("a class that does not exist is reported", async () => {
  const world = worldWith({ storageClassName: "nope" });
  await step(world);
  assert.deepEqual(world.takeEvents(), ['ProvisioningFailed: storageclass.storage.k8s.io "nope" not found']);
  assert.deepEqual(world.list(kinds.volume), []);
});

test("a claim with an empty class waits for a volume of an administrator", async () => {
  const world = worldWith({ storageClassName: "" });
  await step(world);
  assert.deepEqual(world.takeEvents(), [
    "FailedBinding: no persistent volumes available for this claim and no storage class is set",
  ]);
});

test("without a default class, a claim without a class waits", async () => {
  const world = worldWith();
  await world.deps.client.delete({ ...kinds.storageClass, name: "standard" });
  await step(world);
  assert.deepEqual(world.takeEvents(), [
    "FailedBinding: no persistent volumes available for this claim and no storage class is set",
  ]);
});

async function released(storageClassName: string): Promise<World> {
  const world = worldWith({ storageClassName });
  await step(world);
  await world.deps.client.delete({ ...kinds.claim, name: "data", namespace: "default" });
  await volumeController(world.deps).spec.reconcile({ name: "pvc-uid-of-data" }, new AbortController().signal);
  return world;
}

test("the volume of a claim that is gone is deleted, or released, as its policy says", async () => {
  assert.deepEqual((await released("standard")).list(kinds.volume), []);
  const [kept] = (await released("keep")).list(kinds.volume);
  assert.equal(stringAt(kept ?? {}, ["status", "phase"]), "Released");
});

test("a bound claim that asks for more gets it, with its volume", async () => {
  const world = worldWith();
  await step(world);
  world.takeEvents();
  world.change(kinds.claim, "data", { spec: { resources: { requests: { storage: "7Gi" } } } });
  await step(world);
  const [volume] = world.list(kinds.volume);
  assert.equal(stringAt(volume ?? {}, ["spec", "capacity", "storage"]), "7Gi");
  assert.equal(stringAt(world.get(kinds.claim, "data"), ["status", "capacity", "storage"]), "7Gi");
  assert.deepEqual(world.takeEvents(), ["VolumeResizeSuccessful: Resize volume succeeded"]);
  world.takeWrites();
  await step(world);
  assert.deepEqual(world.takeWrites(), []);
});
