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

function addReferences(root: unknown, names: Set<string>): void {
  const pending: unknown[] = [root];
  while (pending.length > 0) {
    const value = pending.pop();
    if (typeof value !== "object" || value === null) continue;
    for (const [key, member] of Object.entries(value)) {
      const name = key === "$ref" && typeof member === "string" ? referredComponent(member) : undefined;
      if (name !== undefined) names.add(name);
      else pending.push(member);
    }
  }
}
