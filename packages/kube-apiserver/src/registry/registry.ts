// SPDX-License-Identifier: Apache-2.0
import type { ResourceName } from "@purlin/kube-objects/errors";
import type { NameRule } from "@purlin/kube-objects/metadata";
import { formatApiVersion, type GroupVersionKind } from "@purlin/kube-objects/object";

/** A way to reach a part of an object: `status`, `scale`, `token`. */
export interface Subresource {
  readonly name: string;
  readonly verbs: readonly string[];
  /** Its kind, if that is not the resource's own. */
  readonly kind?: GroupVersionKind;
}

/** How objects of a type are written; where types differ, and nothing else. */
export interface WriteRules {
  readonly name: NameRule;
  /** PUT creates what is not there. */
  readonly createOnUpdate: boolean;
  /** PUT may leave out the resourceVersion. */
  readonly unconditionalUpdate: boolean;
  /** What counts as a change of specification; undefined: the type has no generation. `changed-spec`: new objects have none. */
  readonly generation: "spec" | "spec-and-annotations" | "outside-metadata" | "changed-spec" | undefined;
  /** DELETE answers with the object instead of a Status. */
  readonly returnsDeleted: boolean;
  /** Deleting without a policy leaves dependents alone. */
  readonly orphansByDefault: boolean;
  /** Seconds until an object is deleted by itself. */
  readonly ttlSeconds: number | undefined;
}

/** One resource in one version, as it is served. */
export interface ResourceType {
  readonly group: string;
  readonly version: string;
  readonly kind: string;
  readonly listKind: string;
  /** The plural. */
  readonly resource: string;
  readonly singular: string;
  readonly shortNames: readonly string[];
  readonly categories: readonly string[];
  readonly namespaced: boolean;
  readonly verbs: readonly string[];
  readonly subresources: readonly Subresource[];
  /** Subresources that clusters have and this server does not: what they do, for the answer to a request for one. */
  readonly unserved?: Readonly<Record<string, string>>;
  /** Defined by a CustomResourceDefinition. */
  readonly custom: boolean;
  /** Discovery lists groups of a higher priority first. */
  readonly groupPriority: number;
  /** Whose objects these are: another group of the same objects shares it. */
  readonly storage: ResourceName & { readonly version: string };
  readonly rules: WriteRules;
}

/** The apiVersion of its objects. */
export function apiVersionOf(type: ResourceType): string {
  return formatApiVersion(type);
}

/** Whether the type has the subresource. */
export function hasSubresource(type: ResourceType, name: string): boolean {
  return type.subresources.some((subresource) => subresource.name === name);
}

/** What the keys of all objects of a type begin with; with a namespace, of those in it. */
export function keyPrefix({ storage, namespaced }: ResourceType, namespace: string): string {
  const root = `/${storage.group}/${storage.resource}/`;
  return namespaced && namespace !== "" ? `${root}${namespace}/` : root;
}

/** The key of one object. */
export function objectKey(type: ResourceType, namespace: string, name: string): string {
  return `${keyPrefix(type, namespace)}${name}`;
}

/** The key of the one object a list or watch can be about: when it names one, and where. */
export function oneKey(
  type: ResourceType,
  { namespace, name }: { readonly namespace: string; readonly name: string },
): string | undefined {
  const isOne = name !== "" && (!type.namespaced || namespace !== "");
  return isOne ? objectKey(type, namespace, name) : undefined;
}

/**
 * The order in which Kubernetes prefers versions: v2, v1, v1beta2, v1beta1, v1alpha1, then names of any other form by the alphabet.
 * Negative when `a` comes first.
 */
export function compareApiVersions(a: string, b: string): number {
  const [x, y] = [parse(a), parse(b)];
  if (x === undefined || y === undefined) {
    return Number(x === undefined) - Number(y === undefined) || (a < b ? -1 : Number(a > b));
  }
  return y.stage - x.stage || y.major - x.major || y.minor - x.minor;
}

interface Parsed {
  readonly major: number;
  /** 2 stable, 1 beta, 0 alpha. */
  readonly stage: number;
  readonly minor: number;
}

const pattern = /^v([1-9][0-9]*)(?:(alpha|beta)([1-9][0-9]*))?$/;

function parse(version: string): Parsed | undefined {
  const match = pattern.exec(version);
  if (match === null) return undefined;
  const [, major, stage, minor] = match;
  return { major: Number(major), stage: stage === undefined ? 2 : Number(stage === "beta"), minor: Number(minor ?? 0) };
}

/** Everything that is served at one moment. Never changes; another moment has another one. */
export interface Catalog {
  /** Grows with every change. */
  readonly generation: number;
  /** The core group, the other built-in groups by priority, then custom groups by name. */
  readonly groups: readonly ApiGroup[];
  find(group: string, version: string, resource: string): ResourceType | undefined;
  group(name: string): ApiGroup | undefined;
}

/** One group with its versions, the preferred one first. */
export interface ApiGroup {
  readonly name: string;
  readonly versions: readonly ApiGroupVersion[];
}

export interface ApiGroupVersion {
  readonly version: string;
  /** By plural. */
  readonly resources: readonly ResourceType[];
}

/** What is served, as it changes. */
export class Registry {
  readonly #builtin: readonly ResourceType[];
  #catalog: Catalog;

  constructor(builtin: readonly ResourceType[]) {
    this.#builtin = builtin;
    this.#catalog = createCatalog(builtin, 1);
  }

  get catalog(): Catalog {
    return this.#catalog;
  }

  /** Replaces everything that is served beside the built-in types. */
  setCustom(types: readonly ResourceType[]): void {
    this.#catalog = createCatalog([...this.#builtin, ...types], this.#catalog.generation + 1);
  }
}

function createCatalog(types: readonly ResourceType[], generation: number): Catalog {
  const byPath = new Map(types.map((type) => [`${type.group}/${type.version}/${type.resource}`, type]));
  const ofGroup = Map.groupBy(types, (type) => type.group);
  const groups = orderGroups(types).map((name) => toGroup(name, ofGroup.get(name) ?? []));
  const byName = new Map(groups.map((group) => [group.name, group]));
  return {
    generation,
    groups,
    find: (group, version, resource) => byPath.get(`${group}/${version}/${resource}`),
    group: (name) => byName.get(name),
  };
}

function orderGroups(types: readonly ResourceType[]): string[] {
  const builtin = new Map(types.filter((type) => !type.custom).map((type) => [type.group, type.groupPriority]));
  const custom = new Set(types.map((type) => type.group).filter((group) => !builtin.has(group)));
  const ordered = [...builtin].sort(([a, first], [b, second]) => second - first || (a < b ? -1 : 1));
  // The core group has paths of its own, which come first.
  return [...new Set([...(builtin.has("") ? [""] : []), ...ordered.map(([name]) => name), ...[...custom].sort()])];
}

function toGroup(name: string, own: readonly ResourceType[]): ApiGroup {
  const byVersion = Map.groupBy(own, (type) => type.version);
  const versions = [...byVersion].map(([version, resources]) => ({
    version,
    resources: resources.toSorted((a, b) => (a.resource < b.resource ? -1 : 1)),
  }));
  return { name, versions: versions.sort((a, b) => compareApiVersions(a.version, b.version)) };
}
