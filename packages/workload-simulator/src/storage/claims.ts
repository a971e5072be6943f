// SPDX-License-Identifier: Apache-2.0
import type { KubeClient } from "@purlin/kube-client";
import type { ReconcileContext, ReconcileResult, WatchingController } from "@purlin/kube-controller";
import { isAlreadyExists } from "@purlin/kube-objects/errors";
import {
  annotationOf,
  isDeleted,
  type KubeObject,
  memberAt,
  objectAt,
  stringAt,
  textAt,
  withMember,
} from "@purlin/kube-objects/object";
import { compareQuantities } from "@purlin/kube-objects/typed";
import { kinds } from "../kinds.ts";

import { simulatedController } from "../simulated-controller.ts";
import {
  fieldManager,
  type SimulatorDeps,
  simulatedAnnotation,
  simulatedMark,
  storeStatus,
} from "../simulator-deps.ts";

const defaultClass = "storageclass.kubernetes.io/is-default-class";
const provisioner = "purlin.dev/simulated";

/** Creates the default StorageClass, unless there is one. */
export async function createStorageClass(kube: KubeClient): Promise<void> {
  const { items } = await kube.list(kinds.storageClass);
  const present = items.find((one) => annotationOf(one, defaultClass) === "true");
  if (present !== undefined) return letGrow(kube, present);
  const metadata = { name: "standard", annotations: { [defaultClass]: "true", ...simulatedMark } };
  const object = {
    ...kinds.storageClass,
    metadata,
    provisioner,
    reclaimPolicy: "Delete",
    volumeBindingMode: "Immediate",
    allowVolumeExpansion: true,
  };
  try {
    await kube.create(object, { fieldManager });
  } catch (error) {
    if (!isAlreadyExists(error)) throw error;
  }
}

/** A class that an earlier release made does not say whether its volumes grow. */
async function letGrow(kube: KubeClient, storageClass: KubeObject): Promise<void> {
  const isOurs = stringAt(storageClass, ["provisioner"]) === provisioner;
  if (!isOurs || memberAt(storageClass, ["allowVolumeExpansion"]) !== undefined) return;
  await kube.update({ ...storageClass, allowVolumeExpansion: true }, { fieldManager });
}

/** Provisions a volume for each claim, binds them, and lets the volume grow with its claim. */
export function claimController(deps: SimulatorDeps): WatchingController {
  return simulatedController(deps, {
    name: "persistentvolume-controller",
    type: kinds.claim,
    watches: [{ type: "Class", object: kinds.storageClass, keys: () => unboundClaims(deps) }],
    reconcile,
  });
}

function unboundClaims({ informers }: SimulatorDeps) {
  const claims = informers.peek(kinds.claim)?.list() ?? [];
  return claims
    .filter((claim) => textAt(claim, ["status", "phase"]) !== "Bound")
    .map(({ metadata }) => ({ namespace: metadata.namespace, name: metadata.name ?? "" }));
}

async function reconcile(deps: SimulatorDeps, context: ReconcileContext): Promise<ReconcileResult> {
  const claim = context.stored.object;
  if (isDeleted(claim)) return {};
  if (textAt(claim, ["status", "phase"]) === "Bound") return resize(deps, context);
  const storage = await classOf(deps, claim);
  if (storage === undefined) return noteMissingClass(context);
  const volume = await provision(deps, claim, storage);
  const annotations = {
    ...claim.metadata.annotations,
    "pv.kubernetes.io/bind-completed": "yes",
    "pv.kubernetes.io/bound-by-controller": "yes",
    "volume.kubernetes.io/storage-provisioner": stringAt(storage, ["provisioner"]),
  };
  const name = volume.metadata.name ?? "";
  const spec = { ...objectAt(claim, ["spec"]), volumeName: name, storageClassName: storage.metadata.name ?? "" };
  const bound = await deps.client.update(
    { ...claim, metadata: { ...claim.metadata, annotations }, spec },
    { fieldManager },
  );
  const capacity = objectAt(volume, ["spec", "capacity"]);
  const accessModes = memberAt(claim, ["spec", "accessModes"]) ?? [];
  await storeStatus(deps, volume, { phase: "Bound" });
  await storeStatus(deps, bound, { phase: "Bound", accessModes, capacity });
  context.emit({ reason: "ProvisioningSucceeded", message: `Successfully provisioned volume ${name}` });
  return {};
}

