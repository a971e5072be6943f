// SPDX-License-Identifier: Apache-2.0
import {
  create,
  MatchLabels,
  Requirements,
  type Resource,
  ResourceSelector,
  type RunFunctionResponse,
  SchemaSelector,
  State,
  Struct,
} from "@purlin/function-protocol";
import { FunctionError } from "../errors/function-error.ts";
import { mergeObjects } from "../resource/convert.ts";
import {
  isResourceMessage,
  normalise,
  type ObjectSource,
  type ReadyInput,
  resourceMessage,
  structOf,
  toReady,
} from "../resource/resource-message.ts";

/** Things by name, as a Map or an object. */
export type ByName<T> = ReadonlyMap<string, T> | Readonly<Record<string, T>>;

/** A composite to be set: what request.getDesiredCompositeResource gives, or parts made by hand. */
export interface CompositeInput {
  readonly resource: ObjectSource;
  readonly connectionDetails?: ReadonlyMap<string, Uint8Array> | undefined;
  readonly ready?: ReadyInput | undefined;
}

/** A composed resource to be set: what request.getDesiredComposedResources gives, or parts made by hand. */
export interface ComposedInput {
  readonly resource: ObjectSource;
  readonly ready?: ReadyInput | undefined;
}

/** Replaces the desired composite: object, connection details and readiness. */
export function setDesiredCompositeResource(rsp: RunFunctionResponse, xr: CompositeInput): void {
  const message = resourceMessage(structOf(xr.resource, "the desired composite resource"), xr);
  desiredOf(rsp).composite = keepUnknown(message, rsp.desired?.composite);
}

/**
 * Merges into the status of the desired composite. Lists are replaced; what earlier steps put beside stays. This is the
 * only part of the composite's object a function can change.
 */
export function setDesiredCompositeStatus(rsp: RunFunctionResponse, status: object): void {
  const composite = compositeOf(rsp);
  const wanted = { status: normalise(status, "the status of the composite resource") };
  composite.resource = Struct.from(mergeObjects(composite.resource?.value ?? {}, wanted));
}

/** Says whether the composite is ready, whatever its composed resources are. */
export function setDesiredCompositeReady(rsp: RunFunctionResponse, ready: ReadyInput): void {
  compositeOf(rsp).ready = toReady(ready);
}

/** Replaces the connection details of the composite, which only legacy composites publish. */
export function setDesiredConnectionDetails(rsp: RunFunctionResponse, details: ByName<Uint8Array | string>): void {
  const encoder = new TextEncoder();
  const entries = [...entriesOf(details)];
  compositeOf(rsp).connectionDetails = new Map(
    entries.map(([key, value]) => [key, typeof value === "string" ? encoder.encode(value) : value]),
  );
}

/**
 * Sets one desired composed resource. It replaces the one of that name; other names stay. The object is encoded now:
 * throws INVALID_RESOURCE, naming the path, when JSON cannot hold it.
 */
// biome-ignore lint/complexity/useMaxParams: a public signature; the fourth parameter is the options object.
export function setDesiredComposedResource(
  rsp: RunFunctionResponse,
  name: string,
  object: ObjectSource,
  options: { readonly ready?: ReadyInput | undefined } = {},
): void {
  const { resources } = desiredOf(rsp);
  const message = resourceMessage(structOf(object, `desired resource ${JSON.stringify(name)}`), options);
  resources.set(name, keepUnknown(message, resources.get(name)));
}

/** As {@link setDesiredComposedResource}, for several. Names that are not given stay as they are. */
export function setDesiredComposedResources(rsp: RunFunctionResponse, resources: ByName<ComposedInput>): void {
  for (const [name, { resource, ready }] of entriesOf(resources)) {
    setDesiredComposedResource(rsp, name, resource, { ready });
  }
}

/** Sets plain objects as desired resources, as Operations do. Names that are not given stay as they are. */
export function setDesiredResources(rsp: RunFunctionResponse, resources: ByName<ObjectSource>): void {
  for (const [name, object] of entriesOf(resources)) {
    const ready = isResourceMessage(object) ? object.ready : undefined;
    setDesiredComposedResource(rsp, name, object, { ready });
  }
}

