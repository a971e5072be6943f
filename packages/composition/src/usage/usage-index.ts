// SPDX-License-Identifier: Apache-2.0
// Which Usages protect an object, and what a refused deletion says.
import { goQuote, type JsonObject } from "@purlin/kube-objects/json";
import { annotationOf, labelOf, memberAt, parseApiVersion, stringAt, type TypeRef } from "@purlin/kube-objects/object";
import { labels } from "../composite-resource/constants.ts";
import { protectionGroup } from "../crds/crd-shapes.ts";

/** An object that Usages point at. The namespace is empty for a cluster-scoped one; the version does not matter. */
export interface UsageTarget {
  readonly group: string;
  readonly kind: string;
  readonly namespace: string;
  readonly name: string;
}

/** What the index keeps of a Usage. */
export interface UsageEntry {
  /** The key that it was written under. */
  readonly key: string;
  readonly self: UsageTarget;
  readonly of: UsageTarget | undefined;
  /** The using object; it is in the namespace of the Usage, or cluster-scoped. */
  readonly by: UsageTarget | undefined;
  /** The using object as texts name it, resolved or not. */
  readonly user: string | undefined;
  readonly reason: string;
  readonly isDeleting: boolean;
  readonly isComposed: boolean;
  /** It is being deleted and holds nothing any longer. */
  readonly isReleased: boolean;
  /** The texts of `self` and `of`, and the place of the Usage among others: made once, as thousands of Usages may name one object. */
  readonly texts: { readonly self: string; readonly of: string | undefined; readonly order: string };
}

/** On a Usage that is being deleted and whose object may be deleted now. */
export const releasedAnnotation = "purlin.dev/released";

/** The kinds of Usages, in the order in which refusals name them. */
export const usageTypes: readonly TypeRef[] = [
  { apiVersion: "protection.crossplane.io/v1beta1", kind: "Usage" },
  { apiVersion: "protection.crossplane.io/v1beta1", kind: "ClusterUsage" },
  { apiVersion: "apiextensions.crossplane.io/v1beta1", kind: "Usage" },
];

/** The resources of these kinds. */
export const usageResources: readonly { readonly group: string; readonly resource: string }[] = [
  { group: "protection.crossplane.io", resource: "usages" },
  { group: "protection.crossplane.io", resource: "clusterusages" },
  { group: "apiextensions.crossplane.io", resource: "usages" },
];

/** The text of a target, equal for the same object. */
function targetText({ group, kind, namespace, name }: UsageTarget): string {
  return `${group}/${kind}/${namespace}/${name}`;
}

/** Whether two targets are the same object. */
export function isSameTarget(a: UsageTarget, b: UsageTarget): boolean {
  return targetText(a) === targetText(b);
}

/** The target that an object is. */
export function targetOf(object: JsonObject): UsageTarget {
  return {
    group: parseApiVersion(stringAt(object, ["apiVersion"])).group,
    kind: stringAt(object, ["kind"]),
    namespace: stringAt(object, ["metadata", "namespace"]),
    name: nameOf(object),
  };
}

/** The name of an object; empty when it has none. */
function nameOf(object: JsonObject): string {
  return stringAt(object, namePath);
}

const namePath = ["metadata", "name"];

/** Reads what matters of a Usage. */
export function usageEntry(key: string, usage: JsonObject): UsageEntry {
  const self = targetOf(usage);
  const of = resolved(usage, "of");
  const meta = stringAt(usage, ["metadata", "deletionTimestamp"]);
  const order = `${kindOrder(self)} ${self.namespace}/${self.name}`;
  return {
    key,
    self,
    of,
    by: resolved(usage, "by"),
    user: userText(usage),
    reason: stringAt(usage, ["spec", "reason"]),
    isDeleting: meta !== "",
    isComposed: labelOf(usage, labels.composite) !== undefined,
    isReleased: meta !== "" && annotationOf(usage, releasedAnnotation) === "true",
    texts: { self: targetText(self), of: of && targetText(of), order },
  };
}

function userText(usage: JsonObject): string | undefined {
  if (memberAt(usage, ["spec", "by"]) === undefined) return undefined;
  return `${stringAt(usage, ["spec", "by", "kind"])}/${stringAt(usage, ["spec", "by", "resourceRef", "name"])}`;
}

/** The group of an apiVersion that users write; undefined when it has too many parts. */
export function groupOf(apiVersion: string): string | undefined {
  return apiVersion.split("/").length > 2 ? undefined : parseApiVersion(apiVersion).group;
}

