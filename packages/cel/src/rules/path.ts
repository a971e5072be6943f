// SPDX-License-Identifier: Apache-2.0

/** The path of the object itself. */
export const rootPath = "<nil>";

/** The path of a field below another: `spec`, then `spec.name`. */
export function childPath(parent: string, name: string): string {
  return parent === rootPath ? name : `${parent}.${name}`;
}

/** The path of a map value or list element: `spec.labels[app]`, `spec.ports[0]`. */
export function keyPath(parent: string, key: string | number): string {
  return `${parent === rootPath ? "" : parent}[${key}]`;
}
