// SPDX-License-Identifier: Apache-2.0
import { createHash } from "node:crypto";
import { type Clock, inTurns, systemClock } from "@purlin/base";
import type {
  ApplyOptions,
  CallOptions,
  InformerPool,
  KubeClient,
  KubeReader,
  KubeWriter,
  RestMapper,
  WriteOptions,
} from "@purlin/kube-client";
import { ignoreNotFound } from "@purlin/kube-objects/errors";
import { goJson } from "@purlin/kube-objects/json";
import {
  controllerOf,
  type KubeObject,
  keyOf,
  keyText,
  type ObjectKey,
  type TypeRef,
  textAt,
} from "@purlin/kube-objects/object";
import { wouldApplyChange } from "../apply/would-change.ts";
import { CachedTypes } from "./cached-type.ts";

const pageSize = 500;

/** What {@link createControllerClient} is given. */
interface ControllerClientOptions {
  readonly client: KubeClient;
  /** Shared with the engine, so that a type is followed once. */
  readonly informers: InformerPool;
  /** Types that are always read live. Default: Secrets. */
  readonly uncached?: readonly TypeRef[] | undefined;
  readonly clock?: Clock | undefined;
  /** A type that was not read for this long is no longer watched. Default: ten minutes. */
  readonly idleMs?: number | undefined;
}

const secrets: TypeRef = { apiVersion: "v1", kind: "Secret" };
const tenMinutesMs = 600_000;

/** Makes the client of all reconcilers of one process. Close it before the pool. */
export function createControllerClient(options: ControllerClientOptions): ClosableControllerClient {
  const { client, informers, uncached = [secrets], clock = systemClock, idleMs = tenMinutesMs } = options;
  const types = new CachedTypes({ informers, clock, idleMs });
  const sent = new SentApplies();
  const live = new Set(uncached.map(nameOf));
  const isLive = (type: TypeRef): boolean => live.has(nameOf(type));

  async function get(type: TypeRef, key: ObjectKey, call: { signal?: AbortSignal | undefined } = {}) {
    if (isLive(type)) return ignoreNotFound(client.get(type, key, { signal: call.signal }));
    const objects = await types.open(type, call);
    // A cluster-scoped object is found whatever namespace is asked for. The objects show the scope of their type: one
    // that was looked up before is wrong once the type was defined again.
    return objects.get(key) ?? (key.namespace ? objects.get({ name: key.name }) : undefined);
  }

  async function list(type: TypeRef, options: CachedListOptions = {}) {
    if (isLive(type)) return listLive(client, type, options);
    const { labels, signal } = options;
    return inTurns((await types.open(type, { signal })).list(labels, options));
  }

  function noted(stored: KubeObject, { dryRun, subresource }: WriteOptions = {}): KubeObject {
    // Other subresources answer with objects of other kinds.
    const isItself = subresource === undefined || subresource === "status";
    if (dryRun !== true && isItself && !isLive(stored)) types.stored(stored);
    return stored;
  }

  async function apply(object: KubeObject, call: ApplyOptions): Promise<KubeObject> {
    return noted(await client.apply(object, call), call);
  }

  async function observed(object: KubeObject, { observed: read, signal }: ApplyIfChangedOptions) {
    if (read === undefined) return get(object, keyOf(object), { signal });
    return isLive(object) ? read : types.newest(read);
  }

  async function applyIfChanged(object: KubeObject, call: ApplyIfChangedOptions): Promise<ApplyOutcome> {
    const current = await observed(object, call);
    if (current !== undefined && call.dryRun !== true) {
      const served = { object: current, lists: types.listsOf(object) };
      const isDone = !wouldApplyChange(current, object, call) || sent.isLast(object, call, served);
      if (isDone) return { object: current, sent: false };
    }
    const { observed: _observed, beforeSend, ...options } = call;
    await beforeSend?.(current);
    const stored = await apply(object, options);
    if (call.dryRun !== true) {
      if (wouldApplyChange(stored, object, call))
        sent.remember(object, call, { object: stored, lists: types.listsOf(object) });
      else sent.forget(object, call);
    }
    return { object: stored, sent: true };
  }

  return {
    get,
    list,
    live: client,
    mapper: client.mapper,
    create: async (object, call) => noted(await client.create(object, call), call),
    update: async (object, call) => noted(await client.update(object, call), call),
    patch: async (type, patch, call) => noted(await client.patch(type, patch, call), call),
    apply,
    applyIfChanged,
    async delete(type, call = {}) {
      const known = isLive(type) ? undefined : types.known(type, type);
      const held = await client.delete(type, call);
      if (held !== undefined) return noted(held, call);
      if (known !== undefined && goesAtOnce(known, call)) types.deleted(known);
      return undefined;
    },
    deleteCollection: (type, call) => client.deleteCollection(type, call),
    close: () => types.close(),
  };
}

/** Whether nothing holds an object that is deleted. If we are wrong, its informer will say so. */
function goesAtOnce(
  { metadata }: KubeObject,
  { dryRun, propagationPolicy, preconditions }: Parameters<KubeClient["delete"]>[1] & object,
): boolean {
  if (dryRun === true || (propagationPolicy !== undefined && propagationPolicy !== "Background")) return false;
  if (preconditions?.uid !== undefined && preconditions.uid !== metadata.uid) return false;
  return (metadata.finalizers ?? []).length === 0;
}

function nameOf({ apiVersion, kind }: TypeRef): string {
  return `${apiVersion}/${kind}`;
}

