// SPDX-License-Identifier: Apache-2.0
import { Buffer } from "node:buffer";
import {
  type Credentials,
  isJsonObject,
  type JsonObject,
  type JsonValue,
  type Resource,
  type Resources,
  type RunFunctionRequest,
  type RunFunctionResponse,
  type State,
  Struct,
  setOwn,
} from "@purlin/function-protocol";

/** What stands where a secret was. */
export const redacted = "**REDACTED**";

const redactedBytes = Buffer.from(redacted);
const secretMembers: ReadonlySet<string> = new Set(["data", "stringData"]);

/** A copy of a request without the values of credentials, connection details and Secrets. All keys stay. */
export function redactRequest(request: RunFunctionRequest): RunFunctionRequest {
  return {
    ...request,
    observed: redactState(request.observed),
    desired: redactState(request.desired),
    credentials: mapValues(request.credentials, redactCredentials),
    extraResources: mapValues(request.extraResources, redactResources),
    requiredResources: mapValues(request.requiredResources, redactResources),
  };
}

/** As {@link redactRequest}, for a response. */
export function redactResponse(response: RunFunctionResponse): RunFunctionResponse {
  return { ...response, desired: redactState(response.desired) };
}

function redactState(state: State | undefined): State | undefined {
  if (state === undefined) return undefined;
  return {
    ...state,
    composite: state.composite && redactComposite(state.composite),
    resources: mapValues(state.resources, redactResource),
  };
}

function redactCredentials(credentials: Credentials): Credentials {
  const { source } = credentials;
  if (source === undefined) return credentials;
  return { ...credentials, source: { ...source, value: { ...source.value, data: redactBytes(source.value.data) } } };
}

function redactResources(resources: Resources): Resources {
  return { ...resources, items: resources.items.map(redactResource) };
}

function redactResource(resource: Resource): Resource {
  return {
    ...resource,
    resource: resource.resource && redactStruct(resource.resource),
    connectionDetails: redactBytes(resource.connectionDetails),
  };
}

/** A composite may have the shape of a Secret without being one. */
function redactComposite(composite: Resource): Resource {
  const plain = redactResource(composite);
  if (plain.resource === undefined) return plain;
  const { value } = plain.resource;
  const isSecretShaped = [...secretMembers].some((member) => isJsonObject(value[member]));
  return isSecretShaped ? { ...plain, resource: Struct.from(withoutValues(value)) } : plain;
}

function redactBytes(map: ReadonlyMap<string, Uint8Array>): Map<string, Uint8Array> {
  return mapValues(map, () => redactedBytes);
}

/** Looks at the bytes first: an object that mentions neither word is not even decoded. */
function redactStruct(struct: Struct): Struct {
  const bytes = Buffer.from(struct.bytes.buffer, struct.bytes.byteOffset, struct.bytes.byteLength);
  if (!bytes.includes("Secret") && !bytes.includes("last-applied")) return struct;
  const clean = redactValue(struct.value);
  return clean === struct.value ? struct : Struct.from(clean as JsonObject);
}

/** Secrets are found wherever they are, also inside another object's manifest. Returns the value itself when clean. */
function redactValue(value: JsonValue): JsonValue {
  if (typeof value !== "object" || value === null) return value;
  if (Array.isArray(value)) {
    const items = value.map(redactValue);
    return items.some((item, index) => item !== value[index]) ? items : value;
  }
  const isSecret = value["kind"] === "Secret" && value["apiVersion"] === "v1";
  return redactMembers(isSecret ? withoutValues(value) : value);
}

function redactMembers(object: JsonObject): JsonObject {
  const clean: JsonObject = {};
  let changed = false;
  for (const [key, member] of Object.entries(object)) {
    const value = key === "annotations" && isJsonObject(member) ? redactAnnotations(member) : redactValue(member);
    changed ||= value !== member;
    setOwn(clean, key, value);
  }
  return changed ? clean : object;
}

/** kubectl and others keep a whole copy of an object, data included, in an annotation. */
function redactAnnotations(annotations: JsonObject): JsonObject {
  const isCopy = (name: string): boolean => name.includes("last-applied");
  if (!Object.keys(annotations).some(isCopy)) return annotations;
  const clean: JsonObject = {};
  for (const [name, value] of Object.entries(annotations)) setOwn(clean, name, isCopy(name) ? redacted : value);
  return clean;
}

function withoutValues(object: JsonObject): JsonObject {
  const clean: JsonObject = {};
  for (const [key, value] of Object.entries(object)) {
    setOwn(clean, key, secretMembers.has(key) ? hideValues(value) : value);
  }
  return clean;
}

function hideValues(value: JsonValue): JsonValue {
  if (!isJsonObject(value)) return value === null ? null : redacted;
  const hidden: JsonObject = {};
  for (const key of Object.keys(value)) setOwn(hidden, key, redacted);
  return hidden;
}

function mapValues<T, U>(map: ReadonlyMap<string, T>, change: (value: T) => U): Map<string, U> {
  return new Map([...map].map(([key, value]) => [key, change(value)]));
}
