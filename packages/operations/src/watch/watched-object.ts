// SPDX-License-Identifier: Apache-2.0
import { createHash } from "node:crypto";
import type { Work } from "@purlin/base";
import type { CacheChange } from "@purlin/kube-client/objects";
import { isJsonObject, type JsonObject, jsonEqual, printJson } from "@purlin/kube-objects/json";
import {
  annotationOf,
  gvkOf,
  type KubeObject,
  keyOf,
  keyText,
  labelOf,
  memberAt,
  objectAt,
  stringAt,
  textMapAt,
} from "@purlin/kube-objects/object";
import { annotations, kinds, labels } from "../names.ts";
import { newOperation } from "../owned-operations.ts";

/** The prefix of the annotations that name the object that triggered an Operation, and the name of its requirement. */
const watched = "ops.crossplane.io/watched-resource";

/** The number of characters of a hash in the name of an Operation. */
const hashLength = 7;

/**
 * The number of objects that were created and deleted before an Operation could be created for them, and still get one for their deletion.
 * Others exist or were handled, so their number is bounded; these grow with what users write as long as an Operation runs or a pause lasts.
 */
const maxBriefObjects = 1000;

/** The resourceVersion of an object that is gone. */
const syntheticVersion = "ops.crossplane.io/synthetic-deleted";

/** Which objects and changes a WatchOperation names. */
interface WatchFilter {
  readonly namespace: string;
  readonly labels: readonly (readonly [key: string, value: string])[];
  /** The fields whose changes count, none of them within another; all changes do if there are none. */
  readonly fields: readonly (readonly string[])[];
}

const filters = new WeakMap<KubeObject, WatchFilter>();

/** Read once for each version of a WatchOperation: it is used for every change of an object. */
function filterOf(watch: KubeObject): WatchFilter {
  const known = filters.get(watch);
  if (known !== undefined) return known;
  const filter = {
    namespace: stringAt(watch, ["spec", "watch", "namespace"]),
    labels: Object.entries(textMapAt(watch, ["spec", "watch", "matchLabels"]) ?? {}),
    fields: outermost(watchedFields(watch)).slice(0, mostFields),
  };
  filters.set(watch, filter);
  return filter;
}

/** Fields that a WatchOperation may name: each is compared when an object changes. */
const mostFields = 100;

/** Why the fields that a WatchOperation names cannot be used; undefined if they can. */
export function fieldsProblem(watch: KubeObject): string | undefined {
  const { length } = watchedFields(watch);
  if (length <= mostFields) return undefined;
  return `annotation ${annotations.watchFields} names ${length} fields (limit ${mostFields}): name fewer, or a field that contains them`;
}

/** The paths of the fields that a WatchOperation names, each once. */
function watchedFields(watch: KubeObject): readonly string[] {
  const paths = (annotationOf(watch, annotations.watchFields) ?? "").split(",").map((one) => one.trim());
  return [...new Set(paths)].filter((path) => path !== "");
}

const separator = "\0";

/** The members of those paths that have none of the others around them. */
function outermost(paths: readonly string[]): readonly (readonly string[])[] {
  const found: string[] = [];
  // With a separator that comes before all other characters, the paths within one follow it.
  for (const path of paths.map((one) => one.replaceAll(".", separator)).sort()) {
    const outer = found.at(-1);
    if (outer === undefined || !path.startsWith(`${outer}${separator}`)) found.push(path);
    if (found.length > mostFields) break;
  }
  return found.map((path) => path.split(separator));
}

/** Whether an object is one that a WatchOperation watches. */
export function isWatched(watch: KubeObject, object: KubeObject): boolean {
  const { namespace, labels: wanted } = filterOf(watch);
  // A cluster-scoped object has no namespace: the field does not apply to it.
  const isInNamespace = namespace === "" || !object.metadata.namespace || object.metadata.namespace === namespace;
  return (
    isInNamespace && wanted.every(([key, value]) => object.metadata.labels?.[key] === value) && !isOwn(watch, object)
  );
}

/**
 * Whether an object exists because of Operations that a WatchOperation created: they are new objects each time, so that no limit for one
 * object would ever end it. An Operation about another Operation never counts: two WatchOperations would trigger each other.
 */
function isOwn(watch: KubeObject, object: KubeObject): boolean {
  const { name = "" } = watch.metadata;
  if (isOfOperations(object.apiVersion)) {
    const isOfWatch = object.kind === kinds.watch.kind && object.metadata.name === name;
    const isOfOperation = annotationOf(object, `${watched}-kind`) === kinds.operation.kind;
    const isOperation = object.kind === kinds.operation.kind;
    return isOfWatch || (isOperation && (labelOf(object, labels.watch) === name || isOfOperation));
  }
  if (object.kind !== "Event") return false;
  const about = { ...objectAt(object, ["regarding"]), ...objectAt(object, ["involvedObject"]) };
  const subject = stringAt(about, ["name"]);
  const isOfName =
    subject === name || (subject.startsWith(`${name}-`) && subject.length === name.length + 1 + hashLength);
  return isOfOperations(stringAt(about, ["apiVersion"])) && isOfName;
}

