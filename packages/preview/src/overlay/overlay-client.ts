// SPDX-License-Identifier: Apache-2.0
import { createHash } from "node:crypto";
import { compositionKinds, UsageIndex, usageRefusal, usageTypes, usageWebhookName } from "@purlin/composition";
import { type DeleteOptions, type KubeReader, NoMatchError, type RestMapper } from "@purlin/kube-client";
import { type CachedListOptions, type ControllerClient, wouldApplyChange } from "@purlin/kube-controller";
import { conflict, isForbidden, notFound, textOf } from "@purlin/kube-objects/errors";
import {
  controllerOf,
  type KubeObject,
  keyOf,
  memberAt,
  type ObjectKey,
  objectsAt,
  parseApiVersion,
  type TypeRef,
  textAt,
} from "@purlin/kube-objects/object";
import { matchesLabels, parseLabelSelector } from "@purlin/kube-objects/selector";
import { identityAt } from "./live-reads.ts";
import type { Overlay } from "./overlay.ts";

/** The client that controllers use in a preview. */
export function createOverlayClient(overlay: Overlay): ControllerClient {
  const get: ControllerClient["get"] = async (type, key, { signal } = {}) => {
    const mapping = await mapper.mapping(type, signal);
    return overlay.get(type, mapping.namespaced ? key : { name: key.name }, signal);
  };
  const mapper = overlayMapper(overlay);
  const reader = overlayReader(overlay, mapper);
  const apply: ControllerClient["apply"] = (object, options) =>
    overlay.write({
      target: object,
      options,
      mustExist: options.subresource !== undefined,
      mustNotExist: false,
      send: (client) => client.apply(object, { ...options, dryRun: true }),
    });
  return {
    get,
    mapper,
    apply,
    live: reader,
    async list(type, options = {}) {
      await mapper.mapping(type, options.signal);
      return overlay.list(type, {
        ...options,
        labelSelector: selectorText(options),
        accepts: (object) => isListed(object, options),
      });
    },
    async applyIfChanged(object, { observed: _observed, beforeSend, ...options }) {
      const current = await get(object, keyOf(object), options);
      if (current !== undefined && !wouldApplyChange(current, object, options)) return { object: current, sent: false };
      await beforeSend?.(current);
      return { object: await apply(object, options), sent: true };
    },
    create(object, options = {}) {
      const target = named(object);
      return overlay.write({
        target,
        options,
        mustExist: false,
        mustNotExist: true,
        send: (client) => client.create(target, { ...options, dryRun: true }),
      });
    },
    update: (object, options = {}) =>
      overlay.write({
        target: object,
        options,
        resourceVersion: object.metadata.resourceVersion,
        mustExist: true,
        mustNotExist: false,
        send: (client, version) => client.update(withVersion(object, version), { ...options, dryRun: true }),
      }),
    patch: (type, patch, options) =>
      overlay.write({
        target: asTarget(type),
        options,
        mustExist: true,
        mustNotExist: false,
        send: (client, version) => client.patch(type, withPatchedVersion(patch, version), { ...options, dryRun: true }),
      }),
    delete: (type, options = {}) => deleteObject(overlay, type, options),
    async deleteCollection(type, { namespace, labelSelector, signal } = {}) {
      const { items } = await reader.list(type, { namespace, labelSelector, signal });
      for (const { metadata } of items)
        await deleteObject(overlay, { ...typeOf(type), ...keyOf({ ...type, metadata }) }, { signal });
    },
  };
}

function asTarget({ apiVersion, kind, name, namespace }: TypeRef & ObjectKey): KubeObject {
  return { apiVersion, kind, metadata: { name, ...(namespace && { namespace }) } };
}

function typeOf({ apiVersion, kind }: TypeRef): TypeRef {
  return { apiVersion, kind };
}

function withVersion(object: KubeObject, resourceVersion: string | undefined): KubeObject {
  const { resourceVersion: sent, ...metadata } = object.metadata;
  return { ...object, metadata: { ...metadata, ...(sent && resourceVersion && { resourceVersion }) } };
}

/** A JSON patch that tests or sets the resourceVersion means the version that was read. */
function withPatchedVersion(
  patch: Parameters<ControllerClient["patch"]>[1],
  version: string | undefined,
): typeof patch {
  if (!Array.isArray(patch) || version === undefined) return patch;
  return patch.map((step) => {
    const isVersion =
      typeof step === "object" && step !== null && !Array.isArray(step) && step["path"] === "/metadata/resourceVersion";
    return isVersion ? { ...step, value: version } : step;
  });
}

/** An object that leaves its name to the server gets one that is the same in every preview. */
function named(object: KubeObject): KubeObject {
  const { name, generateName } = object.metadata;
  if (name || !generateName) return object;
  const hash = createHash("sha256").update(
    JSON.stringify([object.apiVersion, object.kind, object.metadata.namespace ?? "", generateName]),
  );
  return { ...object, metadata: { ...object.metadata, name: `${generateName}${hash.digest("hex").slice(0, 5)}` } };
}

