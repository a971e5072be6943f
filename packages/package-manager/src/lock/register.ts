// SPDX-License-Identifier: Apache-2.0

import type { ControllerClient } from "@purlin/kube-controller";
import type { KubeObject } from "@purlin/kube-objects/object";
import { buildGraph, incompatibilities, transitiveOf } from "./dependency-graph.ts";
import type { LockDependency, LockEntry } from "./lock-entry.ts";
import { getLock, putLock, resolutionProblem } from "./lock-store.ts";

/** The state of the dependencies of a package. */
export interface DependencyCounts {
  readonly found: number;
  readonly installed: number;
  readonly invalid: number;
  /** Why the package cannot work yet; undefined when it can. */
  readonly problem: string | undefined;
}

const namedMissing = 3;

/** A revision that is added to the Lock. */
interface Registration {
  readonly own: LockEntry;
  /** The revisions that it replaces: all of its own package, and those of packages that yield to it. */
  readonly siblings: ReadonlySet<string>;
}

/** Adds a package to the Lock and checks its dependencies. */
export async function registerPackage(
  client: ControllerClient,
  { own, siblings }: Registration,
  signal: AbortSignal,
): Promise<DependencyCounts> {
  const lock = await getLock(client, signal);
  const next = withEntry(lock.entries, own, siblings);
  const { entries, object } = await putLock(client, lock, { next, signal });
  const graph = buildGraph(entries);
  const direct = own.dependencies.filter(({ source }) => !graph.has(source));
  if (direct.length > 0) {
    const found = own.dependencies.length;
    return { found, installed: found - direct.length, invalid: 0, problem: missingText(direct, object) };
  }
  const { found, missing } = transitiveOf(graph, own);
  const counts = { found: found.length, installed: found.length - missing.length };
  if (missing.length > 0) return { ...counts, invalid: 0, problem: missingText(missing, object) };
  const wrong = incompatibilities(graph, own);
  const problem = wrong.length > 0 ? `incompatible dependencies: ${wrong.join("; ")}` : undefined;
  return { ...counts, invalid: wrong.length, problem };
}

/** The entries with a new one, which replaces the entries of the same package. */
function withEntry(entries: readonly LockEntry[], own: LockEntry, siblings: ReadonlySet<string>): readonly LockEntry[] {
  const isOwn = ({ name }: LockEntry): boolean => name === own.name || siblings.has(name);
  const at = entries.findIndex(isOwn);
  if (at < 0) return [...entries, own];
  return entries.with(at, own).filter((entry, place) => place === at || !isOwn(entry));
}

/** The missing dependencies and, if their resolution failed, the reason. */
function missingText(missing: readonly LockDependency[], lock: KubeObject): string {
  const sorted = missing.map(({ source, constraint }) => `"${source}" (${constraint})`).toSorted();
  const rest = sorted.length - namedMissing;
  const text = `missing dependencies: ${sorted.slice(0, namedMissing).join(", ")}${rest > 0 ? `, and ${rest} more` : ""}`;
  const why = resolutionProblem(lock);
  const concerns = why !== undefined && missing.some(({ source }) => why.includes(source));
  return concerns ? `${text}: ${why}` : text;
}

/** Removes a revision from the Lock. */
export async function unregisterPackage(client: ControllerClient, name: string, signal: AbortSignal): Promise<void> {
  const lock = await getLock(client, signal);
  await putLock(client, lock, { next: lock.entries.filter((entry) => entry.name !== name), signal });
}
