// SPDX-License-Identifier: Apache-2.0
// A set of field paths, kept as a tree so that paths share their beginnings. Trees are immutable and shared: an operation
// that changes nothing, such as a union, returns the very set it was given. That makes repeated applies cheap, and callers
// detect "nothing changed" by identity.

/**
 * A node of the tree. Its own path is in the set when `member`; the paths below it hang under `fields` (by the name of a
 * field or map key) and under `items` (by the key of a list item, see item-key.ts). A node below the root is never empty.
 */
export interface FieldSet {
  readonly member: boolean;
  readonly fields: ReadonlyMap<string, FieldSet> | undefined;
  readonly items: ReadonlyMap<string, FieldSet> | undefined;
}

/** The children of a node under one of its two kinds of keys. */
export type FieldSetChildren = ReadonlyMap<string, FieldSet> | undefined;

/** A path that is in the set and has nothing below it. One object serves all of them. */
export const leaf: FieldSet = Object.freeze({ member: true, fields: undefined, items: undefined });

/** The set without any path. */
export const emptySet: FieldSet = Object.freeze({ member: false, fields: undefined, items: undefined });

/** Makes a node, sharing {@link leaf} and {@link emptySet}. Empty maps count as none. */
export function fieldSetNode(member: boolean, fields: FieldSetChildren, items: FieldSetChildren): FieldSet {
  const kept = fields && fields.size > 0 ? fields : undefined;
  const keptItems = items && items.size > 0 ? items : undefined;
  if (!kept && !keptItems) return member ? leaf : emptySet;
  return { member, fields: kept, items: keptItems };
}

/** The node with its own path in the set. */
export function asMember(node: FieldSet): FieldSet {
  return node.member ? node : fieldSetNode(true, node.fields, node.items);
}

/** The node with its own path out of the set. */
export function asNonMember(node: FieldSet): FieldSet {
  return node.member ? fieldSetNode(false, node.fields, node.items) : node;
}

/** Whether nothing at or below the node is in the set. */
export function isEmptySet(node: FieldSet): boolean {
  return !node.member && !node.fields && !node.items;
}

/** Whether paths below the node are in the set. */
export function hasChildren(node: FieldSet): boolean {
  return node.fields !== undefined || node.items !== undefined;
}

/** The node of a field or map key. */
export function fieldChild(node: FieldSet | undefined, name: string): FieldSet | undefined {
  return node?.fields?.get(name);
}

/** The node of a list item. */
export function itemChild(node: FieldSet | undefined, key: string): FieldSet | undefined {
  return node?.items?.get(key);
}

/** A set of paths made of field names alone, such as those a server never records. */
export function fieldSetOfPaths(paths: ReadonlyArray<readonly string[]>): FieldSet {
  return paths.reduce((set, path) => addPath(set, path), emptySet);
}

function addPath(node: FieldSet, [name, ...rest]: readonly string[]): FieldSet {
  if (name === undefined) return asMember(node);
  const fields = new Map(node.fields);
  fields.set(name, addPath(fields.get(name) ?? emptySet, rest));
  return fieldSetNode(node.member, fields, node.items);
}

/** Whether the path made of field names is in the set. */
export function hasFieldPath(node: FieldSet, path: readonly string[]): boolean {
  let current: FieldSet | undefined = node;
  for (const name of path) current = fieldChild(current, name);
  return path.length > 0 && current?.member === true;
}

/** How many paths are in the set; more than `most` are not counted. */
export function fieldSetSize(node: FieldSet, most: number = Number.POSITIVE_INFINITY): number {
  let size = node.member ? 1 : 0;
  for (const children of [node.fields, node.items]) {
    for (const child of children?.values() ?? []) {
      if (size > most) return size;
      size += fieldSetSize(child, most - size);
    }
  }
  return size;
}

/** The paths in either set. */
export function union(a: FieldSet, b: FieldSet): FieldSet {
  if (a === b || isEmptySet(b)) return a;
  if (isEmptySet(a)) return b;
  const member = a.member || b.member;
  const fields = unionChildren(a.fields, b.fields);
  const items = unionChildren(a.items, b.items);
  return reuse(a, { member, fields, items });
}

