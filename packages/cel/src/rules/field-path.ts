// SPDX-License-Identifier: Apache-2.0

import { childPath, keyPath, rootPath } from "@purlin/kube-objects/errors";
import type { Schema } from "@purlin/kube-objects/schema";
import { valueSchema } from "../schema/schema-node.ts";

/** Why a `fieldPath` names no field. */
export class RulePathError extends Error {}

const escapes: ReadonlyMap<string, string> = new Map([
  ["a", "\u0007"],
  ["b", "\b"],
  ["f", "\f"],
  ["n", "\n"],
  ["r", "\r"],
  ["t", "\t"],
  ["v", "\v"],
  ["'", "'"],
  ["\\", "\\"],
]);

/** A field of a schema. */
export interface FoundField {
  /** Where it is, as messages show it. */
  readonly path: string;
  readonly schema: Schema;
}

/**
 * The field of a schema that a path such as `.spec.labels['app']` names. Throws RulePathError when the schema has no such field.
 * Without brackets only names can be written.
 */
export function resolveFieldPath(
  text: string,
  schema: Schema,
  { brackets = true }: { readonly brackets?: boolean } = {},
): FoundField {
  const tokens = tokenize(text);
  let path = rootPath;
  let current = schema;
  let at = 0;
  while (at < tokens.length) {
    const token = tokens[at++];
    if (token === "[" && !brackets) throw new RulePathError("array notation is not allowed");
    if (token !== "." && token !== "[") throw new RulePathError(`expected [ or . but got: ${token}`);
    const written = tokens[at++];
    if (written === undefined) throw new RulePathError("unexpected end of JSON path");
    const name = token === "[" ? unquote(written) : written;
    const next = step(current, name);
    path = next.isNamed ? childPath(path, name) : keyPath(path, name);
    current = next.schema;
    if (token === "[") expectClose(tokens[at++]);
  }
  return { path, schema: current };
}

function expectClose(token: string | undefined): void {
  if (token === undefined) throw new RulePathError("unexpected end of JSON path");
  if (token !== "]") throw new RulePathError(`expected ] but got ${token}`);
}

function step(schema: Schema, name: string): { readonly schema: Schema; readonly isNamed: boolean } {
  const { properties = {} } = schema;
  if (Object.keys(properties).length > 0) {
    const property = Object.hasOwn(properties, name) ? properties[name] : undefined;
    if (property) return { schema: property, isNamed: true };
  }
  // Values of any kind can be named as well, but nothing inside them.
  const isOpen = schema.additionalProperties !== undefined && Object.keys(properties).length === 0;
  if (!isOpen) throw new RulePathError("does not refer to a valid field");
  return { schema: valueSchema(schema) ?? {}, isNamed: false };
}

/** Points and brackets are tokens of their own, quoted text is one token, and so is everything between. */
function tokenize(text: string): readonly string[] {
  return text.match(/'(?:[^']|(?<=\\)')*(?<!\\)'|'.*$|[.[\]]|[^.[\]']+|[^.[\]]+/gs) ?? [];
}

function unquote(token: string): string {
  if (token.length < 2 || !token.startsWith("'") || !token.endsWith("'")) {
    throw new RulePathError(`expected single quoted string but got ${token}`);
  }
  return token.slice(1, -1).replace(/\\(.)/gs, (sequence, kind: string) => {
    const char = escapes.get(kind);
    if (char === undefined) throw new RulePathError(`invalid string literal: invalid escape char ${sequence}`);
    return char;
  });
}