/** The namespace that `spec.of` names, which is empty for a cluster-scoped object that its selector found. */
export function namedNamespace(usage: JsonObject): string | undefined {
  const value = memberAt(usage, ["spec", "of", "resourceRef", "namespace"]);
  return typeof value === "string" ? value : undefined;
}

/** The object at `spec.of` or `spec.by`; undefined until its selector is resolved. */
function resolved(usage: JsonObject, side: "of" | "by"): UsageTarget | undefined {
  const at = ["spec", side];
  const name = stringAt(usage, [...at, "resourceRef", "name"]);
  if (name === "") return undefined;
  const own = stringAt(usage, ["metadata", "namespace"]);
  const named = side === "of" ? namedNamespace(usage) : undefined;
  const group = groupOf(stringAt(usage, [...at, "apiVersion"]));
  if (group === undefined) return undefined;
  return { group, kind: stringAt(usage, [...at, "kind"]), namespace: named ?? own, name };
}

const none: readonly UsageEntry[] = [];

/** All Usages, by the objects that they point at. It holds the last state of each that was written. */
export class UsageIndex {
  readonly #entries = new Map<string, UsageEntry>();
  readonly #holders = new Map<string, Map<string, UsageEntry>>();
  readonly #pointing = new Map<string, Map<string, UsageEntry>>();
  readonly #users = new Map<string, Map<string, UsageEntry>>();
  /** How many Usages point at, or are used by, objects of a name: a quick answer for the objects that no Usage names. */
  readonly #names = new Map<string, number>();
  readonly #listeners: ((target: UsageTarget) => void)[] = [];

