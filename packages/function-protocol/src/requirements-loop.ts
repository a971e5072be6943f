// SPDX-License-Identifier: Apache-2.0

import { Buffer } from "node:buffer";
import { forEachLimited } from "@purlin/base";
import { create } from "./descriptor.ts";
import {
  Requirements,
  ResourceSelector,
  type Resources,
  type RunFunctionRequest,
  type RunFunctionResponse,
  type Schema,
  type SchemaSelector,
  Severity,
} from "./gen/run-function.ts";
import { encodeCanonical } from "./message-encode.ts";
import { ProtocolError } from "./protocol-error.ts";
import { type Struct, sameBytes } from "./struct.ts";

/** How often a function may be called again because it asked for something new. */
const maxRequirementsIterations = 5;

/** A function may ask for thousands of things: this many of them are read at the same time. */
const fetchedAtOnce = 16;

/** Where the answers to requirements come from. */
export interface RequirementSource {
  /** The resources a selector matches; none is an empty list. */
  resources(selector: ResourceSelector): Promise<Resources>;
  /** The schema of a kind; an empty Schema when there is no such kind. */
  schema(selector: SchemaSelector): Promise<Schema>;
}

/** What the loop needs from outside. */
interface RequirementsLoopOptions {
  /** Calls the function once. */
  readonly run: (request: RunFunctionRequest) => Promise<RunFunctionResponse>;
  readonly source: RequirementSource;
  readonly signal?: AbortSignal | undefined;
}

/** A settled response and the requests that led to it. */
export interface SettledResponse {
  readonly response: RunFunctionResponse;
  readonly requests: readonly RunFunctionRequest[];
}

/**
 * Calls a function until it asks for the same twice in a row, giving it what it asked for in between. The request is not
 * changed; answers it already carries stay unless the function asks for something else under the same name.
 */
export async function runUntilSettled(
  request: RunFunctionRequest,
  { run, source, signal }: RequirementsLoopOptions,
): Promise<SettledResponse> {
  const requests: RunFunctionRequest[] = [];
  const remembered = rememberAnswers(source);
  let current = request;
  let previous: { readonly requirements: Requirements | undefined } | undefined;

  while (requests.length <= maxRequirementsIterations) {
    signal?.throwIfAborted();
    requests.push(current);
    const response = await run(current);
    if (isFatal(response)) return { response, requests };
    if (previous && requirementsEqual(response.requirements, previous.requirements)) return { response, requests };

    // Most functions ask for nothing: then there is nothing to fetch and nothing to compare.
    if (!previous && asksForNothing(response) && current.extraResources.size === 0) return { response, requests };

    const answers = await resolve(request, response.requirements, remembered);
    // What the first request already carried may be all the function wants; a second call could not differ.
    if (!previous && answersEqual(current, answers)) return { response, requests };

    previous = { requirements: response.requirements };
    current = { ...request, ...answers, context: response.context };
  }
  throw new ProtocolError(
    "UNSTABLE_REQUIREMENTS",
    `requirements didn't stabilize after the maximum number of iterations (${maxRequirementsIterations})`,
  );
}

function asksForNothing({ requirements }: RunFunctionResponse): boolean {
  if (requirements === undefined) return true;
  const { extraResources, resources, schemas } = requirements;
  return extraResources.size === 0 && resources.size === 0 && schemas.size === 0;
}

/** True when a response stops the pipeline. */
export function isFatal(response: RunFunctionResponse): boolean {
  return response.results.some(({ severity }) => severity === Severity.SEVERITY_FATAL);
}

/** Asks for the same selector once a step, so that all calls of a step see one answer. */
function rememberAnswers(source: RequirementSource): RequirementSource {
  const resources = new Map<string, Promise<Resources>>();
  const schemas = new Map<string, Promise<Schema>>();
  return {
    resources: (selector) => getOrSet(resources, selectorKey(selector), () => source.resources(selector)),
    schema: (selector) => getOrSet(schemas, schemaSelectorKey(selector), () => source.schema(selector)),
  };
}

function getOrSet<T>(map: Map<string, T>, key: string, make: () => T): T {
  const known = map.get(key);
  if (known !== undefined) return known;
  const made = make();
  map.set(key, made);
  return made;
}

async function resolve(
  request: RunFunctionRequest,
  requirements: Requirements | undefined,
  source: RequirementSource,
): Promise<Answers> {
  const [extra, resources, schemas] = await Promise.all([
    fetchAll(requirements?.extraResources, (selector) => source.resources(selector), "resources"),
    fetchAll(requirements?.resources, (selector) => source.resources(selector), "resources"),
    fetchAll(requirements?.schemas, (selector) => source.schema(selector), "schema"),
  ]);
  return {
    extraResources: extra,
    requiredResources: new Map([...request.requiredResources, ...resources]),
    requiredSchemas: new Map([...request.requiredSchemas, ...schemas]),
  };
}

async function fetchAll<S, T>(
  selectors: ReadonlyMap<string, S> | undefined,
  fetch: (selector: S) => Promise<T>,
  what: string,
): Promise<Map<string, T>> {
  const entries = [...(selectors ?? [])];
  const found = new Array<T>(entries.length);
  await forEachLimited(entries, fetchedAtOnce, async ([name, selector], index) => {
    try {
      found[index] = await fetch(selector);
    } catch (error) {
      throw fetchError(what, name, error);
    }
  });
  return new Map(entries.map(([name], index) => [name, found[index] as T]));
}

function fetchError(what: string, name: string, cause: unknown): Error {
  const reason = cause instanceof Error ? cause.message : String(cause);
  return new Error(`fetching ${what} for ${name}: ${reason}`, { cause });
}

/** The three maps of a request that answer a function's requirements. */
type Answers = Pick<RunFunctionRequest, "extraResources" | "requiredResources" | "requiredSchemas">;

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
function selectorKey(selector: ResourceSelector): string {
  return Buffer.from(encodeCanonical(ResourceSelector, normalSelector(selector))).toString("base64");
}

/** As {@link selectorKey}, for schemas. */
function schemaSelectorKey({ apiVersion, kind }: SchemaSelector): string {
  return JSON.stringify([apiVersion, kind]);
}

/** True when both hold the same resources and schemas under the same names. */
function answersEqual(a: Answers, b: Answers): boolean {
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