function selectorText({ labels = {} }: CachedListOptions): string {
  return Object.entries(labels)
    .map(([key, value]) => `${key}=${value}`)
    .sort()
    .join(",");
}

function isListed(object: KubeObject, { labels = {}, field, controller }: CachedListOptions): boolean {
  const own = object.metadata.labels ?? {};
  const hasLabels = Object.entries(labels).every(([key, value]) => Object.hasOwn(own, key) && own[key] === value);
  const hasField = field === undefined || textAt(object, field.path) === field.value;
  return hasLabels && hasField && (controller === undefined || (controllerOf(object)?.uid ?? "") === controller);
}

/** Reads that skip caches: the overlay is as new as the preview gets. */
function overlayReader(overlay: Overlay, mapper: RestMapper): KubeReader {
  return {
    async get(type, key, { signal } = {}) {
      const mapping = await mapper.mapping(type, signal);
      const place: ObjectKey = mapping.namespaced ? key : { name: key.name };
      const found = await overlay.get(type, place, signal);
      if (found === undefined)
        throw notFound({ group: parseApiVersion(type.apiVersion).group, resource: mapping.resource }, key.name);
      return found;
    },
    async list(type, { namespace, labelSelector, signal } = {}) {
      await mapper.mapping(type, signal);
      const selector = parseLabelSelector(labelSelector ?? "");
      const items = await overlay.list(type, {
        namespace,
        labelSelector,
        signal,
        accepts: ({ metadata }) => matchesLabels(selector, metadata.labels),
      });
      return { items, resourceVersion: "" };
    },
    watch: () => Promise.reject(new Error("a preview is not watched")),
  };
}

/** Where objects live: on the live server, or where definitions of the preview put them. */
function overlayMapper(overlay: Overlay): RestMapper {
  const { mapper } = overlay.live.client;
  return {
    forget: (apiVersion) => mapper.forget(apiVersion),
    async mapping(type, signal) {
      const own = await definedHere(overlay, type);
      if (own !== undefined) return own;
      return mapper.mapping(type, signal);
    },
  };
}

async function definedHere(
  overlay: Overlay,
  type: TypeRef,
): ReturnType<RestMapper["mapping"]> extends Promise<infer M> ? Promise<M | undefined> : never {
  const { group, version } = parseApiVersion(type.apiVersion);
  const defines = (crd: KubeObject): boolean =>
    textAt(crd, ["spec", "group"]) === group && textAt(crd, ["spec", "names", "kind"]) === type.kind;
  if (overlay.removed(compositionKinds.crd).some(defines)) throw new NoMatchError(type);
  for (const now of overlay.definitions.filter(defines)) {
    const isServed = objectsAt(now, ["spec", "versions"]).some(
      (one) => one["name"] === version && one["served"] === true,
    );
    if (!isServed) throw new NoMatchError(type);
    const namespaced = memberAt(now, ["spec", "scope"]) === "Namespaced";
    return { ...typeOf(type), resource: textAt(now, ["spec", "names", "plural"]) ?? "", namespaced };
  }
  return undefined;
}

const foreground = "foregroundDeletion";
/** Finalizers of controllers that a preview does not run, and that always release what is deleted. */
const releasedFinalizers: ReadonlySet<string> = new Set(["revision.pkg.crossplane.io"]);
const deletedAt = "2024-01-01T00:00:00Z";

/**
 * Deletes an object of the overlay. The live server judges a dry run first: a webhook or a Usage may refuse it. What holds the object, its
 * finalizers and those that the propagation policy adds, holds it here too.
 */
async function deleteObject(
  overlay: Overlay,
  type: TypeRef & ObjectKey,
  options: DeleteOptions,
): Promise<KubeObject | undefined> {
  const { apiVersion, kind, namespace, name } = type;
  const target: KubeObject = { apiVersion, kind, metadata: { name, ...(namespace && { namespace }) } };
  const current = await overlay.get(target, keyOf(target), options.signal);
  if (current === undefined) throw notFound(await overlay.resourceOf(target), name);
  const { uid } = options.preconditions ?? {};
  if (uid !== undefined && uid !== current.metadata.uid)
    throw conflict(
      await overlay.resourceOf(target),
      name,
      `the UID in the precondition (${uid}) does not match the UID in record (${current.metadata.uid}). The object might have been deleted and then recreated`,
    );
  await judgeDelete(overlay, target, options);
  const entry = await overlay.touch(target);
  const { deletionTimestamp } = current.metadata;
  const finalizers = (current.metadata.finalizers ?? []).filter((name) => !releasedFinalizers.has(name));
  const held =
    options.propagationPolicy === "Foreground" && !finalizers.includes(foreground)
      ? [...finalizers, foreground]
      : finalizers;
  if (held.length === 0) {
    overlay.remove(target);
    return undefined;
  }
  if (deletionTimestamp && held === finalizers) return entry.now;
  const metadata = {
    ...current.metadata,
    finalizers: [...held],
    deletionTimestamp: deletionTimestamp ?? deletedAt,
    deletionGracePeriodSeconds: 0,
  };
  return overlay.store(target, { ...current, metadata });
}

