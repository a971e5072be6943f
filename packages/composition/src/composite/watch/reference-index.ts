// SPDX-License-Identifier: Apache-2.0

import { compareUtf8 } from "@purlin/kube-objects/json";
import { type KubeObject, memberAt, type ObjectKey, type TypeRef, textAt } from "@purlin/kube-objects/object";
import { kinds } from "../../composite-resource/constants.ts";

/** The objects that an XR depends on: one by name, those that carry labels, or the CRD that defines a kind. */
export interface ObjectReference {
  readonly type: TypeRef;
  /** With a name, empty means cluster-scoped; with labels, empty means any. */
  readonly namespace: string;
  readonly match:
    | { readonly name: string }
    | { readonly labels: ReadonlyMap<string, string> }
    /** A kind, as `apiVersion/Kind`. */
    | { readonly defines: string };
}

interface Holder {
  readonly key: ObjectKey;
  /** One holder may refer to the same in several ways. */
  count: number;
}

interface Slot {
  readonly reference: ObjectReference;
  readonly holders: Map<string, Holder>;
}

interface KindIndex {
  /** References by an anchor that a matching object must have: its name, one label, a kind, or none. */
  readonly anchors: Map<string, Map<string, Slot>>;
  size: number;
}

/** An index of references. A lookup costs the labels of the object and the matches. */
export class ReferenceIndex {
  readonly #kinds = new Map<string, KindIndex>();

  add(holder: string, key: ObjectKey, reference: ObjectReference): void {
    const kind = getOrMake(this.#kinds, kindKey(reference.type), () => ({
      anchors: new Map<string, Map<string, Slot>>(),
      size: 0,
    }));
    const slots = getOrMake(kind.anchors, anchorOf(reference), () => new Map<string, Slot>());
    const slot = getOrMake(slots, referenceKey(reference), () => ({ reference, holders: new Map<string, Holder>() }));
    getOrMake(slot.holders, holder, () => ({ key, count: 0 })).count++;
    kind.size++;
  }

  remove(holder: string, reference: ObjectReference): void {
    const kind = this.#kinds.get(kindKey(reference.type));
    const slots = kind?.anchors.get(anchorOf(reference));
    const slot = slots?.get(referenceKey(reference));
    const held = slot?.holders.get(holder);
    if (kind === undefined || slots === undefined || slot === undefined || held === undefined) return;
    if (--held.count === 0) slot.holders.delete(holder);
    if (slot.holders.size === 0) slots.delete(referenceKey(reference));
    if (slots.size === 0) kind.anchors.delete(anchorOf(reference));
    if (--kind.size === 0) this.#kinds.delete(kindKey(reference.type));
  }

  has(type: TypeRef): boolean {
    return this.#kinds.has(kindKey(type));
  }

  /** The keys of all XRs that refer to the object, each once. */
  find(object: KubeObject): Iterable<ObjectKey> {
    const anchors = this.#kinds.get(kindKey(object))?.anchors;
    if (anchors === undefined) return [];
    const found = new Map<string, ObjectKey>();
    for (const anchor of anchorsOf(object)) {
      for (const { reference, holders } of anchors.get(anchor)?.values() ?? []) {
        if (!matches(reference, object)) continue;
        for (const [holder, { key }] of holders) found.set(holder, key);
      }
    }
    return found.values();
  }
}

/** Whether two references refer to the same. */
export function sameReference(a: ObjectReference, b: ObjectReference): boolean {
  if (a.namespace !== b.namespace || kindKey(a.type) !== kindKey(b.type)) return false;
  if ("name" in a.match) return "name" in b.match && a.match.name === b.match.name;
  if ("defines" in a.match) return "defines" in b.match && a.match.defines === b.match.defines;
  return "labels" in b.match && sameLabels(a.match.labels, b.match.labels);
}

function sameLabels(a: ReadonlyMap<string, string>, b: ReadonlyMap<string, string>): boolean {
  if (a.size !== b.size) return false;
  for (const [key, value] of a) if (b.get(key) !== value) return false;
  return true;
}

function matches({ namespace, match }: ObjectReference, { metadata }: KubeObject): boolean {
  const own = metadata.namespace ?? "";
  if ("name" in match) return namespace === own && match.name === metadata.name;
  // Nothing but its definition has a kind for an anchor.
  if ("defines" in match) return true;
  if (namespace !== "" && namespace !== own) return false;
  const labels = metadata.labels ?? {};
  for (const [key, value] of match.labels) if (!Object.hasOwn(labels, key) || labels[key] !== value) return false;
  return true;
}

function anchorOf({ match }: ObjectReference): string {
  if ("name" in match) return `name ${match.name}`;
  if ("defines" in match) return `defines ${match.defines}`;
  const [first] = sorted(match.labels);
  return first === undefined ? "all" : `label ${JSON.stringify(first)}`;
}

function anchorsOf(object: KubeObject): string[] {
  const { metadata } = object;
  const labels = Object.entries(metadata.labels ?? {}).map((label) => `label ${JSON.stringify(label)}`);
  const defined = object.kind === kinds.crd.kind ? definedBy(object).map((kind) => `defines ${kind}`) : [];
  return ["all", `name ${metadata.name ?? ""}`, ...labels, ...defined];
}

/** The kinds of a CRD, one a version. */
function definedBy(crd: KubeObject): string[] {
  const [group, kind] = [textAt(crd, ["spec", "group"]), textAt(crd, ["spec", "names", "kind"])];
  const versions = memberAt(crd, ["spec", "versions"]);
  return (Array.isArray(versions) ? versions : []).map((version) => `${group}/${textAt(version, ["name"])}/${kind}`);
}

function referenceKey({ namespace, match }: ObjectReference): string {
  return JSON.stringify([namespace, "labels" in match ? sorted(match.labels) : match]);
}

function sorted(labels: ReadonlyMap<string, string>): [string, string][] {
  return [...labels].sort(([a], [b]) => compareUtf8(a, b));
}

function kindKey({ apiVersion, kind }: TypeRef): string {
  return `${apiVersion}/${kind}`;
}

function getOrMake<T>(map: Map<string, T>, key: string, make: () => T): T {
  const known = map.get(key);
  if (known !== undefined) return known;
  const made = make();
  map.set(key, made);
  return made;
}
