// SPDX-License-Identifier: Apache-2.0
import { decodeFieldsV1, emptySet, type FieldSet } from "@purlin/kube-objects/apply";
import {
  goJson,
  isContainer,
  isJsonObject,
  type JsonObject,
  type JsonValue,
  jsonEqual,
  ownValue,
  parseJson,
} from "@purlin/kube-objects/json";
import type { KubeObject, ManagedFieldsEntry } from "@purlin/kube-objects/object";

/** The field manager and the endpoint of an apply. */
interface ApplyIdentity {
  readonly fieldManager: string;
  readonly subresource?: string | undefined;
}

/**
 * Whether a server-side apply of `wanted` would change anything stored: a value, or its owner. Decides by the object
 * alone, without its schema: our manager's entry in managedFields says how the server took our last apply apart. In
 * doubt the answer is true, with one exception: below a map that we applied empty, an unowned field that `wanted` now
 * names with the value it has anyway counts as unchanged.
 */
export function wouldApplyChange(current: KubeObject, wanted: KubeObject, identity: ApplyIdentity): boolean {
  if (current.apiVersion !== wanted.apiVersion || isAboutAnother(current, wanted)) return true;
  const entries = current.metadata.managedFields ?? [];
  // What exists without any manager is given to one before the first apply.
  if (entries.length === 0 && !isEmpty(ownable(current, {}))) return true;
  const own = entries.find((entry) => isOurs(entry, identity));
  if (own !== undefined && own.apiVersion !== wanted.apiVersion) return true;
  try {
    const others = entries.filter((entry) => entry !== own).map(fieldsOf);
    const walk = new Comparison(others);
    return walk.differs(own === undefined ? emptySet : fieldsOf(own), ownable(wanted, identity), asJson(current));
  } catch {
    // An unreadable entry: the server decides.
    return true;
  }
}

function isOurs(entry: ManagedFieldsEntry, { fieldManager, subresource = "" }: ApplyIdentity): boolean {
  return entry.operation === "Apply" && entry.manager === fieldManager && (entry.subresource ?? "") === subresource;
}

/** The server refuses an apply that names another uid or resourceVersion; only it can say so. */
function isAboutAnother({ metadata: current }: KubeObject, { metadata: wanted }: KubeObject): boolean {
  const { uid, resourceVersion } = wanted;
  return (
    (uid !== undefined && uid !== current.uid) ||
    (resourceVersion !== undefined && resourceVersion !== current.resourceVersion)
  );
}

function fieldsOf(entry: ManagedFieldsEntry): FieldSet {
  return entry.fieldsV1 === undefined ? emptySet : decodeFieldsV1(entry.fieldsV1);
}

const asJson = (object: KubeObject): JsonObject => object;

/** The part of an object that can be owned through the endpoint. */
function ownable(wanted: KubeObject, { subresource }: Partial<ApplyIdentity>): JsonObject {
  const { apiVersion: _apiVersion, kind: _kind, metadata, ...rest } = asJson(wanted);
  // Through a subresource nothing else is taken.
  if (subresource !== undefined && subresource !== "") {
    const part = rest[subresource];
    return part === undefined ? {} : { [subresource]: part };
  }
  const owned = isJsonObject(metadata) ? ownableMetadata(metadata) : {};
  return Object.keys(owned).length === 0 ? rest : { ...rest, metadata: owned };
}

const identityFields: ReadonlySet<string> = new Set([
  "name",
  "namespace",
  "creationTimestamp",
  "selfLink",
  "uid",
  "clusterName",
  "generation",
  "managedFields",
  "resourceVersion",
]);

function ownableMetadata(metadata: JsonObject): JsonObject {
  return Object.fromEntries(Object.entries(metadata).filter(([name]) => !identityFields.has(name)));
}

type Step = { readonly in: "fields" | "items"; readonly key: string };

/** One comparison; remembers where it is, to ask what others own there. */
class Comparison {
  readonly #others: readonly FieldSet[];
  readonly #path: Step[] = [];

  constructor(others: readonly FieldSet[]) {
    this.#others = others;
  }