  /** Takes in a new state of a Usage; undefined when it is deleted. */
  written(key: string, usage: JsonObject | undefined): void {
    const before = this.#entries.get(key);
    const now = usage && usageEntry(key, usage);
    if (before !== undefined) this.#remove(before);
    if (now !== undefined) this.#add(now);
    if (before?.of === undefined || this.#holders.has(targetText(before.of))) return;
    for (const listener of this.#listeners) listener(before.of);
  }

  /** Whether a Usage names an object of this name, of any kind and namespace. */
  names(object: JsonObject): boolean {
    return this.#names.has(nameOf(object));
  }

  get(key: string): UsageEntry | undefined {
    return this.#entries.get(key);
  }

  /** Calls the listener with each object that nothing protects any longer. */
  onRelease(listener: (target: UsageTarget) => void): void {
    this.#listeners.push(listener);
  }

  /**
   * The Usages that protect an object; the first of them is always the same. A Usage does not protect itself, nor does one that the object, a Usage,
   * protects in turn: neither could ever be deleted.
   */
  holders(target: UsageTarget): readonly UsageEntry[] {
    const found = this.#holders.get(targetText(target));
    // Most objects are in use by none.
    if (found === undefined) return none;
    const goal = targetText(target);
    return leastFirst([...found.values()].filter(({ texts }) => !this.#isProtectedBy(texts.self, goal)));
  }

  /** All Usages of an object, also those that protect it no longer. */
  pointing(target: UsageTarget): readonly UsageEntry[] {
    const found = this.#pointing.get(targetText(target));
    return found === undefined ? none : [...found.values()];
  }

  /** The Usages that an object uses another object by. */
  users(target: UsageTarget): readonly UsageEntry[] {
    const own = this.#users.get(targetText(target));
    if (target.namespace !== "") return own === undefined ? none : [...own.values()];
    // Whether the using object of a namespaced Usage is cluster-scoped, only the server knows.
    const everywhere = this.#users.get(targetText({ ...target, namespace: "*" }));
    return [...new Set([...(own?.values() ?? none), ...(everywhere?.values() ?? none)])];
  }

  /** Whether Usages that are being deleted wait for each other: what this one waits for is protected, in the end, by this one. */
  isCircular(entry: UsageEntry): boolean {
    const seen = new Set<string>();
    const pending = [entry];
    for (let next = pending.pop(); next !== undefined; next = pending.pop()) {
      if (next.by === undefined) continue;
      // The namespace of a Usage is that of its using object, unless that is cluster-scoped.
      for (const holder of [...this.holders(next.by), ...this.holders({ ...next.by, namespace: "" })]) {
        if (holder.key === entry.key) return true;
        if (!holder.isDeleting || seen.has(holder.key)) continue;
        seen.add(holder.key);
        pending.push(holder);
      }
    }
    return false;
  }

  /** Whether a Usage protects nothing: it points at itself, or at a Usage that protects it in turn. */
  isVain({ texts: { self, of } }: UsageEntry): boolean {
    return of !== undefined && this.#isProtectedBy(self, of);
  }

  /** The Usages that protect an object directly or through other Usages. */
  guardians(target: UsageTarget): readonly UsageEntry[] {
    const found = new Map<string, UsageEntry>();
    const pending = [targetText(target)];
    for (let next = pending.pop(); next !== undefined; next = pending.pop()) {
      for (const entry of this.#pointing.get(next)?.values() ?? []) {
        if (found.has(entry.key)) continue;
        found.set(entry.key, entry);
        pending.push(entry.texts.self);
      }
    }
    return [...found.values()];
  }

  /** Whether an object is a target itself, or a Usage that the target protects, directly or not. Both are texts of targets. */
  #isProtectedBy(object: string, goal: string): boolean {
    if (object === goal) return true;
    // Most Usages are in use by none.
    if (!this.#holders.has(object)) return false;
    const seen = new Set<string>();
    const pending = [object];
    for (let next = pending.pop(); next !== undefined; next = pending.pop()) {
      if (next === goal) return true;
      if (seen.has(next)) continue;
      seen.add(next);
      for (const { texts } of this.#holders.get(next)?.values() ?? []) pending.push(texts.self);
    }
    return false;
  }

  #add(entry: UsageEntry): void {
    this.#entries.set(entry.key, entry);
    for (const name of namesOf(entry)) this.#names.set(name, (this.#names.get(name) ?? 0) + 1);
    const { of } = entry.texts;
    if (of !== undefined) put(this.#pointing, of, entry);
    if (of !== undefined && !entry.isReleased && canHold(entry)) put(this.#holders, of, entry);
    for (const text of usersKeys(entry)) put(this.#users, text, entry);
  }

  #remove(entry: UsageEntry): void {
    this.#entries.delete(entry.key);
    for (const name of namesOf(entry)) {
      const left = (this.#names.get(name) ?? 0) - 1;
      if (left > 0) this.#names.set(name, left);
      else this.#names.delete(name);
    }
    const { of } = entry.texts;
    if (of !== undefined) {
      drop(this.#holders, of, entry);
      drop(this.#pointing, of, entry);
    }
    for (const text of usersKeys(entry)) drop(this.#users, text, entry);
  }
}

function namesOf({ of, by }: UsageEntry): readonly string[] {
  return [of, by].flatMap((target) => target?.name ?? []);
}

/** A ClusterUsage protects cluster-scoped objects only; its targets have no namespace. */
function canHold({ self, of }: UsageEntry): boolean {
  return self.namespace !== "" || of?.namespace === "";
}

function usersKeys({ by }: UsageEntry): readonly string[] {
  return by === undefined ? [] : [targetText(by), targetText({ ...by, namespace: "*" })];
}

function put(map: Map<string, Map<string, UsageEntry>>, text: string, entry: UsageEntry): void {
  const entries = map.get(text) ?? new Map<string, UsageEntry>();
  map.set(text, entries.set(entry.key, entry));
}

function drop(map: Map<string, Map<string, UsageEntry>>, text: string, entry: UsageEntry): void {
  const entries = map.get(text);
  entries?.delete(entry.key);
  if (entries?.size === 0) map.delete(text);
}

/** Thousands of Usages may name one object, and only the first one is named in refusals: the others are not sorted. */
function leastFirst(entries: UsageEntry[]): readonly UsageEntry[] {
  const place = entries.reduce((least, entry, at) => (isBefore(entry, entries[least]) ? at : least), 0);
  const [first, least] = [entries[0], entries[place]];
  if (first === undefined || least === undefined) return entries;
  entries[0] = least;
  entries[place] = first;
  return entries;
}

function isBefore(a: UsageEntry, b: UsageEntry | undefined): boolean {
  return b !== undefined && a.texts.order < b.texts.order;
}

function kindOrder({ group, kind }: UsageTarget): number {
  return group !== protectionGroup ? 2 : kind === "Usage" ? 0 : 1;
}

/** What a refused deletion says. */
export function inUseText(holders: readonly UsageEntry[]): string {
  const [first] = holders;
  if (first === undefined) return "";
  const { kind, namespace, name } = first.self;
  const where = namespace === "" ? "" : ` (in namespace ${goQuote(namespace)})`;
  const head = `This resource is in-use by ${holders.length} usage(s), including the *v1beta1.${kind} ${goQuote(name)}${where}`;
  if (first.user !== undefined) return `${head} by resource ${first.user}.`;
  return first.reason === "" ? `${head}.` : `${head} with reason: ${goQuote(first.reason)}.`;
}