/** The objects of a type from the server itself, page by page, up to a limit. */
async function listLive(
  reader: KubeReader,
  type: TypeRef,
  { namespace, labels = {}, field, controller, limit = Number.POSITIVE_INFINITY, signal }: CachedListOptions,
): Promise<readonly KubeObject[]> {
  const terms = Object.entries(labels).map(([key, value]) => `${key}=${value}`);
  const labelSelector = terms.length === 0 ? undefined : terms.join(",");
  const objects: KubeObject[] = [];
  let next: string | undefined;
  do {
    const page = await reader.list(type, { namespace, labelSelector, signal, limit: pageSize, continue: next });
    for (const item of page.items) {
      const hasField = field === undefined || textAt(item, field.path) === field.value;
      if (hasField && (controller ?? controllerUid(item)) === controllerUid(item)) objects.push(item);
    }
    next = page.continue;
  } while (next !== undefined && objects.length < limit);
  return objects;
}

/** How many applies are remembered; the oldest go first, and are at worst sent again. */
const mostApplies = 10_000;

/** An object as the server serves it, and how often its type had been listed by then. */
export interface ServedObject {
  readonly object: KubeObject;
  readonly lists: number;
}

interface SentApply {
  readonly hash: string;
  readonly resourceVersion: string;
  readonly lists: number;
}

/**
 * Applies after which the object still differs from the applied one: the server normalized a value, or pruned a field.
 * Sending the same again changes nothing while the object is unchanged and its type is not listed again. A list follows
 * every change of the schema, after which the server may accept what it pruned before.
 */
export class SentApplies {
  readonly #sent = new Map<string, SentApply>();

  get size(): number {
    return this.#sent.size;
  }

  remember(wanted: KubeObject, options: ApplyOptions, { object: { metadata }, lists }: ServedObject): void {
    const key = keyOfApply(wanted, options);
    this.#sent.delete(key);
    this.#sent.set(key, { hash: hashOf(wanted), resourceVersion: metadata.resourceVersion ?? "", lists });
    if (this.#sent.size <= mostApplies) return;
    const [oldest] = this.#sent.keys();
    if (oldest !== undefined) this.#sent.delete(oldest);
  }

  forget(wanted: KubeObject, options: ApplyOptions): void {
    this.#sent.delete(keyOfApply(wanted, options));
  }

  /** Whether this is the last apply that was sent, and neither the object nor its schema has changed since. */
  isLast(wanted: KubeObject, options: ApplyOptions, { object: { metadata }, lists }: ServedObject): boolean {
    const sent = this.#sent.get(keyOfApply(wanted, options));
    if (sent === undefined || sent.lists !== lists) return false;
    return sent.resourceVersion === metadata.resourceVersion && sent.hash === hashOf(wanted);
  }
}

function keyOfApply(object: KubeObject, { fieldManager, subresource = "", force }: ApplyOptions): string {
  const { apiVersion, kind } = object;
  return [apiVersion, kind, keyText(keyOf(object)), fieldManager, subresource, force === true].join("\n");
}

function hashOf(object: KubeObject): string {
  return createHash("sha256").update(goJson(object)).digest("base64");
}

function controllerUid(object: KubeObject): string {
  return controllerOf(object)?.uid ?? "";
}

/** Which objects of a type to list. */
export interface CachedListOptions extends CallOptions {
  readonly namespace?: string | undefined;
  /** Labels an object must all have. */
  readonly labels?: Readonly<Record<string, string>> | undefined;
  /** A field an object must have with this value. Like labels, it is looked up in an index, made when first asked for. */
  readonly field?: FieldValue | undefined;
  /** The uid of the owner that controls the objects, looked up in an index; the empty string for objects without a controller. */
  readonly controller?: string | undefined;
  /** Do not read more than these from the server. A cache may answer with more. */
  readonly limit?: number | undefined;
}

/** A string in an object. */
export interface FieldValue {
  readonly path: readonly string[];
  readonly value: string;
}

/** Options of {@link ControllerClient.applyIfChanged}. */
interface ApplyIfChangedOptions extends ApplyOptions {
  /** The object as the caller has just read it. Saves a read of a type that is not cached. */
  readonly observed?: KubeObject | undefined;
  /** Called with what is known of the object when a request is needed; none is sent if it rejects. */
  readonly beforeSend?: ((current: KubeObject | undefined) => Promise<void>) | undefined;
}

/** What {@link ControllerClient.applyIfChanged} did. */
interface ApplyOutcome {
  /** The object as it is stored. */
  readonly object: KubeObject;
  /** Whether a request was needed. */
  readonly sent: boolean;
}

/** The way of every reconciler to the API server: reads from shared caches that include what this process wrote. */
export interface ControllerClient extends KubeWriter {
  /**
   * An object from the shared informer of its type, which is started and synced on first use; never older than what this
   * process wrote itself. Undefined when it does not exist. Types the client does not cache, such as Secrets, are read live.
   * An unserved type is a NoMatchError.
   */
  get(type: TypeRef, key: ObjectKey, options?: CallOptions): Promise<KubeObject | undefined>;
  /** The objects of a type, by the same rules. */
  list(type: TypeRef, options?: CachedListOptions): Promise<readonly KubeObject[]>;
  /** Reads that skip the cache. */
  readonly live: KubeReader;
  readonly mapper: RestMapper;
  /** A server-side apply that is not sent when nothing would change. The result is the same either way. */
  applyIfChanged(object: KubeObject, options: ApplyIfChangedOptions): Promise<ApplyOutcome>;
}

/** A controller client that follows types until it is closed. */
export interface ClosableControllerClient extends ControllerClient {
  close(): Promise<void>;
}
