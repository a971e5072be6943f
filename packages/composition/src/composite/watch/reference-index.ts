// SPDX-License-Identifier: Apache-2.0

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

/** A reference with its place in an index. */
export interface PlacedReference {
  readonly reference: ObjectReference;
  readonly anchor: string;
  /** The key of the label that is the anchor, if one is. */
  readonly label?: string | undefined;
  /** The same for references to the same. */
  readonly key: string;
}

/** Finds the place of a reference, which costs more than anything that is done with it there. */
export function placed(reference: ObjectReference): PlacedReference {
  const { namespace, match } = reference;
  if (!("labels" in match)) return { reference, anchor: anchorOf(match), key: JSON.stringify([namespace, match]) };
  const labels = [...match.labels].sort(([a], [b]) => (a < b ? -1 : 1));
  const [first] = labels;
  const anchor = first === undefined ? "all" : `label ${JSON.stringify(first)}`;
  return { reference, anchor, label: first?.[0], key: JSON.stringify([namespace, labels]) };
}

function anchorOf(match: { readonly name: string } | { readonly defines: string }): string {
  return "name" in match ? `name ${match.name}` : `defines ${match.defines}`;
}

interface Holder {
  /** The key as text. */
  readonly name: string;
  readonly key: ObjectKey;
  /** One holder may refer to the same in several ways. */
  count: number;
}

interface Slot {
  readonly reference: ObjectReference;
  readonly holders: Map<string, Holder>;
  /** The label that an object lacked last: of many selectors that are almost the same, it is what sets this one apart. */
  differing?: string | undefined;
}

/** Labels that are compared at once: a fraction of a millisecond. */
const comparedAtOnce = 4096;

interface KindIndex {
  /** References by an anchor that a matching object must have: its name, one label, a kind, or none. */
  readonly anchors: Map<string, Map<string, Slot>>;
  /** The keys of labels that are anchors, and how many references have each. */
  readonly labels: Map<string, number>;
  size: number;
}

/** An index of references. A lookup costs the labels of the object, and those of the selectors that have one of them as their anchor. */
export class ReferenceIndex {
  readonly #kinds = new Map<string, KindIndex>();

  add(holder: string, key: ObjectKey, place: PlacedReference): void {
    const { reference } = place;
    const kind = getOrMake(this.#kinds, kindKey(reference.type), () => ({
      anchors: new Map<string, Map<string, Slot>>(),
      labels: new Map<string, number>(),
      size: 0,
    }));
    const slots = getOrMake(kind.anchors, place.anchor, () => new Map<string, Slot>());
    const slot = getOrMake(slots, place.key, () => ({ reference, holders: new Map<string, Holder>() }));
    getOrMake(slot.holders, holder, () => ({ name: holder, key, count: 0 })).count++;
    if (place.label !== undefined) kind.labels.set(place.label, (kind.labels.get(place.label) ?? 0) + 1);
    kind.size++;
  }

  remove(holder: string, { reference, anchor, label, key }: PlacedReference): void {
    const kind = this.#kinds.get(kindKey(reference.type));
    const slots = kind?.anchors.get(anchor);
    const slot = slots?.get(key);
    const held = slot?.holders.get(holder);
    if (kind === undefined || slots === undefined || slot === undefined || held === undefined) return;
    if (--held.count === 0) slot.holders.delete(holder);
    if (slot.holders.size === 0) slots.delete(key);
    if (slots.size === 0) kind.anchors.delete(anchor);
    if (label !== undefined) countDown(kind.labels, label);
    if (--kind.size === 0) this.#kinds.delete(kindKey(reference.type));
  }

  has(type: TypeRef): boolean {
    return this.#kinds.has(kindKey(type));
  }

  /** The keys of all XRs that refer to the object now, each once. Found in parts where there is much to compare. */
  *find(object: KubeObject): Generator<undefined, Iterable<ObjectKey>, void> {
    const kind = this.#kinds.get(kindKey(object));
    if (kind === undefined) return [];
    const search: Search = { object, found: new Map(), compared: 0 };
    const later: Candidate[] = [];
    for (const anchor of anchorsOf(object, kind.labels)) {
      for (const slot of kind.anchors.get(anchor)?.values() ?? []) {
        if (search.compared < comparedAtOnce) compare(search, slot, slot.holders.values());
        // Between the parts XRs replace their references: one that refers to the object before and after would be missed.
        else later.push({ slot, holders: [...slot.holders.values()] });
      }
    }
    for (const { slot, holders } of later) {
      if (search.compared >= comparedAtOnce) {
        search.compared = 0;
        yield undefined;
      }
      compare(search, slot, holders);
    }
    return search.found.values();
  }
}

