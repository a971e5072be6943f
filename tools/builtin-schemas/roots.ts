// SPDX-License-Identifier: Apache-2.0
import { type OriginalDocument, referencesIn } from "./original.ts";

/** The components that the operations of the served resources name directly, sorted. */
export function rootComponents(
  document: OriginalDocument,
  key: string,
  served: Readonly<Record<string, readonly string[]>> | undefined,
): string[] {
  const roots = new Set<string>();
  for (const [path, operations] of Object.entries(document.paths)) {
    if (served === undefined || isServed(path.slice(key.length + 1), served)) referencesIn(operations, roots);
  }
  return [...roots].sort();
}

/** Whether a path below its group-version (`/namespaces/{namespace}/pods/{name}/status`) belongs to a served resource. */
export function isServed(path: string, served: Readonly<Record<string, readonly string[]>>): boolean {
  let segments = path.split("/").filter((segment) => segment !== "");
  if (segments.length === 0) return true; // the list of resources itself
  if (segments[0] === "watch") segments = segments.slice(1);
  if (segments[0] === "namespaces" && segments[1] === "{namespace}") segments = segments.slice(2);
  const [resource = "", , subresource] = segments;
  const subresources = Object.hasOwn(served, resource) ? served[resource] : undefined;
  return subresources !== undefined && (subresource === undefined || subresources.includes(subresource));
}