/** Gives a bound claim the storage that it asks for, as far as it asks for more than it has. */
async function resize(
  deps: SimulatorDeps,
  { stored: { object: claim }, emit }: ReconcileContext,
): Promise<ReconcileResult> {
  const wanted = stringAt(claim, ["spec", "resources", "requests", "storage"]);
  const present = stringAt(claim, ["status", "capacity", "storage"]);
  if (wanted === "" || present === "" || compareQuantities(wanted, present) <= 0) return {};
  const volume = await deps.client.get(kinds.volume, { name: stringAt(claim, ["spec", "volumeName"]) });
  // Volumes that others made do not grow here.
  if (volume === undefined || annotationOf(volume, simulatedAnnotation) === undefined) return {};
  await deps.client.update(withMember(volume, ["spec", "capacity", "storage"], wanted), { fieldManager });
  const capacity = { ...objectAt(claim, ["status", "capacity"]), storage: wanted };
  await storeStatus(deps, claim, { ...objectAt(claim, ["status"]), capacity });
  emit({ reason: "VolumeResizeSuccessful", message: "Resize volume succeeded" });
  return {};
}

/** The StorageClass of a claim: the one it names, or the default. */
async function classOf({ client }: SimulatorDeps, claim: KubeObject): Promise<KubeObject | undefined> {
  const name = memberAt(claim, ["spec", "storageClassName"]);
  if (typeof name === "string" && name !== "") return client.get(kinds.storageClass, { name });
  if (name === "") return undefined;
  return (await client.list(kinds.storageClass)).find((one) => annotationOf(one, defaultClass) === "true");
}

function noteMissingClass({ stored: { object }, emit }: ReconcileContext): ReconcileResult {
  const name = textAt(object, ["spec", "storageClassName"]);
  if (name === undefined) {
    const message = "no persistent volumes available for this claim and no storage class is set";
    emit({ reason: "FailedBinding", message });
  } else {
    const message = `storageclass.storage.k8s.io ${JSON.stringify(name)} not found`;
    emit({ type: "Warning", reason: "ProvisioningFailed", message });
  }
  return {};
}

async function provision({ client }: SimulatorDeps, claim: KubeObject, storage: KubeObject): Promise<KubeObject> {
  const { uid = "", name = "", namespace = "" } = claim.metadata;
  const volume: KubeObject = {
    ...kinds.volume,
    metadata: {
      name: `pvc-${uid}`,
      annotations: { "pv.kubernetes.io/provisioned-by": stringAt(storage, ["provisioner"]), ...simulatedMark },
    },
    spec: {
      accessModes: memberAt(claim, ["spec", "accessModes"]) ?? [],
      capacity: { storage: memberAt(claim, ["spec", "resources", "requests", "storage"]) ?? "1Gi" },
      claimRef: { apiVersion: "v1", kind: claim.kind, namespace, name, uid },
      hostPath: { path: `/simulated/${uid}` },
      persistentVolumeReclaimPolicy: textAt(storage, ["reclaimPolicy"]) ?? "Delete",
      storageClassName: storage.metadata.name ?? "",
    },
  };
  const mode = memberAt(claim, ["spec", "volumeMode"]);
  try {
    return await client.create(mode === undefined ? volume : withMember(volume, ["spec", "volumeMode"], mode), {
      fieldManager,
    });
  } catch (error) {
    if (!isAlreadyExists(error)) throw error;
    return client.live.get(kinds.volume, { name: `pvc-${uid}` });
  }
}

/** Deletes the volumes of claims that are gone, as their policy says. */
export function volumeController(deps: SimulatorDeps): WatchingController {
  return simulatedController(deps, {
    name: "persistentvolume-reclaimer",
    type: kinds.volume,
    own: "unwatched",
    watches: [
      {
        type: "DeletedClaim",
        object: kinds.claim,
        keys: ({ type, object }) => {
          const name = textAt(object, ["spec", "volumeName"]);
          return type === "deleted" && name !== undefined ? [{ name }] : [];
        },
      },
    ],
    reconcile: async (_deps, { stored: { object } }) => {
      if (isDeleted(object) || textAt(object, ["status", "phase"]) !== "Bound") return {};
      // A volume that is bound is protected, also from its deletion.
      await storeStatus(deps, object, { phase: "Released" });
      const isKept = textAt(object, ["spec", "persistentVolumeReclaimPolicy"]) !== "Delete";
      if (!isKept) await deps.client.delete({ ...kinds.volume, name: object.metadata.name ?? "" });
      return {};
    },
  });
}
