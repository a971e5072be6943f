// SPDX-License-Identifier: Apache-2.0

import { Buffer } from "node:buffer";
import {
  type Credentials,
  type Resource,
  type Resources,
  type RunFunctionRequest,
  type RunFunctionResponse,
  type State,
  Struct,
} from "@purlin/function-protocol";
import { mapRequest, mapResponse, mapValues, type StructPlace } from "./map-structs.ts";
import { maxDecodedBytes, omittedStruct, redactStruct } from "./redact-object.ts";
import { KnownValues, Scrubber, type SecretCollector } from "./scrubber.ts";
import { type Mark, type SensitiveFields, SensitiveKinds, sensitiveFieldsAt } from "./sensitive-fields.ts";

/** How runs are redacted. */
interface RedactOptions {
  readonly mark: Mark;
  /** The fields that schemas declare sensitive. */
  readonly sensitive?: SensitiveKinds | undefined;
  /** Paths of fields to hide as well; those that begin with `context.` are of the pipeline's context. */
  readonly paths?: readonly string[] | undefined;
}

/** Removes secrets from the messages and texts of one run: first every message is collected, then everything is scrubbed. */
export interface RunRedactor {
  /** Hides values in their places, and remembers them. */
  request(request: RunFunctionRequest): RunFunctionRequest;
  response(response: RunFunctionResponse): RunFunctionResponse;
  object(struct: Struct, place: StructPlace): Struct;
  /** Replaces remembered values wherever else they occur. To be called when all messages of the run are collected. */
  scrubRequest(request: RunFunctionRequest): RunFunctionRequest;
  scrubResponse(response: RunFunctionResponse): RunFunctionResponse;
  scrubObject(struct: Struct): Struct;
  scrubText(text: string): string;
  /** Whether the run had any secret value. */
  readonly hasSecrets: boolean;
}