/** Removes a desired resource, so that it will be deleted. Returns whether it was there. */
export function removeDesiredComposedResource(rsp: RunFunctionResponse, name: string): boolean {
  return rsp.desired?.resources.delete(name) ?? false;
}

function desiredOf(rsp: RunFunctionResponse): State {
  rsp.desired ??= create(State);
  return rsp.desired;
}

function compositeOf(rsp: RunFunctionResponse): Resource {
  const desired = desiredOf(rsp);
  desired.composite ??= resourceMessage(undefined);
  return desired.composite;
}

/** Fields of a newer protocol that an earlier step set are not ours to drop. */
function keepUnknown(message: Resource, before: Resource | undefined): Resource {
  message.$unknown = before?.$unknown;
  return message;
}

function entriesOf<T>(things: ByName<T>): Iterable<[string, T]> {
  return things instanceof Map ? things.entries() : Object.entries(things as Readonly<Record<string, T>>);
}

/** Which resources are wanted: a kind, perhaps a namespace, and exactly one of the three ways to match. */
export interface ResourceSelection {
  readonly apiVersion: string;
  readonly kind: string;
  /** Only in this namespace. Without it: cluster-scoped by name, all namespaces by labels. */
  readonly namespace?: string | undefined;
  readonly matchName?: string | undefined;
  /** All of these; none matches everything of the kind. */
  readonly matchLabels?: Readonly<Record<string, string>> | undefined;
  /** Everything of the kind. Control planes before 2.2.1 refuse it. */
  readonly matchAll?: boolean | undefined;
}

/**
 * Asks for the schema of a kind, to be read under the same name on the next call. Ask on every call, also once it is
 * there: what a function stops asking for is taken away again.
 */
// biome-ignore lint/complexity/useMaxParams: a public signature that the function SDKs of other languages have, too.
export function requireSchema(rsp: RunFunctionResponse, name: string, apiVersion: string, kind: string): void {
  checkKind(name, apiVersion, kind);
  requirementsOf(rsp).schemas.set(name, create(SchemaSelector, { apiVersion, kind }));
}

/** Asks for resources, to be read under the same name on the next call. Ask on every call, also once they are there. */
export function requireResources(rsp: RunFunctionResponse, name: string, selection: ResourceSelection): void {
  requirementsOf(rsp).resources.set(name, toSelector(name, selection));
}

/** As {@link requireResources}, in the field releases before 2.0 know. @deprecated Use requireResources. */
export function requireExtraResources(rsp: RunFunctionResponse, name: string, selection: ResourceSelection): void {
  requirementsOf(rsp).extraResources.set(name, toSelector(name, selection));
}

function requirementsOf(rsp: RunFunctionResponse): Requirements {
  rsp.requirements ??= create(Requirements);
  return rsp.requirements;
}

function toSelector(name: string, selection: ResourceSelection): ResourceSelector {
  const { apiVersion, kind, namespace, matchName, matchLabels, matchAll } = selection;
  checkKind(name, apiVersion, kind);
  const given = [matchName !== undefined, matchLabels !== undefined, matchAll === true].filter(Boolean).length;
  if (given !== 1) throw invalid(name, `expected exactly one of matchName, matchLabels and matchAll, not ${given}`);
  if (matchName === "") throw invalid(name, "matchName is empty");
  return create(ResourceSelector, { apiVersion, kind, namespace, match: toMatch(matchName, matchLabels) });
}

function toMatch(
  matchName: string | undefined,
  matchLabels: Readonly<Record<string, string>> | undefined,
): ResourceSelector["match"] {
  if (matchName !== undefined) return { case: "matchName", value: matchName };
  if (matchLabels === undefined) return undefined;
  const labels = new Map(Object.entries(matchLabels));
  return { case: "matchLabels", value: create(MatchLabels, { labels }) };
}

/** An empty one can never be found; better to fail on the author's line than in a control plane far away. */
function checkKind(name: string, apiVersion: string, kind: string): void {
  if (!apiVersion) throw invalid(name, "apiVersion is empty");
  if (!kind) throw invalid(name, "kind is empty");
}

function invalid(name: string, problem: string): FunctionError {
  return new FunctionError("INVALID_SELECTOR", `cannot require ${JSON.stringify(name)}: ${problem}`);
}
