// SPDX-License-Identifier: Apache-2.0
import type { KubeClient } from "@purlin/kube-client";
import type { TypeRef } from "@purlin/kube-objects/object";
import { closestName } from "@purlin/kube-objects/schema";
import { UserError } from "../user-error.ts";

/** A type as the API server offers it. */
export interface Resource extends TypeRef {
  readonly path: string;
  readonly namespaced: boolean;
  /** The last segment of its path, such as `configmaps`. */
  readonly plural: string;
}

interface DiscoveredResource {
  readonly resource: string;
  readonly scope: string;
  readonly singularResource?: string;
  readonly shortNames?: readonly string[];
  readonly categories?: readonly string[];
  readonly verbs?: readonly string[];
  readonly responseKind?: { readonly group?: string; readonly version?: string; readonly kind?: string };
}

type DiscoveredGroup = {
  readonly metadata?: { readonly name?: string };
  readonly versions?: readonly { readonly version: string; readonly resources?: readonly DiscoveredResource[] }[];
};

const accept = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";

/**
 * The type a user means: by kind, plural, singular or short name, with its group, or version and group, after a dot where
 * two share one. The first version of a group is the one it prefers.
 */
export async function findResource(client: KubeClient, name: string, signal: AbortSignal): Promise<Resource> {
  const [resource, another] = await findResources(client, name, signal);
  if (resource !== undefined && another === undefined) return resource;
  throw new UserError(`"${name}" is a category of types: specify one type`);
}

/** The type of that name, or all types of the category of that name, such as `all`. Throws a UserError for neither. */
async function findResources(client: KubeClient, name: string, signal: AbortSignal): Promise<readonly Resource[]> {
  if (name.includes("/")) throw new UserError(`expected TYPE/NAME, not "${name}"`, { exitCode: 2 });
  const wanted = name.toLowerCase();
  const members: Resource[] = [];
  const groups = await discover(client, signal);
  for (const group of groups) {
    for (const { version, resources = [] } of group.versions ?? []) {
      const found = resources.find((resource) => namesOf(resource, group, version).includes(wanted));
      if (found !== undefined) return [toResource(found, group, version)];
    }
    const [preferred] = group.versions ?? [];
    const inCategory = preferred?.resources?.filter(({ categories = [] }) => categories.includes(wanted)) ?? [];
    members.push(...inCategory.map((resource) => toResource(resource, group, preferred?.version ?? "")));
  }
  if (members.length > 0) return members;
  const closest = closestName(wanted, plainNames(groups));
  const advice =
    closest === undefined ? "check the spelling, or apply its definition first" : `did you mean ${closest}?`;
  throw new UserError(`the server does not have a resource type "${name}": ${advice}`);
}

/** The names of types without their groups. Short names are too short to be close to anything. */
function plainNames(groups: readonly DiscoveredGroup[]): string[] {
  const resources = groups.flatMap(({ versions = [] }) => versions.flatMap((one) => one.resources ?? []));
  const names = resources.flatMap(({ resource, singularResource = "" }) => [resource, singularResource]);
  return [...new Set(names.map((name) => name.toLowerCase()).filter((name) => name !== ""))];
}

/** Every type whose objects can be listed and created, in the first version of its group that has it. */
export async function allResources(client: KubeClient, signal: AbortSignal): Promise<readonly Resource[]> {
  const groups = await discover(client, signal);
  return groups.flatMap((group) => {
    const found = new Map<string, Resource>();
    for (const { version, resources = [] } of group.versions ?? []) {
      for (const resource of resources) {
        const { verbs = [], resource: plural } = resource;
        if (!verbs.includes("list") || !verbs.includes("create") || found.has(plural)) continue;
        found.set(plural, toResource(resource, group, version));
      }
    }
    return [...found.values()];
  });
}

async function discover(client: KubeClient, signal: AbortSignal): Promise<readonly DiscoveredGroup[]> {
  const groups = await Promise.all(
    ["/api", "/apis"].map(async (path) => {
      const answer = await client.raw({ method: "GET", path, accept, signal });
      return (answer as { readonly items?: readonly DiscoveredGroup[] }).items ?? [];
    }),
  );
  return groups.flat();
}

