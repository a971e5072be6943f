// SPDX-License-Identifier: Apache-2.0
import { isJsonObject, type JsonValue, ownValue, setOwnValue } from "../json/json-value.ts";
import {
  componentsOf,
  OpenAPIError,
  type OpenAPISchema,
  type OpenAPISource,
  referenceOf,
  referredComponent,
} from "./open-api-document.ts";

/** How far inlining may go before it is refused; the largest built-in kind needs a hundredth of the first. */
export const inliningLimits: { readonly schemas: number; readonly depth: number } = { schemas: 500_000, depth: 500 };

/**
 * A component with every reference replaced by what it refers to, so that it can be read without its document. A schema
 * that refers, by `$ref` or inside `allOf`, is replaced entirely; a reference to a component it is already inside of
 * becomes `{"type":"object"}`. Only `properties`, `additionalProperties` and `items` are followed.
 *
 * The result shares parts with the document and with itself: treat it as frozen. Throws an {@link OpenAPIError} when a
 * reference leads nowhere or the result would be larger than {@link inliningLimits}.
 */
export function inlineReferences(document: OpenAPISource, component: string): OpenAPISchema {
  const inlining: Inlining = {
    root: component,
    components: componentsOf(document),
    finished: new Map(),
    open: new Map(),
    lowestCycle: Number.POSITIVE_INFINITY,
    schemas: 0,
    depth: 0,
  };
  return inlineComponent(inlining, component);
}

interface Inlined {
  readonly schema: OpenAPISchema;
  /** How many schemas it consists of, shared ones counted each time: the size of its JSON, not of its memory. */
  readonly schemas: number;
}

interface Inlining {
  readonly root: string;
  readonly components: Readonly<Record<string, OpenAPISchema>>;
  /** Components on no cycle look the same wherever they are used, so they are inlined once. */
  readonly finished: Map<string, Inlined>;
  /** The components around the current schema, with their depth. */
  readonly open: Map<string, number>;
  /** The outermost open component that a reference led back to. */
  lowestCycle: number;
  schemas: number;
  depth: number;
}

const cycle: OpenAPISchema = { type: "object" };

function inlineComponent(inlining: Inlining, name: string): OpenAPISchema {
  const finished = inlining.finished.get(name);
  if (finished) {
    count(inlining, finished.schemas);
    return finished.schema;
  }
  const openAt = inlining.open.get(name);
  if (openAt !== undefined) {
    inlining.lowestCycle = Math.min(inlining.lowestCycle, openAt);
    count(inlining, 1);
    return cycle;
  }
  const component = ownValue(inlining.components, name);
  if (!isJsonObject(component))
    throw new OpenAPIError(`component ${inlining.root} refers to ${name}, which is not defined`);
  return inlineUnseen(inlining, name, component);
}

function inlineUnseen(inlining: Inlining, name: string, component: OpenAPISchema): OpenAPISchema {
  const openAt = inlining.open.size;
  const outerCycle = inlining.lowestCycle;
  const before = inlining.schemas;
  inlining.open.set(name, openAt);
  inlining.lowestCycle = Number.POSITIVE_INFINITY;
  const schema = inlineSchema(inlining, component);
  inlining.open.delete(name);
  // A way back to this component or one around it makes the result depend on where we came from.
  if (inlining.lowestCycle > openAt) inlining.finished.set(name, { schema, schemas: inlining.schemas - before });
  inlining.lowestCycle = Math.min(outerCycle, inlining.lowestCycle);
  return schema;
}

function inlineSchema(inlining: Inlining, schema: OpenAPISchema): OpenAPISchema {
  if (++inlining.depth > inliningLimits.depth) {
    throw new OpenAPIError(`component ${inlining.root} is nested deeper than ${inliningLimits.depth} schemas`);
  }
  const reference = referenceOf(schema);
  const inlined = reference === undefined ? inlineChildren(inlining, schema) : inlineReference(inlining, reference);
  inlining.depth--;
  return inlined;
}

function inlineReference(inlining: Inlining, reference: string): OpenAPISchema {
  const name = referredComponent(reference);
  if (name === undefined) throw new OpenAPIError(`component ${inlining.root} has the foreign reference ${reference}`);
  return inlineComponent(inlining, name);
}

function inlineChildren(inlining: Inlining, schema: OpenAPISchema): OpenAPISchema {
  count(inlining, 1);
  const { properties, additionalProperties, items } = schema;
  const changes: Record<string, JsonValue> = {};
  if (isJsonObject(properties)) changes["properties"] = inlineProperties(inlining, properties);
  if (isJsonObject(additionalProperties)) {
    changes["additionalProperties"] = inlineSchema(inlining, additionalProperties);
  }
  if (isJsonObject(items)) changes["items"] = inlineSchema(inlining, items);
  const changed = Object.keys(changes).some((key) => changes[key] !== schema[key]);
  return changed ? { ...schema, ...changes } : schema;
}

function inlineProperties(inlining: Inlining, properties: OpenAPISchema): OpenAPISchema {
  const inlined: Record<string, JsonValue> = {};
  let changed = false;
  for (const [name, property] of Object.entries(properties)) {
    const value = isJsonObject(property) ? inlineSchema(inlining, property) : property;
    if (value !== property) changed = true;
    setOwnValue(inlined, name, value);
  }
  return changed ? inlined : properties;
}

function count(inlining: Inlining, schemas: number): void {
  inlining.schemas += schemas;
  if (inlining.schemas <= inliningLimits.schemas) return;
  throw new OpenAPIError(`component ${inlining.root} grows beyond ${inliningLimits.schemas} schemas when inlined`);
}
