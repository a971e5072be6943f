// SPDX-License-Identifier: Apache-2.0
import { compareUtf8 } from "../json/utf8.ts";
import { type FieldSet, hasChildren } from "./field-set.ts";
import { printItem, sortItemKeys } from "./item-key.ts";

/**
 * The paths of a set as messages print them, `.spec.ports[port=80,protocol="TCP"].name`, in the reference's order: all
 * members of a node before anything below them. Only the first `most`.
 */
export function printPaths(set: FieldSet, most: number = Number.POSITIVE_INFINITY): string[] {
  const paths: string[] = [];
  collect(set, "", { paths, most });
  return paths;
}

interface Collection {
  readonly paths: string[];
  readonly most: number;
}

function collect(node: FieldSet, prefix: string, into: Collection): void {
  const { paths, most } = into;
  if (paths.length >= most || !hasChildren(node)) return;
  const left = most - paths.length;
  if ((node.fields?.size ?? 0) > left) {
    const members = [...(node.fields ?? [])].filter(([, child]) => child.member).map(([name]) => name);
    if (members.length >= left) {
      for (const name of firstInOrder(members, left)) paths.push(`${prefix}.${name}`);
      return;
    }
  }
  const children = orderedChildren(node);
  for (const [name, child] of children) if (child.member && paths.length < most) paths.push(prefix + name());
  for (const [name, child] of children)
    if (hasChildren(child) && paths.length < most) collect(child, prefix + name(), into);
}

/** The first of very many names, without putting all of them in order. */
function firstInOrder(names: readonly string[], count: number): string[] {
  const first = names.slice(0, count).sort(compareUtf8);
  for (const name of names.slice(count)) {
    if (compareUtf8(name, first.at(-1) ?? "") >= 0) continue;
    first.splice(placeOf(name, first), 0, name);
    first.pop();
  }
  return first;
}

function placeOf(name: string, sorted: readonly string[]): number {
  let [low, high] = [0, sorted.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (compareUtf8(sorted[middle] ?? "", name) < 0) low = middle + 1;
    else high = middle;
  }
  return low;
}

function orderedChildren(node: FieldSet): Array<readonly [() => string, FieldSet]> {
  const out: Array<readonly [() => string, FieldSet]> = [];
  for (const name of [...(node.fields?.keys() ?? [])].sort(compareUtf8)) {
    const child = node.fields?.get(name);
    if (child) out.push([() => `.${name}`, child]);
  }
  for (const key of sortItemKeys(node.items?.keys() ?? [])) {
    const child = node.items?.get(key);
    if (child) out.push([() => printItem(key), child]);
  }
  return out;
}