function namesOf(
  { resource, singularResource, shortNames = [], responseKind }: DiscoveredResource,
  group: DiscoveredGroup,
  version: string,
): string[] {
  const names = [resource, singularResource, responseKind?.kind, ...shortNames].filter((name) => name !== undefined);
  const lower = names.map((name) => name.toLowerCase()).filter((name) => name !== "");
  const suffix = group.metadata?.name;
  const suffixes = suffix ? [`.${suffix}`, `.${version}.${suffix}`] : [`.${version}`, `.${version}.`];
  return [...lower, ...lower.flatMap((name) => suffixes.map((one) => `${name}${one}`))];
}

function toResource(found: DiscoveredResource, { metadata }: DiscoveredGroup, version: string): Resource {
  const group = metadata?.name ?? "";
  const apiVersion = group === "" ? version : `${group}/${version}`;
  return {
    apiVersion,
    kind: found.responseKind?.kind ?? "",
    path: group === "" ? `/api/${version}` : `/apis/${apiVersion}`,
    namespaced: found.scope === "Namespaced",
    plural: found.resource,
  };
}

/** The path of a collection or an object of a type. */
export function pathOf(
  { path, namespaced, plural }: Resource,
  { namespace, name }: { readonly namespace?: string | undefined; readonly name?: string | undefined },
): string {
  const within = namespaced && namespace !== undefined ? `/namespaces/${encodeURIComponent(namespace)}` : "";
  return `${path}${within}/${plural}${name === undefined ? "" : `/${encodeURIComponent(name)}`}`;
}

/** What the words of a command line name: all objects of a type, or one of them. */
export interface Target {
  readonly resource: Resource;
  readonly name?: string | undefined;
}

/** What kubectl takes: `TYPE`, `TYPE NAME…`, `TYPE,TYPE [NAME…]` and `TYPE/NAME…`. */
export async function findTargets(
  client: KubeClient,
  words: readonly string[],
  signal: AbortSignal,
): Promise<readonly Target[]> {
  const asPairs = words.filter((word) => word.includes("/"));
  if (asPairs.length === 0) return byTypes(client, words, signal);
  if (asPairs.length < words.length) {
    throw new UserError(`use either TYPE NAME… or TYPE/NAME…, not both: ${words.join(" ")}`, { exitCode: 2 });
  }
  const targets: Target[] = [];
  for (const word of words) {
    const [type = "", name = "", ...rest] = word.split("/");
    if (type === "" || name === "" || rest.length > 0) {
      throw new UserError(`expected TYPE/NAME, not "${word}"`, { exitCode: 2 });
    }
    for (const resource of await findResources(client, type, signal)) targets.push({ resource, name });
  }
  return targets;
}

/**
 * Refuses names beside selectors, with the texts of kubectl. A selector has no effect on an object that is named: it would be shown or
 * deleted whether or not it has the labels.
 */
export function refuseSelectedNames(words: readonly string[], ...selectors: readonly (string | undefined)[]): void {
  if (selectors.every((selector) => selector === undefined)) return;
  if (words.some((word) => word.includes("/")))
    throw new UserError("selectors and the all flag cannot be used when passing resource/name arguments");
  if (words.length > 1) throw new UserError("name cannot be provided when a selector is specified");
}

/** The namespace to read from: undefined for all of them, in which a namespaced object cannot be named. */
export function namespaceFor(
  targets: readonly Target[],
  { isAll, namespace }: { readonly isAll: boolean; readonly namespace: string },
): string | undefined {
  if (!isAll) return namespace;
  if (targets.some(({ name, resource }) => name !== undefined && resource.namespaced))
    throw new UserError("a resource cannot be retrieved by name across all namespaces");
  return undefined;
}

async function byTypes(
  client: KubeClient,
  [types = "", ...names]: readonly string[],
  signal: AbortSignal,
): Promise<readonly Target[]> {
  const targets: Target[] = [];
  for (const type of types.split(",").filter((one) => one !== "")) {
    for (const resource of await findResources(client, type, signal)) {
      if (names.length === 0) targets.push({ resource });
      else targets.push(...names.map((name) => ({ resource, name })));
    }
  }
  return targets;
}

/** `widget.example.org`, as kubectl writes a type. */
export function typeText({ kind, apiVersion }: Resource): string {
  const group = apiVersion.includes("/") ? (apiVersion.split("/")[0] ?? "") : "";
  return `${kind.toLowerCase()}${group === "" ? "" : `.${group}`}`;
}