/** A search for the XRs that refer to an object. */
interface Search {
  readonly object: KubeObject;
  readonly found: Map<string, ObjectKey>;
  /** Labels in this part of the search. */
  compared: number;
}

/** A slot that is compared in a later part, and those that held it when the search began. */
interface Candidate {
  readonly slot: Slot;
  readonly holders: readonly Holder[];
}

function compare(search: Search, slot: Slot, holders: Iterable<Holder>): void {
  search.compared += labelsIn(slot.reference);
  let isMatch: boolean | undefined;
  for (const { name, key } of holders) {
    if (search.found.has(name)) continue;
    isMatch ??= matches(slot, search.object);
    if (!isMatch) return;
    search.found.set(name, key);
  }
}

function labelsIn({ match }: ObjectReference): number {
  return "labels" in match ? match.labels.size : 1;
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

function matches(slot: Slot, { metadata }: KubeObject): boolean {
  const { namespace, match } = slot.reference;
  const own = metadata.namespace ?? "";
  if ("name" in match) return namespace === own && match.name === metadata.name;
  // Nothing but its definition has a kind for an anchor.
  if ("defines" in match) return true;
  if (namespace !== "" && namespace !== own) return false;
  const labels = metadata.labels ?? {};
  const last = slot.differing;
  if (last !== undefined && !isLabelled(labels, last, match.labels.get(last))) return false;
  for (const [key, value] of match.labels) {
    if (isLabelled(labels, key, value)) continue;
    slot.differing = key;
    return false;
  }
  return true;
}

function isLabelled(labels: Readonly<Record<string, string>>, key: string, value: string | undefined): boolean {
  return Object.hasOwn(labels, key) && labels[key] === value;
}

function anchorsOf(object: KubeObject, anchored: ReadonlyMap<string, number>): string[] {
  const { metadata } = object;
  const labels = labelsOf(metadata.labels ?? {}, anchored).map((label) => `label ${JSON.stringify(label)}`);
  const defined = object.kind === kinds.crd.kind ? definedBy(object).map((kind) => `defines ${kind}`) : [];
  return ["all", `name ${metadata.name ?? ""}`, ...labels, ...defined];
}

/** With more keys than this among the anchors, those of an object are looked for among them, not the other way round. */
const manyKeys = 256;

/** The labels that can be anchors. An object may have as many as a request has values. */
function labelsOf(
  labels: Readonly<Record<string, string>>,
  anchored: ReadonlyMap<string, number>,
): (readonly [key: string, value: string])[] {
  const keys = anchored.size > manyKeys ? Object.keys(labels).filter((key) => anchored.has(key)) : [...anchored.keys()];
  return keys.flatMap((key) => (Object.hasOwn(labels, key) ? [[key, labels[key] ?? ""] as const] : []));
}

/** The kinds of a CRD, one a version. */
function definedBy(crd: KubeObject): string[] {
  const [group, kind] = [textAt(crd, ["spec", "group"]), textAt(crd, ["spec", "names", "kind"])];
  const versions = memberAt(crd, ["spec", "versions"]);
  return (Array.isArray(versions) ? versions : []).map((version) => `${group}/${textAt(version, ["name"])}/${kind}`);
}

function kindKey({ apiVersion, kind }: TypeRef): string {
  return `${apiVersion}/${kind}`;
}

function countDown(counts: Map<string, number>, key: string): void {
  const left = (counts.get(key) ?? 0) - 1;
  if (left > 0) counts.set(key, left);
  else counts.delete(key);
}

function getOrMake<T>(map: Map<string, T>, key: string, make: () => T): T {
  const known = map.get(key);
  if (known !== undefined) return known;
  const made = make();
  map.set(key, made);
  return made;
}
