// SPDX-License-Identifier: Apache-2.0
import { compareUtf8 } from "../json/utf8.ts";
import type { FieldSet } from "./field-set.ts";
import { printItem, sortItemKeys } from "./item-key.ts";

/**
 * The paths of a set as messages print them, `.spec.ports[port=80,protocol="TCP"].name`, in the reference's order: all
 * members of a node before anything below them.
 */
export function printPaths(set: FieldSet): string[] {
  const paths: string[] = [];
  collect(set, "", paths);
  return paths;
}

function collect(node: FieldSet, prefix: string, paths: string[]): void {
  const children = orderedChildren(node).map(([name, child]) => [prefix + name, child] as const);
  for (const [path, child] of children) if (child.member) paths.push(path);
  for (const [path, child] of children) collect(child, path, paths);
}

function orderedChildren(node: FieldSet): Array<readonly [string, FieldSet]> {
  const out: Array<readonly [string, FieldSet]> = [];
  for (const name of [...(node.fields?.keys() ?? [])].sort(compareUtf8)) {
    const child = node.fields?.get(name);
    if (child) out.push([`.${name}`, child]);
  }
  for (const key of sortItemKeys(node.items?.keys() ?? [])) {
    const child = node.items?.get(key);
    if (child) out.push([printItem(key), child]);
  }
  return out;
}
