// SPDX-License-Identifier: Apache-2.0

import { Buffer } from "node:buffer";
import { create } from "./descriptor.ts";
import {
  Requirements,
  ResourceSelector,
  type Resources,
  type RunFunctionRequest,
  type Schema,
  type SchemaSelector,
} from "./gen/run-function.ts";
import { encodeCanonical } from "./message-encode.ts";
import { type Struct, sameBytes } from "./struct.ts";

/** The three maps of a request that answer a function's requirements. */
export type Answers = Pick<RunFunctionRequest, "extraResources" | "requiredResources" | "requiredSchemas">;

/** True when both ask for the same: absent is empty, and an absent namespace is an empty one. */
export function requirementsEqual(a: Requirements | undefined, b: Requirements | undefined): boolean {
  return sameBytes(normalBytes(a), normalBytes(b));
}

function normalBytes(requirements: Requirements | undefined): Uint8Array {
  if (requirements === undefined) return new Uint8Array(0);
  const normal = create(Requirements, {
    ...requirements,
    extraResources: mapValues(requirements.extraResources, normalSelector),
    resources: mapValues(requirements.resources, normalSelector),
  });
  return encodeCanonical(Requirements, normal);
}

function normalSelector(selector: ResourceSelector): ResourceSelector {
  return selector.namespace === "" ? { ...selector, namespace: undefined } : selector;
}

/** A text that is the same for selectors that select the same. */
export function selectorKey(selector: ResourceSelector): string {
  return Buffer.from(encodeCanonical(ResourceSelector, normalSelector(selector))).toString("base64");
}

/** As {@link selectorKey}, for schemas. */
export function schemaSelectorKey({ apiVersion, kind }: SchemaSelector): string {
  return JSON.stringify([apiVersion, kind]);
}

/** True when both hold the same resources and schemas under the same names. */
export function answersEqual(a: Answers, b: Answers): boolean {
  return (
    mapsEqual(a.extraResources, b.extraResources, resourcesEqual) &&
    mapsEqual(a.requiredResources, b.requiredResources, resourcesEqual) &&
    mapsEqual(a.requiredSchemas, b.requiredSchemas, schemasEqual)
  );
}

function resourcesEqual(a: Resources, b: Resources): boolean {
  return (
    a.items.length === b.items.length &&
    a.items.every((item, index) => structsEqual(item.resource, b.items[index]?.resource))
  );
}

function schemasEqual(a: Schema, b: Schema): boolean {
  return structsEqual(a.openapiV3, b.openapiV3);
}

function structsEqual(a: Struct | undefined, b: Struct | undefined): boolean {
  return a === undefined || b === undefined ? a === b : a.equals(b);
}

function mapsEqual<T>(a: ReadonlyMap<string, T>, b: ReadonlyMap<string, T>, same: (x: T, y: T) => boolean): boolean {
  if (a.size !== b.size) return false;
  for (const [key, value] of a) {
    const other = b.get(key);
    if (other === undefined || !same(value, other)) return false;
  }
  return true;
}

function mapValues<T, U>(map: ReadonlyMap<string, T>, change: (value: T) => U): Map<string, U> {
  return new Map([...map].map(([key, value]) => [key, change(value)]));
}