  /** Whether applying `wanted` again would change `current` or what we own of it, `node` being what we own now. */
  differs(node: FieldSet, wanted: JsonValue, current: JsonValue | undefined): boolean {
    if (node.fields === undefined && node.items === undefined) return this.#leafDiffers(node, wanted, current);
    if (Array.isArray(wanted)) return node.fields !== undefined || this.#itemsDiffer(node, wanted, current);
    if (!isJsonObject(wanted) || !isJsonObject(current) || node.items !== undefined) return true;
    return this.#membersDiffer(node, wanted, current);
  }

  #membersDiffer(node: FieldSet, wanted: JsonObject, current: JsonObject): boolean {
    let owned = 0;
    for (const name of Object.keys(wanted)) {
      const child = node.fields?.get(name);
      if (child !== undefined) owned++;
      const differs = this.#at({ in: "fields", key: name }, () =>
        this.differs(child ?? emptySet, wanted[name] ?? null, ownValue(current, name)),
      );
      if (differs) return true;
    }
    // What we own and no longer want would be given up.
    return owned !== (node.fields?.size ?? 0);
  }

  #itemsDiffer(node: FieldSet, wanted: readonly JsonValue[], current: JsonValue | undefined): boolean {
    if (!Array.isArray(current)) return true;
    const matches = matchItems(node, wanted, current);
    if (matches === undefined) return true;
    return matches.some(({ key, node: child, wanted: item, current: live }) =>
      this.#at({ in: "items", key }, () => this.differs(child, item, live)),
    );
  }

  /** At a node with nothing below it: a scalar, something atomic, an empty map, or nothing of ours at all. */
  #leafDiffers(node: FieldSet, wanted: JsonValue, current: JsonValue | undefined): boolean {
    if (!node.member) return this.#unownedDiffers(node, wanted, current);
    // Built-in kinds drop an empty value that was applied, but not its owner.
    if (current === undefined) return !isEmptyContainer(wanted);
    if (isContainer(wanted) && this.#isShared()) {
      // Others own parts of it, so it is not atomic: we own it as an empty one, and it may hold what others put there.
      return !isEmptyContainer(wanted) || !sameForm(wanted, current);
    }
    return !jsonEqual(wanted, current);
  }

  /** An empty list that is not atomic is wanted, but nothing of it can be owned; likewise a struct of such lists. */
  #unownedDiffers(node: FieldSet, wanted: JsonValue, current: JsonValue | undefined): boolean {
    if (Array.isArray(wanted)) return wanted.length > 0 || !Array.isArray(current) || this.#isAtomic(current);
    if (!isJsonObject(wanted) || !isJsonObject(current)) return true;
    // Where we are at the root, wanting nothing is owning nothing.
    if (Object.keys(wanted).length === 0) return this.#path.length > 0;
    return this.#membersDiffer(node, wanted, current);
  }

  /** Whether a list of which we own nothing may be one that is owned as a whole, or not at all. */
  #isAtomic(current: readonly JsonValue[]): boolean {
    if (this.#isShared()) return false;
    return current.length > 0 || this.#nodesOfOthers().length > 0;
  }

  /** Whether others own parts of what is here. */
  #isShared(): boolean {
    return this.#nodesOfOthers().some(({ fields, items }) => fields !== undefined || items !== undefined);
  }

  #nodesOfOthers(): FieldSet[] {
    return this.#others.flatMap((set) => {
      let node: FieldSet | undefined = set;
      for (const step of this.#path) node = node?.[step.in]?.get(step.key);
      return node ?? [];
    });
  }

  #at(step: Step, compare: () => boolean): boolean {
    this.#path.push(step);
    const differs = compare();
    this.#path.pop();
    return differs;
  }
}

const isEmpty = (object: JsonObject): boolean => Object.keys(object).length === 0;

function isEmptyContainer(value: JsonValue): boolean {
  return Array.isArray(value) ? value.length === 0 : isJsonObject(value) && isEmpty(value);
}

function sameForm(a: JsonValue, b: JsonValue): boolean {
  return isContainer(b) && Array.isArray(a) === Array.isArray(b);
}

/** An item of a list that is wanted, what we own of it, and the item as it is. */
interface MatchedItem {
  /** The item's name in a field path. */
  readonly key: string;
  readonly node: FieldSet;
  readonly wanted: JsonValue;
  readonly current: JsonValue;
}

