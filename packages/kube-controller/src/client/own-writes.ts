// SPDX-License-Identifier: Apache-2.0
import { isPartDone, type Work } from "@purlin/base";
import type { Informer } from "@purlin/kube-client";
import { controllerOf, type KubeObject, keyOf, keyText, type ObjectKey, textAt } from "@purlin/kube-objects/object";
import type { CachedListOptions, FieldValue } from "./create-controller-client.ts";

type OwnWrite =
  | { readonly kind: "stored"; readonly object: KubeObject; readonly lists: number }
  // `version` is the newest one known of the deleted object.
  | { readonly kind: "deleted"; readonly uid: string; readonly version: string; readonly lists: number };

/** Made for a type when its objects are first asked for by label. */
const labelIndex = "labels";
/** Objects with more labels are not indexed by each of them: they may have as many as a request has values. */
const mostIndexed = 64;
const manyLabels = "";
/** Made for a type when its objects are first asked for by controller. Objects without one are found by their namespace. */
const controllerIndex = "controller";
const controllerText = (object: KubeObject): string =>
  controllerOf(object)?.uid ?? `namespace ${object.metadata.namespace ?? ""}`;
const labelText = ([key, value]: readonly [string, string]): string => `${key}=${value}`;

/** What an object is found under: each of its labels, or that it has many. */
function labelTexts({ metadata: { labels = {} } }: KubeObject): readonly string[] {
  const texts: string[] = [];
  for (const key in labels) {
    if (texts.length === mostIndexed) return [manyLabels];
    texts.push(labelText([key, labels[key] ?? ""]));
  }
  return texts;
}

/** How many writes of one type may wait for their informer; the oldest go first. */
const mostWrites = 10_000;

/**
 * What this process wrote to the objects of one type and its informer has not seen yet. Reads that go through here are
 * never older than our own writes.
 */
export class OwnWrites {
  readonly #informer: Informer;
  readonly #writes = new Map<string, OwnWrite>();
  readonly #unsubscribe: () => void;

  constructor(informer: Informer) {
    this.#informer = informer;
    this.#unsubscribe = informer.subscribe(({ object }) => this.#look(keyText(keyOf(object))));
  }

  get size(): number {
    return this.#writes.size;
  }

  stored(object: KubeObject): void {
    if (isGone(object)) {
      this.deleted(object);
      return;
    }
    const key = keyText(keyOf(object));
    const { resourceVersion } = object.metadata;
    const known = this.#writes.get(key);
    // Answers may overtake each other, also that to a write and that to the delete after it.
    if (known !== undefined && compareResourceVersions(versionOf(known), resourceVersion) > 0) return;
    this.#remember(key, { kind: "stored", object, lists: this.#informer.lists });
  }

  /** An object that had nothing to wait for was deleted; this is the last we know of it. */
  deleted(object: KubeObject): void {
    const { uid = "", resourceVersion: version = "" } = object.metadata;
    this.#remember(keyText(keyOf(object)), { kind: "deleted", uid, version, lists: this.#informer.lists });
  }

  get(key: ObjectKey): KubeObject | undefined {
    const text = keyText(key);
    this.#look(text);
    return this.#overlay(this.#informer.get(key), this.#writes.get(text));
  }

  /** The newer version of an object, of the one that was read and the known one; undefined when it was deleted since it was read. */
  newest(object: KubeObject): KubeObject | undefined {
    const known = this.get(keyOf(object));
    const { resourceVersion } = object.metadata;
    const version = known === undefined ? this.#informer.resourceVersion : known.metadata.resourceVersion;
    return compareResourceVersions(version, resourceVersion) >= 0 ? known : object;
  }

  /**
   * The objects with all of these labels, of one namespace if given; cluster-scoped objects belong to every namespace.
   * Only the objects with the rarest label, or with the field or controller, are examined, however many others there are.
   */
  *list(
    labels: Readonly<Record<string, string>> = {},
    { namespace, field, controller }: Pick<CachedListOptions, "namespace" | "field" | "controller"> = {},
  ): Work<KubeObject[]> {
    const terms = Object.entries(labels);
    const owner = controller === undefined ? undefined : controller || `namespace ${namespace ?? ""}`;
    const objects =
      owner !== undefined
        ? this.#controlledBy(owner)
        : field === undefined
          ? this.#candidates(terms)
          : this.#withField(field);
    const wanted = (object: KubeObject): boolean =>
      (owner === undefined || controllerText(object) === owner) &&
      (!namespace || !object.metadata.namespace || object.metadata.namespace === namespace) &&
      terms.every(([key, value]) => object.metadata.labels?.[key] === value) &&
      (field === undefined || textAt(object, field.path) === field.value);
    for (const key of this.#writes.keys()) this.#look(key);
    const found: KubeObject[] = [];
    for (const object of this.#withWrites(objects)) {
      if (wanted(object)) found.push(object);
      if (terms.length > mostIndexed || isPartDone()) yield;
    }
    return found;
  }

  /** Objects of the informer as this process wrote them by now, and then those that it wrote and the informer has not seen. */
  #withWrites(objects: KubeObject[]): Iterable<KubeObject> {
    return this.#writes.size === 0 ? objects : this.#overlaid(objects, new Map(this.#writes));
  }

