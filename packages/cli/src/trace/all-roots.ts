// SPDX-License-Identifier: Apache-2.0
import { packageState, packageTypes, referencesOf } from "@purlin/explain";
import type { KubeReader } from "@purlin/kube-client";
import type { KubeObject } from "@purlin/kube-objects/object";
import { isOffered, kindsOf } from "../tree/composite-kinds.ts";
import { definitionType } from "../tree/defined-kinds.ts";
import { isFollowed, noControlPlane } from "./print-tree.ts";

/** The claims and composite resources that no other one refers to, and the packages that are not healthy. */
export async function allRoots(client: Pick<KubeReader, "list">, signal: AbortSignal): Promise<readonly KubeObject[]> {
  const definitions = await client.list(definitionType, { signal }).catch((error: unknown) => {
    throw noControlPlane(error);
  });
  const kinds = definitions.items.filter(isOffered).flatMap((definition) => kindsOf(definition) ?? []);
  const types = kinds.flatMap(({ claim, composite }) => (claim === undefined ? [composite] : [claim, composite]));
  const lists = await Promise.all([...types, ...packageTypes].map((type) => client.list(type, { signal })));
  const composites = lists.slice(0, types.length).flatMap(({ items }) => items);
  const packages = lists.slice(types.length).flatMap(({ items }) => items);
  const below = new Set(
    composites.flatMap(referencesOf).map(({ kind, name, namespace }) => textOf(kind, name, namespace)),
  );
  const roots = composites.filter(
    ({ kind, metadata }) => !below.has(textOf(kind, metadata.name ?? "", metadata.namespace)),
  );
  const unhealthy = packages.filter((object) => isFollowed(object) && packageState(object).health !== "ready");
  return [...roots.toSorted(byName), ...unhealthy.toSorted(byName)];
}

function textOf(kind: string, name: string, namespace: string | undefined): string {
  return `${kind} ${namespace ?? ""}/${name}`;
}

function byName(a: KubeObject, b: KubeObject): number {
  const [one, other] = [a, b].map(({ kind, metadata }) => textOf(kind, metadata.name ?? "", metadata.namespace));
  return (one ?? "") < (other ?? "") ? -1 : 1;
}
