// SPDX-License-Identifier: Apache-2.0
// Claims, volumes and their classes that are in use are not removed: a finalizer holds them until nothing uses them.

import { inTurns, type Work } from "@purlin/base";
import {
  type AdmissionPlugin,
  type KindController,
  type KindControllerDeps,
  listAt,
  metaOf,
  type Store,
  StoreFollower,
  type Watch,
  withMeta,
} from "@purlin/kube-apiserver/kinds";
import { isConflict, isNotFound } from "@purlin/kube-objects/errors";
import type { JsonObject } from "@purlin/kube-objects/json";
import { stringAt } from "@purlin/kube-objects/object";

/** How one kind is protected. */
interface Protection {
  readonly finalizer: string;
  /** The ServiceAccount of the controller that does it in Kubernetes. */
  readonly account: string;
  /** Where the store keeps the objects. */
  readonly prefix: string;
  readonly pathOf: (key: string) => string;
  /** Where the store keeps what can use an object; a change there can end its use. The object itself needs not be in it. */
  readonly usersOf: (key: string) => readonly string[];
  /** Whether an object is in use by what it says itself. */
  readonly isUsed?: (object: JsonObject) => boolean;
  readonly isUsedBy?: (object: JsonObject, user: JsonObject) => boolean;
}

const claimPrefix = "//persistentvolumeclaims/";
const volumePrefix = "//persistentvolumes/";
const classPrefix = "/storage.k8s.io/volumeattributesclasses/";

/** A claim is in use while a Pod on a node has a volume of it. */
export const claimProtection: Protection = {
  finalizer: "kubernetes.io/pvc-protection",
  account: "pvc-protection-controller",
  prefix: claimPrefix,
  pathOf: (key) => `/api/v1/namespaces/${key.slice(claimPrefix.length).replace("/", "/persistentvolumeclaims/")}`,
  usersOf: (key) => [`//pods/${key.slice(claimPrefix.length).split("/", 1)[0] ?? ""}/`],
  isUsedBy: (claim, pod) => usesClaim(pod, claim),
};

/** A volume is in use while it is bound. */
export const volumeProtection: Protection = {
  finalizer: "kubernetes.io/pv-protection",
  account: "pv-protection-controller",
  prefix: volumePrefix,
  pathOf: (key) => `/api/v1/persistentvolumes/${key.slice(volumePrefix.length)}`,
  usersOf: () => [],
  isUsed: (volume) => stringAt(volume, ["status", "phase"]) === "Bound",
};

/** A class is in use while a claim or a volume has it, or is about to have it. */
export const attributesClassProtection: Protection = {
  finalizer: "kubernetes.io/vac-protection",
  account: "volumeattributesclass-protection-controller",
  prefix: classPrefix,
  pathOf: (key) => `/apis/storage.k8s.io/v1/volumeattributesclasses/${key.slice(classPrefix.length)}`,
  usersOf: () => [claimPrefix, volumePrefix],
  isUsedBy: (one, user) => classPaths.some((path) => stringAt(user, path) === metaOf(one).name),
};

const classPaths = [
  ["spec", "volumeAttributesClassName"],
  ["status", "currentVolumeAttributesClassName"],
  ["status", "modifyVolumeStatus", "targetVolumeAttributesClassName"],
];

/** Whether a Pod uses a claim. A Pod that no node runs does not: the kubelet does not start it with a deleted claim. */
function usesClaim(pod: JsonObject, claim: JsonObject): boolean {
  if (stringAt(pod, ["spec", "nodeName"]) === "") return false;
  const { name, ownerReferences } = metaOf(claim);
  const { name: podName, uid } = metaOf(pod);
  const isOwned = ownerReferences?.some((owner) => owner.controller === true && owner.uid === uid) ?? false;
  const isOfPod = isOwned && !isShutDown(pod);
  return listAt(pod, "spec", "volumes").some(
    (volume) =>
      stringAt(volume, ["persistentVolumeClaim", "claimName"]) === name ||
      (isOfPod && volume["ephemeral"] !== undefined && `${podName}-${stringAt(volume, ["name"])}` === name),
  );
}

/** Whether the kubelet is done with a Pod, or the Pod was deleted by force. */
function isShutDown(pod: JsonObject): boolean {
  const { deletionTimestamp, deletionGracePeriodSeconds } = metaOf(pod);
  return deletionTimestamp !== undefined && deletionGracePeriodSeconds === 0;
}

const protections: readonly Protection[] = [claimProtection, volumeProtection, attributesClassProtection];