/** The objects that a WatchOperation watches, found in parts. */
export function* watchedAmong(watch: KubeObject, objects: readonly KubeObject[]): Work<readonly KubeObject[]> {
  const found: KubeObject[] = [];
  for (const object of objects) {
    if (isWatched(watch, object)) found.push(object);
    yield;
  }
  return found;
}

const isOfOperations = (apiVersion: string): boolean => apiVersion.startsWith("ops.crossplane.io/");

/** Whether an update changes a field that the WatchOperation names; every update does unless it names any. */
function isRelevant(watch: KubeObject, before: KubeObject, after: KubeObject): boolean {
  if (before.metadata.resourceVersion === after.metadata.resourceVersion) return false;
  const { fields } = filterOf(watch);
  if (fields.length === 0) return true;
  return fields.some((path) => {
    const [a, b] = [before, after].map((object) => memberAt(object, path));
    return a === undefined || b === undefined ? a !== b : !jsonEqual(a, b);
  });
}

/** What stands for an object that is gone: its name, and that it was deleted. */
function syntheticObject({ apiVersion, kind, metadata: { name, namespace } }: KubeObject, now: number): KubeObject {
  const deletionTimestamp = `${new Date(now).toISOString().slice(0, 19)}Z`;
  const metadata = { name, ...(namespace && { namespace }), deletionTimestamp, resourceVersion: syntheticVersion };
  return { apiVersion, kind, metadata } as KubeObject;
}

/** The name of the Operation for one version of an object. */
export function operationName(watch: string, object: KubeObject): string {
  const { group, version, kind } = gvkOf(object);
  const { namespace = "", name = "", uid = "", resourceVersion = "", deletionTimestamp } = object.metadata;
  const type = `${group}/${version}, Kind=${kind}`;
  const parts = [type, namespace, name, uid, resourceVersion, ...(deletionTimestamp ? [deletionTimestamp] : [])];
  return `${watch}-${createHash("sha256").update(parts.join("/")).digest("hex").slice(0, hashLength)}`;
}

/** The Operation for one version of an object: each step gets the object as a required resource. */
export function watchedOperation(watch: KubeObject, object: KubeObject): KubeObject {
  const { apiVersion, kind, metadata } = object;
  const { name = "", namespace, resourceVersion = "" } = metadata;
  return newOperation(watch, {
    name: operationName(watch.metadata.name ?? "", object),
    label: labels.watch,
    annotations: {
      [`${watched}-apiversion`]: apiVersion,
      [`${watched}-kind`]: kind,
      [`${watched}-name`]: name,
      ...(namespace && { [`${watched}-namespace`]: namespace }),
      [`${watched}-resourceversion`]: resourceVersion,
    },
    spec: (spec) => withWatched(spec, object),
  });
}

/** The spec of an Operation whose steps all get an object as a required resource. */
export function withWatched(spec: JsonObject, { apiVersion, kind, metadata }: KubeObject): JsonObject {
  const { name = "", namespace } = metadata;
  const requirement = { requirementName: watched, apiVersion, kind, name, ...(namespace && { namespace }) };
  const pipeline = Array.isArray(spec["pipeline"]) ? spec["pipeline"].filter(isJsonObject) : [];
  return {
    ...spec,
    pipeline: pipeline.map((step) => {
      const requirements = isJsonObject(step["requirements"]) ? step["requirements"] : {};
      const known = Array.isArray(requirements["requiredResources"]) ? requirements["requiredResources"] : [];
      return { ...step, requirements: { ...requirements, requiredResources: [...known, requirement] } };
    }),
  };
}

/** An object that an Operation is due for: its newest state. */
export interface DirtyObject {
  readonly key: string;
  readonly object: KubeObject;
  /** The resourceVersion of the change: the order in which changes are handled. */
  readonly version: bigint;
  readonly isUpdate: boolean;
  /** Whether an Operation was created for an earlier state of it. */
  readonly wasHandled: boolean;
}

/** The changed objects of one WatchOperation, until Operations have been created for them. */
export class DirtyObjects {
  readonly #now: () => number;
  readonly #dirty = new Map<string, DirtyObject>();
  /** The keys of all watched objects. */
  readonly #watched = new Set<string>();
  /** The keys of the dirty objects that are gone and never had an Operation, the oldest first. */
  readonly #brief = new Set<string>();
  #skipped = 0;
  /** Changes up to this version were handled before the start: a restart delivers them again. */
  readonly #start: bigint;
  /** The newest version that is known to be handled. */
  #handled: bigint;
  /** The newest version of a watched object. */
  #seen: bigint;
  #watch: KubeObject;
  /** The keys of objects that changed since the filter was edited; undefined when the objects that it selects are known. */
  #changed: Set<string> | undefined;