async function judgeDelete(overlay: Overlay, target: KubeObject, { signal }: DeleteOptions): Promise<void> {
  const before = overlay.entries.get(identityAt(target, keyOf(target)))?.before;
  const isServed = await overlay.live.serves(target, signal);
  const stored = before ?? (isServed ? await overlay.live.get(target, keyOf(target), signal) : undefined);
  if (stored === undefined || stored.metadata.deletionTimestamp) return;
  try {
    await overlay.live.client.delete({ ...target, ...keyOf(target) }, { dryRun: true, signal });
  } catch (error) {
    const entry = await overlay.touch(target);
    if (textOf(error).includes(usageWebhookName) && !(await isInUse(overlay, target, signal))) {
      entry.refusal = undefined;
      return;
    }
    if (isForbidden(error) && !/denied|usage|in-use/i.test(textOf(error))) {
      entry.approximate.add("forbidden");
      return;
    }
    entry.refusal = { text: textOf(error), isInvalid: false };
    throw error;
  }
}

/** Whether a Usage protects an object in the overlay: those that the live server knows may be deleted here, or hold it no longer. */
async function isInUse(overlay: Overlay, target: KubeObject, signal: AbortSignal | undefined): Promise<boolean> {
  const index = new UsageIndex();
  for (const type of usageTypes) {
    const usages = (await overlay.live.serves(type, signal))
      ? await overlay.list(type, { signal, accepts: () => true })
      : [];
    for (const usage of usages) index.written(identityAt(type, keyOf(usage)), usage);
  }
  const { group } = parseApiVersion(target.apiVersion);
  const deletion = { group, kind: target.kind, object: target, user: { name: "" }, policy: "Background" };
  return usageRefusal(index, deletion) !== undefined;
}

/**
 * Plays the garbage collector once: what only deleted objects own is deleted, and what waited for its dependents goes with the last of
 * them. Resolves to whether anything changed.
 */
export async function collectGarbage(
  overlay: Overlay,
  dependentsOf: (owner: KubeObject) => Promise<readonly KubeObject[]>,
): Promise<boolean> {
  let changed = false;
  for (const entry of [...overlay.entries.values()]) {
    const { before, now } = entry;
    const isWaiting =
      now?.metadata.finalizers?.includes(foreground) === true && now.metadata.deletionTimestamp !== undefined;
    const owner = now ?? before;
    if (owner === undefined || (now !== undefined && !isWaiting)) continue;
    const dependents = (await dependentsOf(owner)).filter((one) => goesWith(owner, one));
    for (const one of dependents) {
      if (one.metadata.deletionTimestamp || (await staysRefused(overlay, one))) continue;
      changed = (await isDeleted(overlay, one, isWaiting ? { propagationPolicy: "Foreground" } : {})) || changed;
    }
    if (now !== undefined && isWaiting && dependents.length === 0) {
      const finalizers = (now.metadata.finalizers ?? []).filter((name) => name !== foreground);
      await overlay.store(now, { ...now, metadata: { ...now.metadata, finalizers } });
      changed = true;
    }
  }
  return changed;
}

/** An object goes with its owner, and with its namespace. */
function goesWith(owner: KubeObject, { metadata }: KubeObject): boolean {
  const isNamespace = owner.apiVersion === "v1" && owner.kind === "Namespace";
  return isNamespace
    ? metadata.namespace === owner.metadata.name
    : metadata.ownerReferences?.some(({ uid }) => uid === owner.metadata.uid) === true;
}

/** Whether the deletion of an object was refused and would be again: what a Usage protected goes after the Usage. */
async function staysRefused(overlay: Overlay, object: KubeObject): Promise<boolean> {
  const text = overlay.entries.get(identityAt(object, keyOf(object)))?.refusal?.text;
  if (text === undefined) return false;
  return !text.includes(usageWebhookName) || isInUse(overlay, object, undefined);
}

/** Deletes an object; resolves to whether that was allowed. */
async function isDeleted(overlay: Overlay, object: KubeObject, options: DeleteOptions): Promise<boolean> {
  const { apiVersion, kind } = object;
  try {
    await deleteObject(overlay, { apiVersion, kind, ...keyOf(object) }, options);
    return true;
  } catch {
    return false;
  }
}
