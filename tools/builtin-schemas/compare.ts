// SPDX-License-Identifier: Apache-2.0
import { isDeepStrictEqual } from "node:util";
import { builtinOpenAPI } from "../../packages/kube-objects/src/openapi/index.ts";
import type { EnumPlace } from "./enums.ts";
import { factsOf } from "./facts.ts";
import { isObject, type Json, type OriginalDocument, referencesIn } from "./original.ts";

/**
 * Compares the documents that the package builds from the generated data with the originals: each component must be equal
 * but for descriptions and enums, every reference must resolve, and each kind listed must come out. Returns the
 * differences, one line each.
 */
export function compareWithOriginals(
  originals: Readonly<Record<string, OriginalDocument>>,
  enums: readonly EnumPlace[],
): string[] {
  const published = builtinOpenAPI();
  const missing = Object.keys(originals).filter((key) => !published.keys.includes(key));
  const differences = missing.map((key) => `${key}: no document`);
  for (const key of published.keys) {
    const ours = published.document(key)?.components.schemas ?? {};
    const theirs = originals[key]?.components?.schemas ?? {};
    for (const [name, schema] of Object.entries(ours)) {
      const original = theirs[name];
      if (!original) differences.push(`${key}: ${name} is not in the original`);
      else if (!isDeepStrictEqual(withoutEnums(schema), factsOf(original))) differences.push(`${key}: ${name} differs`);
    }
    const dangling = [...referencesIn(ours)].filter((name) => !Object.hasOwn(ours, name));
    differences.push(...dangling.map((name) => `${key}: ${name} is referred to but missing`));
  }
  return [...differences, ...compareEnums(published, enums)];
}

function withoutEnums(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutEnums);
  if (!isObject(value)) return value;
  const kept = Object.entries(value).filter(([key, member]) => key !== "enum" || !Array.isArray(member));
  return Object.fromEntries(kept.map(([key, member]) => [key, withoutEnums(member)]));
}

/** Counts: every enum of a component that is published must have been put somewhere in it. */
function compareEnums(published: ReturnType<typeof builtinOpenAPI>, enums: readonly EnumPlace[]): string[] {
  const components = new Map<string, Json>();
  for (const key of published.keys) {
    for (const [name, schema] of Object.entries(published.document(key)?.components.schemas ?? {})) {
      components.set(name, schema as Json);
    }
  }
  return [...components].flatMap(([name, schema]) => {
    const wanted = enums.filter(({ component }) => component === name).length;
    const found = countEnums(schema);
    return wanted === found ? [] : [`${name} has ${found} enums instead of ${wanted}`];
  });
}

function countEnums(value: unknown): number {
  if (Array.isArray(value)) return value.reduce<number>((total, item) => total + countEnums(item), 0);
  if (!isObject(value)) return 0;
  return Object.entries(value).reduce(
    (total, [key, member]) => total + (key === "enum" && Array.isArray(member) ? 1 : countEnums(member)),
    0,
  );
}
