// SPDX-License-Identifier: Apache-2.0

import type { ControllerClient } from "@purlin/kube-controller";
import type { KubeObject } from "@purlin/kube-objects/object";
import { isDigest, parseConstraint, parseVersion } from "@purlin/oci";
import { getLock, type LockDependency, type LockEntry, putLock, resolutionProblem } from "./lock-store.ts";

/** Installed packages and their dependencies, by source. */
export type DependencyGraph = ReadonlyMap<string, LockEntry>;

/** Builds the graph. Throws for two packages of one source. */
export function buildGraph(entries: readonly LockEntry[]): DependencyGraph {
  const graph = new Map<string, LockEntry>();
  for (const entry of entries) {
    if (graph.has(entry.source)) {
      throw new Error(
        `cannot initialize dependency graph from the packages in the lock: node ${entry.source} already exists`,
      );
    }
    graph.set(entry.source, entry);
  }
  return graph;
}

/** All transitive dependencies of a package, and those that are not installed. */
export function transitiveOf(
  graph: DependencyGraph,
  { dependencies }: Pick<LockEntry, "dependencies">,
): { readonly found: readonly string[]; readonly missing: readonly LockDependency[] } {
  const found = new Set<string>();
  const missing = new Map<string, LockDependency>();
  const open = dependencies.toReversed();
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    if (found.has(next.source)) continue;
    found.add(next.source);
    const entry = graph.get(next.source);
    if (entry === undefined) missing.set(next.source, next);
    else open.push(...entry.dependencies.toReversed());
  }
  return { found: [...found], missing: [...missing.values()] };
}

/** The first dependency cycle, as the sources along it. */
export function findCycle(graph: DependencyGraph): readonly string[] | undefined {
  const done = new Set<string>();
  for (const start of graph.keys()) {
    const cycle = cycleFrom(graph, start, done);
    if (cycle !== undefined) return cycle;
  }
  return undefined;
}

/** Goes down from one package without recursion: a Lock may have any depth. */
function cycleFrom(graph: DependencyGraph, start: string, done: Set<string>): readonly string[] | undefined {
  const path: { readonly source: string; next: number }[] = [{ source: start, next: 0 }];
  const onPath = new Set([start]);
  for (let top = path.at(-1); top !== undefined; top = path.at(-1)) {
    const target = graph.get(top.source)?.dependencies[top.next++]?.source;
    if (target === undefined || done.has(top.source)) {
      path.pop();
      onPath.delete(top.source);
      done.add(top.source);
      continue;
    }
    if (onPath.has(target)) {
      const sources = path.map(({ source }) => source);
      return [...sources.slice(sources.indexOf(target)), target];
    }
    if (done.has(target) || !graph.has(target)) continue;
    path.push({ source: target, next: 0 });
    onPath.add(target);
  }
  return undefined;
}

/** The first dependency that is not installed. */
export function firstMissing(
  graph: DependencyGraph,
): { readonly dependency: LockDependency; readonly parents: readonly LockEntry[] } | undefined {
  for (const entry of graph.values()) {
    for (const dependency of entry.dependencies) {
      if (!graph.has(dependency.source)) return { dependency, parents: parentsOf(graph, dependency.source) };
    }
  }
  return undefined;
}

/** The packages that depend on a source. */
export function parentsOf(graph: DependencyGraph, source: string): readonly LockEntry[] {
  return [...graph.values()].filter(({ dependencies }) => dependencies.some((one) => one.source === source));
}

/** The direct dependencies that are installed in an incompatible version, in words. */
export function incompatibilities(graph: DependencyGraph, { dependencies }: Pick<LockEntry, "dependencies">): string[] {
  return dependencies.flatMap(({ source, constraint }) => {
    const entry = graph.get(source);
    if (entry === undefined || satisfies(entry.version, constraint)) return [];
    return [`existing package ${source}@${entry.version} is incompatible with constraint ${constraint}`];
  });
}

/** Whether an installed version satisfies a constraint: the same digest, or an allowed version. */
export function satisfies(version: string, constraint: string): boolean {
  if (isDigest(constraint)) return version === constraint;
  const parsed = parseVersion(version);
  return parsed !== undefined && parseConstraint(constraint).allows(parsed);
}

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
