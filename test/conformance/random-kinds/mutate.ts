// SPDX-License-Identifier: Apache-2.0
// Random changes of a valid object: a field set, removed, repeated or unknown, anywhere its schema has one.
import type { Random } from "../../fuzz/engine/random.ts";
import type { Loose } from "../harness/loose.ts";
import { merged, newKey, randomValue } from "./values.ts";

/** A change of an object: where it is, and the new value; undefined removes the field. */
export interface Mutation {
  readonly path: readonly (string | number)[];
  readonly value: Loose;
}

/** Changes one field of an object in place. */
export function mutate(random: Random, object: Loose, schema: Loose): Mutation {
  const path: (string | number)[] = [];
  let [node, nodeSchema] = [object, merged(schema)] as [Loose, Loose];
  for (;;) {
    const [key, childSchema] = randomChild(random, { node, schema: nodeSchema, isRoot: path.length === 0 });
    path.push(key);
    const child = node[key];
    const isContainer = typeof child === "object" && child !== null;
    if (!isContainer || random.below(5) === 0 || isEmptySchema(childSchema)) {
      return change(random, node, { path, key, schema: childSchema });
    }
    [node, nodeSchema] = [child, merged(childSchema)];
  }
}

const isEmptySchema = (schema: Loose): boolean => {
  const { properties, additionalProperties, items } = merged(schema);
  return properties === undefined && additionalProperties === undefined && items === undefined;
};

interface Parent {
  readonly node: Loose;
  readonly schema: Loose;
  readonly isRoot: boolean;
}

const unknownSchema: Loose = {};

/** A field or an item of an object or a list, one that exists in most cases. */
function randomChild(random: Random, { node, schema, isRoot }: Parent): [string | number, Loose] {
  if (Array.isArray(node)) {
    const isNew = node.length === 0 || random.below(4) === 0;
    return [isNew ? node.length : random.below(node.length), schema.items ?? unknownSchema];
  }
  if (schema.additionalProperties !== undefined) {
    const keys = Object.keys(node);
    const isNew = keys.length === 0 || random.below(2) === 0;
    return [isNew ? newKey(random, schema.additionalProperties) : random.pick(keys), schema.additionalProperties];
  }
  if (random.below(200) === 0) return ["unknownField", unknownSchema];
  const fixed = isRoot ? rootFields : new Set<string>();
  const names = Object.keys(schema.properties ?? {}).filter((name) => !fixed.has(name));
  const present = names.filter((name) => node[name] !== undefined);
  const name = random.pick(present.length > 0 && random.below(2) === 0 ? present : names);
  return name === undefined ? ["unknownField", unknownSchema] : [name, schema.properties[name]];
}

/** Metadata has properties of its own; what the server writes is not changed. */
const rootFields: ReadonlySet<string> = new Set(["apiVersion", "kind", "metadata", "status"]);

interface Place {
  readonly path: readonly (string | number)[];
  readonly key: string | number;
  readonly schema: Loose;
}

function change(random: Random, node: Loose, { path, key, schema }: Place): Mutation {
  const isThere = node[key] !== undefined;
  if (isThere && random.below(4) === 0) {
    if (Array.isArray(node)) node.splice(Number(key), 1);
    else delete node[key];
    return { path, value: undefined };
  }
  if (Array.isArray(node) && node.length > 0 && !isThere && random.below(3) === 0) {
    node[Number(key)] = structuredClone(random.pick(node));
  } else {
    // Some values are the same in all requests, and must not be changed by the next mutation.
    node[key] = structuredClone(randomValue(random, schema));
  }
  return { path, value: node[key] };
}
