// SPDX-License-Identifier: Apache-2.0
// Names that functions choose: of resources, connection details and requirements, and what they require. They may be, or hold, a secret value.

import { Buffer } from "node:buffer";
import { isPartDone, type Work } from "@purlin/base";
import type {
  Requirements,
  Resource,
  ResourceSelector,
  Resources,
  RunFunctionRequest,
  SchemaSelector,
  State,
} from "@purlin/function-protocol";
import type { Scrubber } from "./scrubber.ts";
import { isMark } from "./sensitive-fields.ts";

type TextScrubber = Pick<Scrubber, "text" | "isOpaque" | "mark">;

/** A state with clean names of resources and of connection details. */
export function* scrubStateNames(state: State | undefined, scrubber: TextScrubber): Work<State | undefined> {
  if (state === undefined) return undefined;
  const { composite } = state;
  const resources = new Map<string, Resource>();
  for (const [name, resource] of yield* scrubKeys(state.resources, scrubber)) {
    resources.set(name, yield* scrubDetailNames(resource, scrubber));
  }
  return { ...state, composite: composite && (yield* scrubDetailNames(composite, scrubber)), resources };
}

function* scrubDetailNames(resource: Resource, scrubber: TextScrubber): Work<Resource> {
  const connectionDetails = yield* scrubKeys(resource.connectionDetails, scrubber);
  return connectionDetails === resource.connectionDetails ? resource : { ...resource, connectionDetails };
}

type Required = Pick<RunFunctionRequest, "requiredResources" | "extraResources" | "requiredSchemas">;

/** What a function required before, by clean names: those of its requirements. */
export function* scrubRequired(request: Required, scrubber: TextScrubber): Work<Required> {
  return {
    requiredResources: yield* scrubFound(request.requiredResources, scrubber),
    extraResources: yield* scrubFound(request.extraResources, scrubber),
    requiredSchemas: yield* scrubKeys(request.requiredSchemas, scrubber),
  };
}

function* scrubFound(found: Map<string, Resources>, scrubber: TextScrubber): Work<Map<string, Resources>> {
  const clean = new Map<string, Resources>();
  for (const [name, resources] of yield* scrubKeys(found, scrubber)) {
    const items: Resource[] = [];
    for (const item of resources.items) items.push(yield* scrubDetailNames(item, scrubber));
    clean.set(name, { ...resources, items });
  }
  return clean;
}

/** Requirements with clean names and selectors. */
export function* scrubRequirements(
  requirements: Requirements | undefined,
  scrubber: TextScrubber,
): Work<Requirements | undefined> {
  if (requirements === undefined) return undefined;
  const resources = yield* scrubSelectors(requirements.resources, scrubber);
  const extraResources = yield* scrubSelectors(requirements.extraResources, scrubber);
  const schemas = new Map<string, SchemaSelector>();
  for (const [name, selector] of yield* scrubKeys(requirements.schemas, scrubber)) {
    schemas.set(name, { ...selector, ...(yield* scrubType(selector, scrubber)) });
  }
  return { ...requirements, resources, extraResources, schemas };
}

function* scrubType(
  { apiVersion, kind }: Pick<SchemaSelector, "apiVersion" | "kind">,
  scrubber: TextScrubber,
): Work<Pick<SchemaSelector, "apiVersion" | "kind">> {
  return { apiVersion: yield* scrubber.text(apiVersion), kind: yield* scrubber.text(kind) };
}

function* scrubSelectors(
  selectors: Requirements["resources"],
  scrubber: TextScrubber,
): Work<Requirements["resources"]> {
  const clean: Requirements["resources"] = new Map();
  for (const [name, selector] of yield* scrubKeys(selectors, scrubber)) {
    const { match, namespace } = selector;
    clean.set(name, {
      ...selector,
      ...(yield* scrubType(selector, scrubber)),
      match: yield* scrubMatch(match, scrubber),
      ...(namespace !== undefined && { namespace: yield* scrubber.text(namespace) }),
    });
  }
  return clean;
}

function* scrubMatch(match: ResourceSelector["match"], scrubber: TextScrubber): Work<ResourceSelector["match"]> {
  if (match === undefined) return undefined;
  if (match.case === "matchName") return { ...match, value: yield* scrubber.text(match.value) };
  const labels = new Map<string, string>();
  for (const [label, value] of yield* scrubKeys(match.value.labels, scrubber)) {
    labels.set(label, yield* scrubber.text(value));
  }
  return { ...match, value: { ...match.value, labels } };
}

/**
 * A map with clean keys; the map itself when nothing had to be replaced. Keys that would be equal are numbered. Of a run with too many
 * values to search for, each key becomes a mark of its own, so that names stay distinct.
 */
function* scrubKeys<T>(map: Map<string, T>, scrubber: TextScrubber): Work<Map<string, T>> {
  if (map.size === 0) return map;
  const isOpaque = yield* scrubber.isOpaque();
  const clean = new Map<string, T>();
  let isChanged = false;
  for (const [key, value] of map) {
    if (isPartDone()) yield;
    const name = isOpaque ? markOf(key, scrubber) : yield* scrubber.text(key);
    isChanged ||= name !== key;
    clean.set(clean.has(name) ? `${name} (${clean.size + 1})` : name, value);
  }
  return isChanged ? clean : map;
}

const markOf = (text: string, scrubber: TextScrubber): string =>
  isMark(text) ? text : scrubber.mark(Buffer.from(text));