  constructor(watch: KubeObject, now: () => number) {
    this.#now = now;
    this.#watch = watch;
    this.#start = versionOf(stringAt(watch, ["status", "lastHandledResourceVersion"]));
    this.#handled = this.#start;
    this.#seen = this.#start;
  }

  /** Takes over the newest WatchOperation; returns whether other objects are watched now, which {@link DirtyObjects.select} is to take over. */
  follow(watch: KubeObject): boolean {
    const filter = (one: KubeObject): string =>
      printJson([
        stringAt(one, ["spec", "watch", "namespace"]),
        (one["spec"] as { watch?: { matchLabels?: unknown } }).watch?.matchLabels,
      ]);
    const isOther = filter(this.#watch) !== filter(watch);
    this.#watch = watch;
    // After an earlier edit, the objects may not have been listed: that failed.
    if (isOther || this.#changed !== undefined) this.#changed = new Set();
    return this.#changed !== undefined;
  }

  /** The number of watched objects. */
  get count(): number {
    return this.#watched.size;
  }

  /** The newest version up to which every change is handled. */
  get handled(): string {
    let handled = this.#seen;
    for (const { version } of this.#dirty.values()) if (version <= handled) handled = version - 1n;
    if (handled > this.#handled) this.#handled = handled;
    return this.#handled === 0n ? "" : String(this.#handled);
  }

  /** Takes over a change; returns whether it makes an object dirty. */
  change(change: CacheChange): boolean {
    const { object } = change;
    const key = keyText(keyOf(object));
    this.#changed?.add(key);
    if (!isWatched(this.#watch, object)) {
      this.#remove(key);
      this.#watched.delete(key);
      return false;
    }
    const version = versionOf(object.metadata.resourceVersion);
    if (version > this.#seen) this.#seen = version;
    const isKnown = this.#watched.has(key);
    const wasHandled = this.#dirty.get(key)?.wasHandled ?? isKnown;
    if (change.type === "deleted") {
      this.#watched.delete(key);
      return this.#add({ key, object: syntheticObject(object, this.#now()), version, isUpdate: false, wasHandled });
    }
    this.#watched.add(key);
    const isUpdate = change.type === "updated";
    // An object that enters the selector is new here, whatever has changed of it.
    if (isUpdate && isKnown && !isRelevant(this.#watch, change.previous, object)) return false;
    return version > this.#start && this.#add({ key, object, version, isUpdate, wasHandled });
  }

  /**
   * The filter was edited: takes over all objects that it selects now. Those that it did not select before become dirty. What changed since
   * then is known already, and may be older in the list.
   */
  select(objects: readonly KubeObject[]): void {
    const changed = this.#changed;
    this.#changed = undefined;
    const before = new Set(this.#watched);
    for (const key of before) if (!changed?.has(key)) this.#watched.delete(key);
    for (const object of objects) {
      const key = keyText(keyOf(object));
      if (changed?.has(key)) continue;
      this.#watched.add(key);
      const version = versionOf(object.metadata.resourceVersion);
      if (!before.has(key)) this.#add({ key, object, version, isUpdate: false, wasHandled: false });
    }
    for (const key of this.#dirty.keys()) if (before.has(key) && !this.#watched.has(key)) this.#remove(key);
  }

  #add(dirty: DirtyObject): boolean {
    // Its turn comes after that of objects that changed before.
    this.#remove(dirty.key);
    this.#dirty.set(dirty.key, dirty);
    if (dirty.wasHandled || this.#watched.has(dirty.key)) return true;
    this.#brief.add(dirty.key);
    const [oldest] = this.#brief;
    if (oldest === undefined || this.#brief.size <= maxBriefObjects) return true;
    this.#remove(oldest);
    this.#skipped++;
    return true;
  }

  #remove(key: string): void {
    this.#dirty.delete(key);
    this.#brief.delete(key);
  }

  /** The number of objects since the last call that were created and deleted, and get no Operation because there are too many of them. */
  takeSkipped(): number {
    const skipped = this.#skipped;
    this.#skipped = 0;
    return skipped;
  }

  /** All of them, in the order of their changes. */
  all(): readonly DirtyObject[] {
    return [...this.#dirty.values()];
  }

  /** An Operation for this state exists. A change since then stays. */
  done({ key, object }: DirtyObject): void {
    if (this.#dirty.get(key)?.object === object) this.#remove(key);
  }
}

/** A version of a server is an unsigned number of 64 bits. What a user wrote into the status may be a megabyte of digits. */
function versionOf(text: string | undefined): bigint {
  return /^[0-9]{1,20}$/.test(text ?? "") ? BigInt(text ?? "0") : 0n;
}

/** The type that a WatchOperation watches. */
export function typeOf(watch: KubeObject): { readonly apiVersion: string; readonly kind: string } {
  return {
    apiVersion: stringAt(watch, ["spec", "watch", "apiVersion"]),
    kind: stringAt(watch, ["spec", "watch", "kind"]),
  };
}
