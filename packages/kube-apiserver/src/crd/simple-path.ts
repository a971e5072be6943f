// SPDX-License-Identifier: Apache-2.0
import type { SchemaProps } from "./schema-props.ts";

/** A path into objects of a schema, and the schema it leads to. */
export interface FoundPath {
  readonly steps: readonly string[];
  readonly schema: SchemaProps;
}

/** Where a path such as `.spec.a` or `.spec['a.b']` leads, or why it leads nowhere, in the reference's words. */
export function followPath(
  path: string,
  schema: SchemaProps,
  { arrays }: { readonly arrays: boolean },
): FoundPath | string {
  if (/\[\d*\]/.test(path) && !arrays) return "array notation is not allowed";
  const steps = parsePath(path);
  if (steps === undefined) return "does not refer to a valid field";
  let current = schema;
  for (const step of steps) {
    const next = current.properties.find(([name]) => name === step)?.[1] ?? current.additionalProperties?.schema;
    if (next === undefined) return "does not refer to a valid field";
    current = next;
  }
  return { steps, schema: current };
}

function parsePath(path: string): string[] | undefined {
  const steps: string[] = [];
  const token = /\.([^.[\]]+)|\['((?:[^'\\]|\\.)+)'\]/y;
  while (token.lastIndex < path.length) {
    const match = token.exec(path);
    if (match === null) return undefined;
    steps.push(match[1] ?? (match[2] ?? "").replaceAll(/\\(.)/g, "$1"));
  }
  return steps.length === 0 ? undefined : steps;
}
