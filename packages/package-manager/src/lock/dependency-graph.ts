// SPDX-License-Identifier: Apache-2.0
import { isDigest, parseConstraint, parseVersion } from "@purlin/oci";
import type { LockDependency, LockEntry } from "./lock-entry.ts";

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