/** The plugin that gives new objects their finalizer. */
export const storageObjectInUseProtection: AdmissionPlugin = {
  name: "StorageObjectInUseProtection",
  handles: ({ operation, type, subresource }) =>
    operation === "CREATE" && subresource === "" && protections.some(({ prefix }) => prefix === prefixOf(type)),
  admit: ({ object, type }) => {
    const found = protections.find(({ prefix }) => prefix === prefixOf(type));
    return found === undefined ? object : withFinalizer(object, found.finalizer);
  },
};

function prefixOf({ group, resource }: { readonly group: string; readonly resource: string }): string {
  return `/${group}/${resource}/`;
}

function hasFinalizer(object: JsonObject, finalizer: string): boolean {
  return metaOf(object).finalizers?.includes(finalizer) ?? false;
}

function withFinalizer(object: JsonObject, finalizer: string): JsonObject {
  if (hasFinalizer(object, finalizer)) return object;
  return withMeta(object, { finalizers: [...(metaOf(object).finalizers ?? []), finalizer] });
}

function withoutFinalizer(object: JsonObject, finalizer: string): JsonObject {
  return withMeta(object, { finalizers: metaOf(object).finalizers?.filter((name) => name !== finalizer) });
}

/** Removes the finalizer of deleted objects that nothing uses, and adds it to objects without it. */
export class ProtectionController implements KindController {
  readonly #store: Store<JsonObject>;
  readonly #protection: Protection;
  readonly #client: ReturnType<KindControllerDeps["clientOf"]>;
  readonly #objects: StoreFollower;
  /** What is watched for deleted objects that are in use, by their keys. */
  readonly #waiting = new Map<string, readonly Watch<JsonObject>[]>();

  constructor(store: Store<JsonObject>, protection: Protection, { clientOf, onError }: KindControllerDeps) {
    const { prefix } = protection;
    this.#store = store;
    this.#protection = protection;
    this.#client = clientOf(protection.account);
    const reconcile = (key: string): Promise<void> => this.#reconcile(key);
    this.#objects = new StoreFollower({ store, prefix, onError, reconcile });
  }

  start(): void {
    this.#objects.start();
  }

  stop(): void {
    this.#objects.stop();
    for (const key of [...this.#waiting.keys()]) this.#stopWaiting(key);
  }

  async #reconcile(key: string): Promise<void> {
    this.#stopWaiting(key);
    const object = this.#store.get(key)?.value;
    if (object === undefined) return;
    const { finalizer } = this.#protection;
    const isProtected = hasFinalizer(object, finalizer);
    if (metaOf(object).deletionTimestamp === undefined) {
      if (!isProtected) await this.#update(key, withFinalizer(object, finalizer));
    } else if (isProtected) {
      const seen = this.#store.revision;
      if (await inTurns(this.#findingUse(key, object))) this.#wait(key, seen);
      else await this.#update(key, withoutFinalizer(object, finalizer));
    }
  }

  /** Whether an object is in use. What can use it is looked at one by one: there may be much of it. */
  *#findingUse(key: string, object: JsonObject): Work<boolean> {
    const { isUsed, isUsedBy, usersOf } = this.#protection;
    if (isUsed?.(object)) return true;
    const lists = usersOf(key).map((prefix) => this.#store.list({ prefix }).entries);
    for (const { value } of lists.flat()) {
      if (isUsedBy?.(object, value)) return true;
      yield;
    }
    return false;
  }

  /** An object that has changed or is gone meanwhile is looked at again because of that. */
  async #update(key: string, object: JsonObject): Promise<void> {
    try {
      const query = { fieldManager: "kube-controller-manager" };
      await this.#client.send("PUT", this.#protection.pathOf(key), { query, body: object });
    } catch (error) {
      if (!isConflict(error) && !isNotFound(error)) throw error;
    }
  }

  /** Looks at an object again after a change of what can use it, since the revision at which it was in use. */
  #wait(key: string, after: number): void {
    const onReady = (): void => this.#objects.enqueue(key);
    const watches = this.#protection.usersOf(key).map((scope) => this.#store.watch({ scope, after, onReady }));
    // A watch calls only after a look that found nothing.
    if (watches.some((watch) => watch.take().length > 0)) onReady();
    this.#waiting.set(key, watches);
  }

  #stopWaiting(key: string): void {
    for (const watch of this.#waiting.get(key) ?? []) watch.close();
    this.#waiting.delete(key);
  }
}
