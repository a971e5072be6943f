// SPDX-License-Identifier: Apache-2.0
import type { ResourceType } from "./resource-type.ts";

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
