// SPDX-License-Identifier: Apache-2.0
// What a schema says about a set of fields, without any value.
import { type ApplyType, type ListType, type MapType, typeOfKey } from "./apply-type.ts";
import { asMember, type FieldSet, type FieldSetChildren, fieldSetNode, hasChildren, leaf } from "./field-set.ts";

/**
 * The set with every declared field on the way to a member made a member too. Structs are never owned by appliers, yet
 * pruning has to be able to take them away.
 */
export function withNamedFields(type: ApplyType | undefined, set: FieldSet): FieldSet {
  const fields = mapChildren(set.fields, (child, name) => {
    const declared = type?.map?.field(name);
    const below = withNamedFields(declared?.type ?? type?.map?.element, child);
    return declared && hasChildren(below) ? asMember(below) : below;
  });
  const items = mapChildren(set.items, (child, key) =>
    withNamedFields(key.startsWith("k:") ? type?.list?.item : undefined, child),
  );
  return withChildren(set, fields, items);
}

/**
 * The set after its schema changed: what used to be granular and is atomic now is owned as a whole. (What used to be
 * atomic and is granular now stays owned at its root, as in the reference.)
 */
export function reconcileWithType(type: ApplyType, set: FieldSet): FieldSet {
  if (reconciled.get(set) === type) return set;
  const result = reconcile(type, set);
  reconciled.set(result, type);
  return result;
}

// Schemas change rarely; a set that fits its type is not looked through again.
const reconciled = new WeakMap<FieldSet, ApplyType>();

function reconcile(type: ApplyType, node: FieldSet): FieldSet {
  const owned = node.member && !hasChildren(node);
  if (type.map) return reconcileMap(type.map, node, owned);
  if (type.scalar || !type.list) return node;
  return reconcileList(type.list, node, owned);
}

function reconcileMap(map: MapType, node: FieldSet, owned: boolean): FieldSet {
  if (map.freeForm) return node;
  if (map.atomic) return owned || !hasChildren(node) ? node : leaf;
  const fields = mapChildren(node.fields, (child, name) => {
    const type = typeOfKey(map, name);
    return type ? reconcile(type, child) : child;
  });
  return withChildren(node, fields, node.items);
}

function reconcileList(list: ListType, node: FieldSet, owned: boolean): FieldSet {
  if (list.atomic) return owned ? node : leaf;
  const items = mapChildren(node.items, (child) => reconcile(list.item, child));
  return withChildren(node, node.fields, items);
}

function mapChildren(
  children: FieldSetChildren,
  change: (child: FieldSet, name: string) => FieldSet,
): FieldSetChildren {
  if (!children) return children;
  let out: Map<string, FieldSet> | undefined;
  for (const [name, child] of children) {
    const changed = change(child, name);
    if (changed === child) continue;
    out ??= new Map(children);
    out.set(name, changed);
  }
  return out ?? children;
}

function withChildren(node: FieldSet, fields: FieldSetChildren, items: FieldSetChildren): FieldSet {
  if (fields === node.fields && items === node.items) return node;
  return fieldSetNode(node.member, fields, items);
}
