// SPDX-License-Identifier: Apache-2.0
import {
  childPath,
  type FieldError,
  type FieldPath,
  indexPath,
  keyPath,
  requiredValue,
} from "@purlin/kube-objects/errors";
import type { SchemaProps } from "./schema-props.ts";

/** What a schema declares at a place, and the place. */
interface Declared {
  readonly schema: SchemaProps | undefined;
  readonly path: FieldPath;
}

/**
 * What the root of a schema says about fields in `allOf`, `anyOf`, `oneOf` and `not` only: they have to be declared outside of
 * these too. The reference server looks at the root alone, not at what other nodes say in the same way.
 */
export function* undeclaredProblems(root: SchemaProps, path: FieldPath): Generator<FieldError> {
  yield* combinedProblems(root, path, { schema: root, path });
}

function* combinedProblems(said: SchemaProps, at: FieldPath, declared: Declared): Generator<FieldError> {
  if (said.not !== undefined) yield* nestedProblems(said.not, childPath(at, "not"), declared);
  for (const name of ["allOf", "anyOf", "oneOf"] as const) {
    for (const [index, one] of said[name].entries()) {
      yield* nestedProblems(one, indexPath(childPath(at, name), index), declared);
    }
  }
}

function* nestedProblems(said: SchemaProps, at: FieldPath, { schema, path }: Declared): Generator<FieldError> {
  if (schema === undefined) {
    yield requiredValue(path, `because it is defined in ${at}`);
    return;
  }
  yield* combinedProblems(said, at, { schema, path });
  const items = said.items?.schema;
  if (items !== undefined) {
    yield* nestedProblems(items, childPath(at, "items"), {
      schema: schema.items?.schema,
      path: childPath(path, "items"),
    });
  }
  const declared = new Map(said.properties.length === 0 ? [] : schema.properties);
  for (const [name, property] of said.properties) {
    const inside = (place: FieldPath): FieldPath => keyPath(childPath(place, "properties"), name);
    yield* nestedProblems(property, inside(at), { schema: declared.get(name), path: inside(path) });
  }
}
