// SPDX-License-Identifier: Apache-2.0
import type { OpenAPIDocument } from "./open-api-document.ts";

/**
 * One document from several of the same group-version, as a server publishes its built-in and custom kinds together.
 * Where two define the same path or component, the first one's stays. Components come out in the order of their names.
 */
export function mergeOpenAPI(first: OpenAPIDocument, ...others: readonly OpenAPIDocument[]): OpenAPIDocument {
  if (others.length === 0) return first;
  const documents = [first, ...others];
  const schemas = firstOfEach(documents.map(({ components }) => components.schemas));
  const paths = firstOfEach(documents.map((document) => document.paths));
  return { ...first, paths, components: { schemas } };
}

function firstOfEach<T>(parts: readonly Readonly<Record<string, T>>[]): Record<string, T> {
  const merged = new Map<string, T>();
  for (const part of parts) {
    for (const [name, member] of Object.entries(part)) if (!merged.has(name)) merged.set(name, member);
  }
  return Object.fromEntries([...merged].sort(([a], [b]) => (a < b ? -1 : 1)));
}
