// SPDX-License-Identifier: Apache-2.0
import type { JsonObject } from "@purlin/kube-objects/json";
import type { RemoteApi } from "./api-service.ts";
import type { RemoteDocuments } from "./remote-documents.ts";

/** A group version of another server, as clients may see it. */
export interface RemoteVersion {
  readonly remote: RemoteApi;
  readonly isAvailable: boolean;
  readonly documents: RemoteDocuments;
}

/** A group of this server with what a document says about each of its versions. */
interface LocalGroup<T> {
  readonly name: string;
  readonly priority: number;
  readonly versions: readonly { readonly version: string; readonly priority: number; readonly entry: T }[];
}

/** A group with what a document says about each version. */
interface MergedGroup<T> {
  readonly name: string;
  readonly versions: readonly T[];
}

/** All groups, those of a higher priority first. A version that another server serves replaces one of this server. */
export function mergeGroups<T>(
  local: readonly LocalGroup<T>[],
  remotes: readonly RemoteVersion[],
  entryOf: (version: RemoteVersion) => T,
): MergedGroup<T>[] {
  const groups = new Map(local.map((group) => [group.name, group]));
  for (const version of remotes) {
    const { group: name, groupPriority, version: own, versionPriority } = version.remote;
    const known = groups.get(name);
    const others = (known?.versions ?? []).filter((one) => one.version !== own);
    const entry = { version: own, priority: versionPriority, entry: entryOf(version) };
    const before = others.filter(({ priority }) => priority >= versionPriority);
    const versions = [...before, entry, ...others.filter((one) => !before.includes(one))];
    groups.set(name, { name, priority: Math.max(known?.priority ?? 0, groupPriority), versions });
  }
  const sorted = remotes.length === 0 ? [...groups.values()] : [...groups.values()].sort(byPriority);
  return sorted.map(({ name, versions }) => ({ name, versions: versions.map(({ entry }) => entry) }));
}

function byPriority(a: LocalGroup<unknown>, b: LocalGroup<unknown>): number {
  return b.priority - a.priority || (a.name < b.name ? -1 : 1);
}

/** A version in aggregated discovery. What an unavailable server served before is not listed. */
export function remoteVersionBody({ remote, isAvailable, documents }: RemoteVersion): JsonObject {
  const { version } = remote;
  if (!isAvailable || documents.resources === undefined) return { version, freshness: "Stale" };
  return { version, resources: documents.resources, freshness: "Current" };
}
