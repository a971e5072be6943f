// SPDX-License-Identifier: Apache-2.0

import { decodeFieldsV1, emptySet, type FieldSet } from "@purlin/kube-objects/apply";
import { isJsonObject, type JsonObject, type JsonValue, jsonEqual } from "@purlin/kube-objects/json";
import type { KubeObject, ManagedFieldsEntry } from "@purlin/kube-objects/object";
import { matchItems } from "./match-items.ts";

/** Who applies, and where. */
interface ApplyIdentity {
  readonly fieldManager: string;
  readonly subresource?: string | undefined;
}

/**
 * Whether a server-side apply of `wanted` would change anything stored: a value, or who owns it. Tells from the object
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
        this.differs(child ?? emptySet, wanted[name] ?? null, ownMember(current, name)),
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
    // Built-in kinds forget that something empty was mentioned, but not who did so.
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

function ownMember(object: JsonObject, name: string): JsonValue | undefined {
  return Object.hasOwn(object, name) ? object[name] : undefined;
}

const isContainer = (value: JsonValue): boolean => typeof value === "object" && value !== null;

const isEmpty = (object: JsonObject): boolean => Object.keys(object).length === 0;

function isEmptyContainer(value: JsonValue): boolean {
  return Array.isArray(value) ? value.length === 0 : isJsonObject(value) && isEmpty(value);
}

function sameForm(a: JsonValue, b: JsonValue): boolean {
  return isContainer(b) && Array.isArray(a) === Array.isArray(b);
}