  *#overlaid(objects: readonly KubeObject[], writes: Map<string, OwnWrite>): Iterable<KubeObject> {
    for (const object of objects) {
      const key = keyText(keyOf(object));
      const newest = this.#overlay(object, writes.get(key));
      writes.delete(key);
      if (newest !== undefined) yield newest;
    }
    for (const write of writes.values()) if (write.kind === "stored") yield write.object;
  }

  #candidates(terms: readonly (readonly [string, string])[]): KubeObject[] {
    const [first, ...others] = terms.slice(0, mostIndexed).map(labelText);
    if (first === undefined) return this.#informer.list();
    this.#informer.addIndex(labelIndex, labelTexts);
    const withMany = this.#informer.byIndex(labelIndex, manyLabels);
    if (terms.length > mostIndexed) return withMany;
    const withFew = this.#informer.byIndex(labelIndex, first, ...others);
    return withMany.length === 0 ? withFew : [...withFew, ...withMany];
  }

  #controlledBy(owner: string): KubeObject[] {
    this.#informer.addIndex(controllerIndex, (object) => [controllerText(object)]);
    return this.#informer.byIndex(controllerIndex, owner);
  }

  #withField({ path, value }: FieldValue): KubeObject[] {
    const index = `field ${path.join(".")}`;
    this.#informer.addIndex(index, (object) => [textAt(object, path) ?? []].flat());
    return this.#informer.byIndex(index, value);
  }

  /** Drops what the informer knows by now. */
  sweep(): void {
    for (const key of this.#writes.keys()) this.#look(key);
  }

  close(): void {
    this.#unsubscribe();
    this.#writes.clear();
  }

  #overlay(cached: KubeObject | undefined, write: OwnWrite | undefined): KubeObject | undefined {
    if (write === undefined) return cached;
    if (write.kind === "stored") return write.object;
    return cached?.metadata.uid === write.uid ? undefined : cached;
  }

  #remember(key: string, write: OwnWrite): void {
    this.#writes.delete(key);
    this.#writes.set(key, write);
    if (this.#writes.size <= mostWrites) return;
    const [oldest] = this.#writes.keys();
    if (oldest !== undefined) this.#writes.delete(oldest);
  }

  #look(key: string): void {
    const write = this.#writes.get(key);
    if (write !== undefined && this.#isKnown(key, write)) this.#writes.delete(key);
  }

  #isKnown(key: string, write: OwnWrite): boolean {
    const informer = this.#informer;
    // The second list since began after the write; if it does not show it, the server has lost it.
    if (informer.lists >= write.lists + 2) return true;
    if (write.kind === "stored") {
      return compareResourceVersions(informer.resourceVersion, write.object.metadata.resourceVersion) >= 0;
    }
    if (compareResourceVersions(informer.resourceVersion, write.version) < 0) return false;
    const cached = this.#cached(key);
    return cached?.metadata.uid !== write.uid || cached.metadata.deletionTimestamp !== undefined;
  }

  #cached(key: string): KubeObject | undefined {
    const slash = key.indexOf("/");
    return this.#informer.get(
      slash < 0 ? { name: key } : { namespace: key.slice(0, slash), name: key.slice(slash + 1) },
    );
  }
}

function versionOf(write: OwnWrite): string | undefined {
  return write.kind === "stored" ? write.object.metadata.resourceVersion : write.version;
}

/** The last finalizer of a deleted object went, and the object with it. */
function isGone({ metadata }: KubeObject): boolean {
  const { deletionTimestamp, deletionGracePeriodSeconds, finalizers } = metadata;
  return Boolean(deletionTimestamp) && deletionGracePeriodSeconds === 0 && (finalizers ?? []).length === 0;
}

/** Compares two resource versions of one API server, which are whole numbers in growing order. None is before any. */
export function compareResourceVersions(a = "", b = ""): number {
  return a.length - b.length || (a < b ? -1 : a > b ? 1 : 0);
}
