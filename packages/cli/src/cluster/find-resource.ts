// SPDX-License-Identifier: Apache-2.0
import type { KubeClient, TypeRef } from "@purlin/kube-client";
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
  readonly responseKind?: { readonly group?: string; readonly version?: string; readonly kind?: string };
}

interface DiscoveredGroup {
  readonly metadata?: { readonly name?: string };
  readonly versions?: readonly { readonly version: string; readonly resources?: readonly DiscoveredResource[] }[];
}

const accept = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";

/**
 * The type a user means: by kind, plural, singular or short name, with its group after a dot where two share one. The
 * first version of a group is the one it prefers.
 */
export async function findResource(client: KubeClient, name: string, signal: AbortSignal): Promise<Resource> {
  const wanted = name.toLowerCase();
  const groups = await Promise.all(
    ["/api", "/apis"].map(async (path) => {
      const answer = await client.raw({ method: "GET", path, accept, signal });
      return (answer as unknown as { readonly items?: readonly DiscoveredGroup[] }).items ?? [];
    }),
  );
  for (const group of groups.flat()) {
    for (const { version, resources = [] } of group.versions ?? []) {
      const found = resources.find((resource) => namesOf(resource, group).includes(wanted));
      if (found !== undefined) return toResource(found, group, version);
    }
  }
  const advice = name.includes("/")
    ? `write the type first, and the name after it: ${name.replace("/", " ")}`
    : "check the spelling, or apply its definition first";
  throw new UserError(`the API server has no type "${name}": ${advice}`);
}

function namesOf(
  { resource, singularResource, shortNames = [], responseKind }: DiscoveredResource,
  group: DiscoveredGroup,
): string[] {
  const names = [resource, singularResource, responseKind?.kind, ...shortNames].filter((name) => name !== undefined);
  const lower = names.map((name) => name.toLowerCase()).filter((name) => name !== "");
  const suffix = group.metadata?.name;
  return suffix ? [...lower, ...lower.map((name) => `${name}.${suffix}`)] : lower;
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
