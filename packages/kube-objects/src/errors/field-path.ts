// SPDX-License-Identifier: Apache-2.0

/** A path to a field in an object, as validation messages print it: `spec.ports[0].name`, `metadata.labels[app]`. */
export type FieldPath = string;

/** The path of the object itself. */
export const rootPath = "<nil>";

/** The path of a named child: `spec`, then `spec.name`. */
export function childPath(parent: FieldPath | undefined, name: string): FieldPath {
  return parent === undefined || parent === "" || parent === rootPath ? name : `${parent}.${name}`;
}

/** The path of a list item. */
export function indexPath(parent: FieldPath, index: number): FieldPath {
  return keyPath(parent, index);
}

/** The path of an entry of a map whose keys are data rather than fields, or of a list item: `labels[app]`, `ports[0]`. */
export function keyPath(parent: FieldPath, key: string | number): FieldPath {
  return `${parent === rootPath ? "" : parent}[${key}]`;
}
