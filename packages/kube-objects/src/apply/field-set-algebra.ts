// SPDX-License-Identifier: Apache-2.0
// Union, intersection and difference of field sets. Every function returns its first argument itself when the
// result equals it, so that callers can tell "nothing changed" by identity.
import { emptySet, type FieldSet, type FieldSetChildren, fieldSetNode, isEmptySet } from "./field-set.ts";

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
