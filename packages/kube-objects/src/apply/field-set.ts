// SPDX-License-Identifier: Apache-2.0
// A set of field paths, kept as a tree so that paths share their beginnings. Trees are immutable and shared: an
// operation that changes nothing returns the very set it was given, which is what makes repeated applies cheap.

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

/** How many paths are in the set. */
export function fieldSetSize(node: FieldSet): number {
  let size = node.member ? 1 : 0;
  for (const child of node.fields?.values() ?? []) size += fieldSetSize(child);
  for (const child of node.items?.values() ?? []) size += fieldSetSize(child);
  return size;
}
