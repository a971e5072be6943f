// SPDX-License-Identifier: Apache-2.0
import type { OpenAPISchema } from "./open-api-document.ts";
import { referredComponent } from "./reference.ts";

/**
 * The components that `roots` refer to, directly or not, themselves included, in the order of their names: what a
 * document must define for its references to resolve. Names that `components` lacks are left out.
 */
export function componentClosure(
  components: Readonly<Record<string, OpenAPISchema>>,
  roots: Iterable<string>,
): Record<string, OpenAPISchema> {
  const names = new Set(roots);
  for (const name of names) {
    if (Object.hasOwn(components, name)) addReferences(components[name], names);
  }
  const closure: Record<string, OpenAPISchema> = {};
  for (const name of [...names].sort()) {
    const schema = Object.hasOwn(components, name) ? components[name] : undefined;
    if (schema !== undefined) closure[name] = schema;
  }
  return closure;
}

// Most of a schema is plain values: only what can hold a reference is kept for later.
function addReferences(root: unknown, names: Set<string>): void {
  const pending: object[] = isContainer(root) ? [root] : [];
  for (let next = pending.pop(); next !== undefined; next = pending.pop()) {
    const container = next as Readonly<Record<string, unknown>>;
    for (const key of Object.keys(container)) {
      const member = container[key];
      const name = key === "$ref" && typeof member === "string" ? referredComponent(member) : undefined;
      if (name !== undefined) names.add(name);
      else if (isContainer(member)) pending.push(member);
    }
  }
}

const isContainer = (value: unknown): value is object => typeof value === "object" && value !== null;
