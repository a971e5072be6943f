// SPDX-License-Identifier: Apache-2.0
// Reads the used and the using object of a Usage, and resolves its selectors.
import { inTurns, isPartDone, type Work } from "@purlin/base";
import { createInformerPool, type InformerPool, type KubeReader } from "@purlin/kube-client";
import type { ControllerClient } from "@purlin/kube-controller";
import { during } from "@purlin/kube-objects/errors";
import { goQuote, goQuotedMap, type JsonObject } from "@purlin/kube-objects/json";
import {
  controllerOf,
  type KubeObject,
  memberAt,
  type ObjectKey,
  objectAt,
  stringAt,
  type TypeRef,
  textMapAt,
  withMember,
} from "@purlin/kube-objects/object";
import { fieldManagers } from "../composite-resource/constants.ts";
import { namedNamespace } from "./usage-index.ts";

/** On a used object, so that the webhook of a cluster is asked about its deletion. */
export const inUseLabel = "crossplane.io/in-use";

/** The side of a Usage: the used object, or the using one. */
export type Side = "of" | "by";

/** Reads and writes for one reconcile. */
export interface UsageObjectDeps {
  readonly client: ControllerClient;
  readonly objects: UsedObjects;
  readonly signal: AbortSignal;
  /** Read from the server: the cache may be behind what others wrote. */
  readonly isLive?: boolean;
}

/** Which objects of a type to list. */
interface Selection {
  readonly labels: Readonly<Record<string, string>>;
  readonly namespace: string | undefined;
  readonly signal: AbortSignal;
}

const pageSize = 500;

/** Objects of any kind without their contents: Usages need only metadata, and a cache of it stays small. */
export class UsedObjects {
  /** The informers of the objects that have the label of used ones: most objects of their kinds do not. */
  readonly used: InformerPool;
  /** The informers of whole kinds, for as long as an object of the kind is awaited. */
  readonly awaited: InformerPool;
  readonly #live: KubeReader;

  constructor(live: KubeReader) {
    this.#live = live;
    this.used = createInformerPool(live, { transform: withoutContents, labelSelector: `${inUseLabel}=true` });
    this.awaited = createInformerPool(live, { transform: withoutContents });
  }

  /** An object from the cache, one that is not there from the server. Rejects with the NotFound of the server. */
  async get(type: TypeRef, key: ObjectKey, signal: AbortSignal): Promise<KubeObject> {
    for (const pool of [this.used, this.awaited]) {
      const informer = pool.peek(type);
      const found = informer?.isReady ? informer.get(key) : undefined;
      if (found !== undefined) return found;
    }
    return this.#live.get(type, key, { signal });
  }

  async list(type: TypeRef, { labels, namespace, signal }: Selection): Promise<readonly KubeObject[]> {
    const labelSelector = Object.entries(labels)
      .map(([name, value]) => `${name}=${value}`)
      .join(",");
    const selection = { namespace, ...(labelSelector !== "" && { labelSelector }) };
    const informer = this.awaited.peek(type);
    if (informer?.isReady) return informer.list(selection);
    const found: KubeObject[] = [];
    let next: string | undefined;
    do {
      const page = await this.#live.list(type, { ...selection, signal, limit: pageSize, continue: next });
      for (const object of page.items) found.push(withoutContents(object));
      next = page.continue;
    } while (next !== undefined);
    return found;
  }
}

function withoutContents({ apiVersion, kind, metadata }: KubeObject): KubeObject {
  // Cheaper than a copy without the member, and made for every change of a kind that Usages name.
  return { apiVersion, kind, metadata: { ...metadata, managedFields: [] } };
}

/** The type at one side of a Usage. */
export function sideType(usage: KubeObject, side: Side): TypeRef {
  return { apiVersion: stringAt(usage, ["spec", side, "apiVersion"]), kind: stringAt(usage, ["spec", side, "kind"]) };
}

/** The name at one side of a Usage; empty until its selector is resolved. */
export function sideName(usage: KubeObject, side: Side): string {
  return stringAt(usage, ["spec", side, "resourceRef", "name"]);
}

/** A namespaced Usage names a cluster-scoped object. */
export class WrongScopeError extends Error {}

/** A Usage without a namespace names a namespaced object. */
export class NoNamespaceError extends Error {}

/**
 * Where the object at one side is. Throws what a client says that has to read a namespaced object without a namespace, and
 * {@link WrongScopeError} for a cluster-scoped used object that a namespaced Usage names itself.
 */