/**
 * Pairs the items of a wanted list, one by one, with those we own (`node`) and those that are there. Undefined when that
 * is not possible, or when the items there come in another order: applying the list would change something.
 */
export function matchItems(
  node: FieldSet,
  wanted: readonly JsonValue[],
  current: readonly JsonValue[],
): MatchedItem[] | undefined {
  const owned = ownedItems(node);
  if (owned === undefined || wanted.length !== owned.size) return undefined;
  const places = placesOf(owned, current);
  if (places === undefined) return undefined;
  const matched: MatchedItem[] = [];
  const used = new Set<string>();
  let last = -1;
  for (const item of wanted) {
    const found = owned.find(item);
    const place = found && places.get(found.text);
    if (found === undefined || place === undefined || place <= last || used.has(found.key)) return undefined;
    last = place;
    used.add(found.key);
    matched.push({ key: found.key, node: found.node, wanted: item, current: current[place] ?? null });
  }
  return matched;
}

/** Where each item is in the list, by the text that distinguishes items. Undefined when two have the same. */
function placesOf(owned: OwnedItems, current: readonly JsonValue[]): Map<string, number> | undefined {
  const places = new Map<string, number>();
  for (const [index, item] of current.entries()) {
    const text = owned.textOf(item);
    if (text === undefined) continue;
    if (places.has(text)) return undefined;
    places.set(text, index);
  }
  return places;
}

interface OwnedItem {
  readonly key: string;
  /** What identifies the item: its key fields, or its value. */
  readonly text: string;
  readonly node: FieldSet;
}

interface OwnedItems {
  readonly size: number;
  find(item: JsonValue): OwnedItem | undefined;
  textOf(item: JsonValue): string | undefined;
}

const remembered = new WeakMap<FieldSet, OwnedItems | "unknown">();

/** Reads the names of the items once for each set: sets live as long as the object they came with. */
function ownedItems(node: FieldSet): OwnedItems | undefined {
  const known = remembered.get(node) ?? readItems(node) ?? "unknown";
  remembered.set(node, known);
  return known === "unknown" ? undefined : known;
}

function readItems({ items }: FieldSet): OwnedItems | undefined {
  const entries = [...(items ?? [])].map(([key, node]) => ({ key, node, value: parseJson(key.slice(2)) }));
  if (entries.every(({ key }) => key.startsWith("v:"))) return valueItems(entries);
  if (entries.every(({ key, value }) => key.startsWith("k:") && isJsonObject(value))) {
    return keyedItems(entries as readonly KeyedEntry[]);
  }
  return undefined;
}

interface Entry {
  readonly key: string;
  readonly node: FieldSet;
  readonly value: JsonValue;
}

interface KeyedEntry extends Entry {
  readonly value: JsonObject;
}

function valueItems(entries: readonly Entry[]): OwnedItems {
  const byText = new Map(entries.map(({ key, node, value }) => [goJson(value), { key, node, text: goJson(value) }]));
  return { size: byText.size, find: (item) => byText.get(goJson(item)), textOf: (item) => goJson(item) };
}

function keyedItems(entries: readonly KeyedEntry[]): OwnedItems {
  const names = Object.keys(entries[0]?.value ?? {}).sort();
  const byKey = new Map<string, OwnedItem>();
  // By the key fields that were applied themselves: the others are defaults, which the wanted item leaves out as well.
  const byApplied = new Map<string, OwnedItem>();
  for (const { key, node, value } of entries) {
    const item = { key, node, text: textOf(value, names) };
    byKey.set(item.text, item);
    byApplied.set(
      textOf(
        value,
        // An atomic item, such as an owner reference, lists no fields: it was applied whole.
        names.filter((name) => node.fields === undefined || node.fields.has(name)),
      ),
      item,
    );
  }
  return {
    size: byKey.size,
    find: (item) => (isJsonObject(item) ? byApplied.get(textOf(item, names)) : undefined),
    textOf: (item) => (isJsonObject(item) ? textOf(item, names) : undefined),
  };
}

/** The key fields an object has, as one text. */
function textOf(object: JsonObject, names: readonly string[]): string {
  return goJson(names.filter((name) => Object.hasOwn(object, name)).map((name) => [name, object[name] ?? null]));
}