const contextPrefix = /^context(?=[.[])\.?/;

/** Makes a function that makes a redactor for each run. What is known about objects without secrets is shared among runs. */
export function createRedactor({
  mark,
  sensitive = new SensitiveKinds(),
  paths = [],
}: RedactOptions): () => RunRedactor {
  const rules: Rules = {
    mark,
    sensitive,
    inObjects: sensitiveFieldsAt(paths.filter((path) => !contextPrefix.test(path))),
    inContext: sensitiveFieldsAt(
      paths.filter((path) => contextPrefix.test(path)).map((path) => path.replace(contextPrefix, "")),
    ),
    values: new KnownValues(mark),
    known: new WeakMap(),
  };
  return () => new Redactor(rules);
}

interface Rules {
  readonly mark: Mark;
  readonly sensitive: SensitiveKinds;
  readonly inObjects: SensitiveFields | undefined;
  readonly inContext: SensitiveFields | undefined;
  readonly values: KnownValues;
  /** Objects that were redacted before. */
  readonly known: WeakMap<Struct, KnownObject>;
}

/** An object that was redacted before. */
interface KnownObject {
  readonly redacted: Struct;
  /** The values that were found in it. */
  readonly values: readonly Uint8Array[];
  /** Whether a value was hidden that is not searched for elsewhere. */
  readonly isMarked: boolean;
  /** Of the sensitive kinds. */
  readonly version: number;
}

/** Remembers the values of one object. */
class CollectedValues implements SecretCollector {
  readonly values: Uint8Array[] = [];
  readonly #next: SecretCollector;
  isMarked = false;

  constructor(next: SecretCollector) {
    this.#next = next;
  }

  mark(value: Uint8Array): string {
    this.isMarked = true;
    return this.#next.mark(value);
  }

  add(value: Uint8Array): string {
    this.values.push(value);
    return this.#next.add(value);
  }
}

function hasDetails({ composite, resources }: State): boolean {
  if ((composite?.connectionDetails.size ?? 0) > 0) return true;
  for (const { connectionDetails } of resources.values()) if (connectionDetails.size > 0) return true;
  return false;
}

class Redactor implements RunRedactor {
  readonly #rules: Rules;
  readonly #scrubber: Scrubber;
  /** Steps share objects, which are scrubbed once. */
  readonly #scrubbed = new Map<Struct, Struct>();

  constructor(rules: Rules) {
    this.#rules = rules;
    this.#scrubber = new Scrubber(rules.values);
  }

  get hasSecrets(): boolean {
    return this.#scrubber.hasValues;
  }

  request(request: RunFunctionRequest): RunFunctionRequest {
    const clean = mapRequest(request, (struct, place) => this.object(struct, place));
    return {
      ...clean,
      observed: this.#details(clean.observed),
      desired: this.#details(clean.desired),
      credentials: mapValues(clean.credentials, (one) => this.#credentials(one)),
      extraResources: mapValues(clean.extraResources, (one) => this.#detailsOfAll(one)),
      requiredResources: mapValues(clean.requiredResources, (one) => this.#detailsOfAll(one)),
    };
  }

  response(response: RunFunctionResponse): RunFunctionResponse {
    const clean = mapResponse(response, (struct, place) => this.object(struct, place));
    return { ...clean, desired: this.#details(clean.desired) };
  }

  object(struct: Struct, place: StructPlace): Struct {
    const { known, inObjects, inContext, sensitive } = this.#rules;
    const before = known.get(struct);
    if (before?.version === sensitive.version) {
      for (const value of before.values) this.#scrubber.add(value);
      if (before.isMarked) this.#scrubber.hasValues = true;
      return before.redacted;
    }
    const collected = new CollectedValues(this.#scrubber);
    const rules = {
      scrubber: collected,
      sensitive: this.#sensitiveIn(struct),
      named: place === "context" ? inContext : inObjects,
      isComposite: place === "composite",
    };
    const redacted = redactStruct(struct, rules) ?? omittedStruct(struct, this.#rules.mark);
    const { values, isMarked } = collected;
    known.set(struct, { redacted, values, isMarked, version: sensitive.version });
    return redacted;
  }

  #sensitiveIn(struct: Struct): SensitiveFields | undefined {
    const { sensitive } = this.#rules;
    const { buffer, byteOffset, byteLength } = struct.bytes;
    if (!sensitive.mayBeIn(Buffer.from(buffer, byteOffset, byteLength))) return undefined;
    const { apiVersion, kind } = struct.value;
    return typeof apiVersion === "string" && typeof kind === "string" ? sensitive.get(apiVersion, kind) : undefined;
  }

  #details(state: State | undefined): State | undefined {
    if (state === undefined || !hasDetails(state)) return state;
    const { composite, resources } = state;
    return {
      ...state,
      composite: composite && this.#detailsOf(composite),
      resources: mapValues(resources, (one) => this.#detailsOf(one)),
    };
  }

  #detailsOfAll(resources: Resources): Resources {
    return { ...resources, items: resources.items.map((one) => this.#detailsOf(one)) };
  }

  #detailsOf(resource: Resource): Resource {
    if (resource.connectionDetails.size === 0) return resource;
    return { ...resource, connectionDetails: this.#hidden(resource.connectionDetails) };
  }

  #credentials(credentials: Credentials): Credentials {
    const { source } = credentials;
    if (source === undefined) return credentials;
    return { ...credentials, source: { ...source, value: { ...source.value, data: this.#hidden(source.value.data) } } };
  }

  #hidden(map: Map<string, Uint8Array>): Map<string, Uint8Array> {
    return mapValues(map, (value) => Buffer.from(this.#scrubber.add(value)));
  }

  scrubRequest(request: RunFunctionRequest): RunFunctionRequest {
    return this.#scrubber.hasForms ? mapRequest(request, (struct) => this.scrubObject(struct)) : request;
  }

  scrubResponse(response: RunFunctionResponse): RunFunctionResponse {
    if (!this.#scrubber.hasForms) return response;
    const clean = mapResponse(response, (struct) => this.scrubObject(struct));
    const text = (value: string): string => this.#scrubber.text(value);
    return {
      ...clean,
      results: clean.results.map((one) => ({
        ...one,
        message: text(one.message),
        ...(one.reason !== undefined && { reason: text(one.reason) }),
      })),
      conditions: clean.conditions.map((one) => ({
        ...one,
        reason: text(one.reason),
        ...(one.message !== undefined && { message: text(one.message) }),
      })),
    };
  }

  scrubObject(struct: Struct): Struct {
    const before = this.#scrubbed.get(struct);
    if (before !== undefined) return before;
    const clean = this.#scrubOne(struct);
    this.#scrubbed.set(struct, clean);
    return clean;
  }

  #scrubOne(struct: Struct): Struct {
    if (!this.#scrubber.isIn(struct.bytes)) return struct;
    if (struct.bytes.length > maxDecodedBytes) return omittedStruct(struct, this.#rules.mark);
    const value = struct.toMutable();
    const clean = this.#scrubber.value(value);
    return clean === value ? struct : Struct.from(clean as object);
  }

  scrubText(text: string): string {
    return this.#scrubber.text(text);
  }
}
