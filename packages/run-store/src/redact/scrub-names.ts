// SPDX-License-Identifier: Apache-2.0
// Names that functions choose: of resources, connection details and requirements. They may be, or hold, a secret value.

import { isPartDone, type Work } from "@purlin/base";
import type { Requirements, Resource, ResourceSelector, State } from "@purlin/function-protocol";
import type { Scrubber } from "./scrubber.ts";

type TextScrubber = Pick<Scrubber, "text" | "isOpaque">;

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

/** Requirements with clean names and selectors. */
export function* scrubRequirements(
  requirements: Requirements | undefined,
  scrubber: TextScrubber,
): Work<Requirements | undefined> {
  if (requirements === undefined) return undefined;
  const resources = yield* scrubSelectors(requirements.resources, scrubber);
  const extraResources = yield* scrubSelectors(requirements.extraResources, scrubber);
  return { ...requirements, resources, extraResources, schemas: yield* scrubKeys(requirements.schemas, scrubber) };
}

function* scrubSelectors(
  selectors: Requirements["resources"],
  scrubber: TextScrubber,
): Work<Requirements["resources"]> {
  const clean: Requirements["resources"] = new Map();
  for (const [name, selector] of yield* scrubKeys(selectors, scrubber)) {
    clean.set(name, { ...selector, match: yield* scrubMatch(selector.match, scrubber) });
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
 * values to search for, in which all texts would be the same, they stay.
 */
function* scrubKeys<T>(map: Map<string, T>, scrubber: TextScrubber): Work<Map<string, T>> {
  if (map.size === 0 || (yield* scrubber.isOpaque())) return map;
  const clean = new Map<string, T>();
  let isChanged = false;
  for (const [key, value] of map) {
    if (isPartDone()) yield;
    const name = yield* scrubber.text(key);
    isChanged ||= name !== key;
    clean.set(clean.has(name) ? `${name} (${clean.size + 1})` : name, value);
  }
  return isChanged ? clean : map;
}