async function sideKey(usage: KubeObject, side: Side, { client, signal }: UsageObjectDeps): Promise<ObjectKey> {
  const name = sideName(usage, side);
  const { namespaced } = await client.mapper.mapping(sideType(usage, side), signal);
  const own = usage.metadata.namespace;
  const named = side === "of" ? namedNamespace(usage) : undefined;
  if (!namespaced) {
    // A selector stores the empty namespace of what it found.
    const isRefused = side === "of" && own !== undefined && named !== "";
    if (isRefused) throw new WrongScopeError(wrongScopeText(usage));
    return { name };
  }
  const namespace = named ?? own;
  if (!namespace) throw new NoNamespaceError("an empty namespace may not be set when a resource name is provided");
  return { name, namespace };
}

function wrongScopeText(usage: KubeObject): string {
  const what = `${sideType(usage, "of").kind}/${sideName(usage, "of")}`;
  return `a namespaced Usage cannot protect the cluster-scoped ${what}; use a ClusterUsage`;
}

/** Reads the object at one side; throws the NotFound of the server when it does not exist. */
export async function readSide(usage: KubeObject, side: Side, deps: UsageObjectDeps): Promise<KubeObject> {
  const { client, objects, signal, isLive } = deps;
  const type = sideType(usage, side);
  const key = await sideKey(usage, side, deps);
  return isLive ? client.live.get(type, key, { signal }) : objects.get(type, key, signal);
}

/** Whether a side has to be resolved. */
export function isUnresolved(usage: KubeObject, side: Side): boolean {
  return memberAt(usage, ["spec", side]) !== undefined && sideName(usage, side) === "";
}

/** The Usage with the names of what its selectors find, each stored as it is found. */
export async function resolveSelectors(usage: KubeObject, deps: UsageObjectDeps): Promise<KubeObject> {
  let resolved = usage;
  for (const side of ["of", "by"] as const) {
    if (!isUnresolved(resolved, side)) continue;
    const found = await during(`cannot resolve selector at "spec.${side}.resourceSelector"`, () =>
      select(resolved, side, deps),
    );
    resolved = await storeReference(resolved, side, { found, deps });
  }
  return resolved;
}

async function select(
  usage: KubeObject,
  side: Side,
  { client, objects, signal }: UsageObjectDeps,
): Promise<KubeObject> {
  const at = ["spec", side, "resourceSelector"];
  if (memberAt(usage, at) === undefined) throw new Error("no selector defined for resolving");
  const type = sideType(usage, side);
  const labels = textMapAt(usage, [...at, "matchLabels"]) ?? {};
  const named = side === "of" ? stringAt(usage, [...at, "namespace"]) : "";
  const listed = await during("cannot list resources matching labels", async () => {
    const { namespaced } = await client.mapper.mapping(type, signal);
    const namespace = namespaced ? named || usage.metadata.namespace : undefined;
    return objects.list(type, { labels, namespace, signal });
  });
  const needsController = memberAt(usage, [...at, "matchControllerRef"]) === true;
  const controller = controllerOf(usage)?.uid;
  const isOurs = (object: KubeObject): boolean =>
    !needsController || (controller !== undefined && controllerOf(object)?.uid === controller);
  const found = await inTurns(firstOf(listed, isOurs));
  if (found !== undefined) return found;
  const suffix = needsController ? " and with same controller reference" : "";
  throw new Error(`no ${goQuote(type.kind)} found matching labels: ${goQuotedMap(labels)}${suffix}`);
}

/** The first of the objects that count, by namespace and name. There may be a great many of them. */
function* firstOf(
  objects: readonly KubeObject[],
  counts: (object: KubeObject) => boolean,
): Work<KubeObject | undefined> {
  let first: { readonly object: KubeObject; readonly place: string } | undefined;
  for (const object of objects) {
    if (isPartDone()) yield;
    const { namespace = "", name = "" } = object.metadata;
    const place = `${namespace}/${name}`;
    if ((first === undefined || place < first.place) && counts(object)) first = { object, place };
  }
  return first?.object;
}

async function storeReference(
  usage: KubeObject,
  side: Side,
  { found, deps: { client, signal } }: { readonly found: KubeObject; readonly deps: UsageObjectDeps },
): Promise<KubeObject> {
  const { name = "", namespace = "" } = found.metadata;
  const own = usage.metadata.namespace ?? "";
  const isElsewhere = side === "of" && own !== "" && namespace !== own;
  const reference: JsonObject = { name, ...(isElsewhere && { namespace }) };
  const path = ["spec", side, "resourceRef"];
  const after = withMember(usage, path, { ...objectAt(usage, path), ...reference });
  return during("cannot update usage after resolving selector", () =>
    client.update(after, { fieldManager: fieldManagers.update, signal }),
  );
}
