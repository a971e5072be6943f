// SPDX-License-Identifier: Apache-2.0
import { dirname } from "node:path";
import { isForTests, packageOf, type SourceFile } from "./source-files.ts";

/** Folders of one package that import each other, directly or through others: each group is one line, its folders sorted. */
export function folderCycles(files: readonly SourceFile[]): readonly string[] {
  const edges = new Map<string, Set<string>>();
  for (const file of files.filter(({ path }) => !isForTests(path))) {
    for (const { file: target, isDynamic } of file.imports) {
      if (target === undefined || isDynamic || packageOf(target) !== packageOf(file.path)) continue;
      const from = folderOf(file.path);
      const to = folderOf(target);
      if (from !== to) edges.set(from, (edges.get(from) ?? new Set()).add(to));
    }
  }
  return groupsOf(edges).map((group) => group.toSorted().join(" "));
}

/** The folder below `src`: `packages/cli/src/up` also for `packages/cli/src/up/screen/draw.ts`. Files in `src` itself are one folder each. */
function folderOf(path: string): string {
  const folder = dirname(path).split("/").slice(0, 4).join("/");
  return folder.endsWith("/src") ? path : folder;
}

/** The strongly connected groups of more than one folder (Tarjan's algorithm). */
function groupsOf(edges: ReadonlyMap<string, ReadonlySet<string>>): string[][] {
  const index = new Map<string, number>();
  const low = new Map<string, number>();
  const stack: string[] = [];
  const groups: string[][] = [];
  const visit = (node: string): void => {
    index.set(node, index.size);
    low.set(node, index.get(node) ?? 0);
    stack.push(node);
    for (const next of edges.get(node) ?? []) {
      if (!index.has(next)) visit(next);
      if (stack.includes(next)) low.set(node, Math.min(low.get(node) ?? 0, low.get(next) ?? 0));
    }
    if (low.get(node) !== index.get(node)) return;
    const group = stack.splice(stack.indexOf(node));
    if (group.length > 1) groups.push(group);
  };
  for (const node of edges.keys()) {
    if (!index.has(node)) visit(node);
  }
  return groups;
}
