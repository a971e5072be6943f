// SPDX-License-Identifier: Apache-2.0
import {
  allCapabilities,
  type Capability,
  CredentialData,
  Credentials,
  create,
  isStruct,
  RequestMeta,
  type Resource,
  Resources,
  RunFunctionRequest,
  Schema,
  State,
  Struct,
} from "@purlin/function-protocol";
import { isResourceMessage, type ObjectSource, resourceMessage, structOf } from "../resource/resource-message.ts";
import type { ByName } from "../response/resources.ts";

/** A request in short. Everything is optional; objects are plain JSON. */
export interface RequestFixture {
  /** The observed composite resource. */
  readonly xr?: ObjectSource | undefined;
  /** The observed composite's connection details. */
  readonly connectionDetails?: ByName<string | Uint8Array> | undefined;
  /** Observed composed resources by name. A Resource message may bring connection details along. */
  readonly observed?: ByName<ObjectSource | Resource> | undefined;
  /** The composite as earlier steps want it. */
  readonly desiredXr?: ObjectSource | Resource | undefined;
  /** Composed resources earlier steps want, by name. */
  readonly desired?: ByName<ObjectSource | Resource> | undefined;
  readonly input?: object | undefined;
  readonly context?: object | undefined;
  /** Credentials by name, each with its keys. */
  readonly credentials?: ByName<ByName<string | Uint8Array>> | undefined;
  /** Answers to required resources; an empty list: looked up, nothing matched. */
  readonly requiredResources?: ByName<readonly ObjectSource[]> | undefined;
  /** Answers to the deprecated extra resources. */
  readonly extraResources?: ByName<readonly ObjectSource[]> | undefined;
  /** Answers to required schemas; null: looked up, no such kind. */
  readonly requiredSchemas?: ByName<object | null> | undefined;
  /** What the control plane says it can do. Default: everything. */
  readonly capabilities?: readonly Capability[] | undefined;
  /** Default "test". */
  readonly tag?: string | undefined;
}

/** A request for a test, as a current control plane would send it in the first step of a pipeline. */
export function newRequest(fixture: RequestFixture = {}): RunFunctionRequest {
  const { xr, connectionDetails, desiredXr, input } = fixture;
  const composite = xr === undefined && connectionDetails === undefined ? undefined : toResource(xr ?? {});
  if (composite !== undefined) composite.connectionDetails = toBytes(connectionDetails ?? {});
  return create(RunFunctionRequest, {
    meta: create(RequestMeta, {
      tag: fixture.tag ?? "test",
      capabilities: [...(fixture.capabilities ?? allCapabilities)],
    }),
    observed: create(State, { composite, resources: mapValues(fixture.observed, toResource) }),
    desired: create(State, {
      composite: desiredXr === undefined ? undefined : toResource(desiredXr),
      resources: mapValues(fixture.desired, toResource),
    }),
    input: input && mustStruct(input),
    context: mustStruct(fixture.context ?? {}),
    credentials: mapValues(fixture.credentials, toCredentials),
    requiredResources: mapValues(fixture.requiredResources, toResources),
    extraResources: mapValues(fixture.extraResources, toResources),
    requiredSchemas: mapValues(fixture.requiredSchemas, toSchema),
  });
}

/** The Struct of an object or of JSON text. Throws when it is neither. */
export function mustStruct(source: object | string): Struct {
  if (isStruct(source)) return source;
  const object: unknown = typeof source === "string" ? JSON.parse(source) : source;
  if (typeof object !== "object" || object === null || Array.isArray(object)) {
    throw new TypeError("only a JSON object can become a Struct");
  }
  return Struct.from(object);
}

function toResource(source: ObjectSource | Resource): Resource {
  if (!isResourceMessage(source)) return resourceMessage(structOf(source, "the fixture"));
  return { ...source, connectionDetails: new Map(source.connectionDetails) };
}

function toResources(items: readonly ObjectSource[]): Resources {
  return create(Resources, { items: items.map(toResource) });
}

function toSchema(schema: object | null): Schema {
  return create(Schema, { openapiV3: schema === null ? undefined : mustStruct(schema) });
}

function toCredentials(data: ByName<string | Uint8Array>): Credentials {
  const value = create(CredentialData, { data: toBytes(data) });
  return create(Credentials, { source: { case: "credentialData", value } });
}

function toBytes(data: ByName<string | Uint8Array>): Map<string, Uint8Array> {
  const encoder = new TextEncoder();
  return mapValues(data, (value) => (typeof value === "string" ? encoder.encode(value) : value));
}

function mapValues<T, U>(things: ByName<T> | undefined, change: (value: T) => U): Map<string, U> {
  if (things === undefined) return new Map();
  const entries = things instanceof Map ? [...things] : Object.entries(things as Readonly<Record<string, T>>);
  return new Map(entries.map(([name, value]: [string, T]) => [name, change(value)]));
}