function unionChildren(a: FieldSetChildren, b: FieldSetChildren): FieldSetChildren {
  if (!b || a === b) return a;
  if (!a) return b;
  let out: Map<string, FieldSet> | undefined;
  for (const [key, child] of b) {
    const mine = a.get(key);
    const merged = mine ? union(mine, child) : child;
    if (merged !== mine) {
      out ??= new Map(a);
      out.set(key, merged);
    }
  }
  return out ?? a;
}

/** The paths in both sets. */
export function intersection(a: FieldSet, b: FieldSet): FieldSet {
  if (a === b) return a;
  if (isEmptySet(a) || isEmptySet(b)) return emptySet;
  const member = a.member && b.member;
  const fields = intersectChildren(a.fields, b.fields);
  const items = intersectChildren(a.items, b.items);
  return reuse(a, { member, fields, items });
}

function intersectChildren(a: FieldSetChildren, b: FieldSetChildren): FieldSetChildren {
  if (!a || !b) return undefined;
  if (a === b) return a;
  const out = new Map<string, FieldSet>();
  let same = true;
  for (const [key, child] of a) {
    const other = b.get(key);
    const common = other ? intersection(child, other) : emptySet;
    if (common !== child) same = false;
    if (!isEmptySet(common)) out.set(key, common);
  }
  return same ? a : out;
}

/** The paths of `a` that are not in `b`. A path below one in `b` stays. */
export function difference(a: FieldSet, b: FieldSet): FieldSet {
  return subtract(a, b, false);
}

/** The paths of `a` that are neither in `b` nor below a path in `b`. */
export function recursiveDifference(a: FieldSet, b: FieldSet): FieldSet {
  return subtract(a, b, true);
}

function subtract(a: FieldSet, b: FieldSet, recursive: boolean): FieldSet {
  if (isEmptySet(a) || isEmptySet(b)) return a;
  if (a === b) return emptySet;
  const member = a.member && !b.member;
  const fields = subtractChildren(a.fields, b.fields, recursive);
  const items = subtractChildren(a.items, b.items, recursive);
  if (member === a.member && fields === a.fields && items === a.items) return a;
  return fieldSetNode(member, fields, items);
}

function subtractChildren(a: FieldSetChildren, b: FieldSetChildren, recursive: boolean): FieldSetChildren {
  if (!a || !b) return a;
  let out: Map<string, FieldSet> | undefined;
  for (const [key, other] of b) {
    const child = a.get(key);
    if (!child) continue;
    const rest = recursive && other.member ? emptySet : subtract(child, other, recursive);
    if (rest === child) continue;
    out ??= new Map(a);
    if (isEmptySet(rest)) out.delete(key);
    else out.set(key, rest);
  }
  return out ?? a;
}

/** Whether the two sets hold the same paths. */
export function equalSets(a: FieldSet, b: FieldSet): boolean {
  if (a === b) return true;
  return a.member === b.member && equalChildren(a.fields, b.fields) && equalChildren(a.items, b.items);
}

function equalChildren(a: FieldSetChildren, b: FieldSetChildren): boolean {
  if (a === b) return true;
  if (!a || !b || a.size !== b.size) return false;
  for (const [key, child] of a) {
    const other = b.get(key);
    if (!other || !equalSets(child, other)) return false;
  }
  return true;
}

/** Whether every path of `a` is in `b`. */
export function isSubset(a: FieldSet, b: FieldSet): boolean {
  if (a === b) return true;
  if (a.member && !b.member) return false;
  return subsetChildren(a.fields, b.fields) && subsetChildren(a.items, b.items);
}

function subsetChildren(a: FieldSetChildren, b: FieldSetChildren): boolean {
  if (!a || a === b) return true;
  if (!b || a.size > b.size) return false;
  for (const [key, child] of a) {
    const other = b.get(key);
    if (!other || !isSubset(child, other)) return false;
  }
  return true;
}

function reuse(a: FieldSet, made: FieldSet): FieldSet {
  if (made.member === a.member && made.fields === a.fields && made.items === a.items) return a;
  return fieldSetNode(made.member, made.fields, made.items);
}
