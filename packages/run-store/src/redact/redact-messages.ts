// SPDX-License-Identifier: Apache-2.0

import { Buffer } from "node:buffer";
import { isPartDone, type Work } from "@purlin/base";
import {
  type Credentials,
  type Resource,
  type Resources,
  type RunFunctionRequest,
  type RunFunctionResponse,
  type State,
  Struct,
} from "@purlin/function-protocol";
import {
  mapRequest,
  mapResponse,
  mapValues,
  type StructChange,
  type StructPlace,
  type StructVisit,
  visitRequest,
  visitResponse,
} from "./map-structs.ts";
import { maxDecodedBytes, omittedStruct, redactStruct } from "./redact-object.ts";
import { scrubRequired, scrubRequirements, scrubStateNames } from "./scrub-names.ts";
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

/**
 * Removes secrets from the messages and texts of one run, in parts: first every message is collected, then everything is scrubbed. Of a run
 * with more secret values than are searched for, nothing but sizes is left.
 */
export interface RunRedactor {
  /** Hides values in their places, and remembers them. */
  request(request: RunFunctionRequest): Work<RunFunctionRequest>;
  response(response: RunFunctionResponse): Work<RunFunctionResponse>;
  object(struct: Struct, place: StructPlace): Work<Struct>;
  /** Replaces remembered values wherever else they occur. To be called when all messages of the run are collected. */
  scrubRequest(request: RunFunctionRequest): Work<RunFunctionRequest>;
  scrubResponse(response: RunFunctionResponse): Work<RunFunctionResponse>;
  scrubObject(struct: Struct): Work<Struct>;
  scrubText(text: string): Work<string>;
  /** To be called when a message of the run was not redacted: its values are not known, so that nothing but sizes is left of the run. */
  setOpaque(): void;
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
    known: {
      composite: new WeakMap(),
      resource: new WeakMap(),
      input: new WeakMap(),
      context: new WeakMap(),
      output: new WeakMap(),
      schema: new WeakMap(),
    },
  };
  return () => new Redactor(rules);
}

interface Rules {
  readonly mark: Mark;
  readonly sensitive: SensitiveKinds;
  readonly inObjects: SensitiveFields | undefined;
  readonly inContext: SensitiveFields | undefined;
  readonly values: KnownValues;
  /** Objects that were redacted before, by place: what another composite resource requires may be the composite resource of the next run. */
  readonly known: Readonly<Record<StructPlace, WeakMap<Struct, KnownObject>>>;
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

/** Objects with more bytes are a part of the work of their own. */
const largeBytes = 4096;

class Redactor implements RunRedactor {
  readonly #rules: Rules;
  readonly #scrubber: Scrubber;
  /** What steps share is redacted and scrubbed once. */
  readonly #redacted = new Map<Struct, Struct>();
  readonly #scrubbed = new Map<Struct, Struct>();
  readonly #hiddenMaps = new Map<Map<string, Uint8Array>, Map<string, Uint8Array>>();

  constructor(rules: Rules) {
    this.#rules = rules;
    this.#scrubber = new Scrubber(rules.values);
  }

  get hasSecrets(): boolean {
    return this.#scrubber.hasValues;
  }

  *request(request: RunFunctionRequest): Work<RunFunctionRequest> {
    const clean = mapRequest(request, yield* this.#redacting((visit) => visitRequest(request, visit)));
    const [observed, desired] = [yield* this.#details(clean.observed), yield* this.#details(clean.desired)];
    return {
      ...clean,
      observed,
      desired,
      credentials: yield* this.#credentials(clean.credentials),
      extraResources: yield* this.#detailsOfAll(clean.extraResources),
      requiredResources: yield* this.#detailsOfAll(clean.requiredResources),
    };
  }

  *response(response: RunFunctionResponse): Work<RunFunctionResponse> {
    const clean = mapResponse(response, yield* this.#redacting((visit) => visitResponse(response, visit)));
    return { ...clean, desired: yield* this.#details(clean.desired) };
  }

  /** Redacts the objects of a message one by one; the change that returns them. */
  *#redacting(visitAll: (visit: StructVisit) => void): Work<StructChange> {
    const found: (readonly [Struct, StructPlace])[] = [];
    visitAll((struct, place) => found.push([struct, place]));
    for (const [struct, place] of found) {
      if (isPartDone() || struct.bytes.length > largeBytes) yield;
      yield* this.object(struct, place);
    }
    // Every object was visited. One that was not must not be recorded.
    return (struct) => this.#redacted.get(struct) ?? omittedStruct(struct, this.#rules.mark);
  }

  *object(struct: Struct, place: StructPlace): Work<Struct> {
    const before = this.#redacted.get(struct);
    if (before !== undefined) return before;
    const redacted = yield* this.#redactedOnce(struct, place);
    this.#redacted.set(struct, redacted);
    return redacted;
  }

  *#redactedOnce(struct: Struct, place: StructPlace): Work<Struct> {
    const { inObjects, inContext, sensitive } = this.#rules;
    const known = this.#rules.known[place];
    const before = known.get(struct);
    if (before?.version === sensitive.version) {
      for (const value of before.values) {
        if (isPartDone()) yield;
        this.#scrubber.add(value);
      }
      if (before.isMarked) this.#scrubber.hasValues = true;
      return before.redacted;
    }
    // Other fields may become sensitive on the way.
    const { version } = sensitive;
    const collected = new CollectedValues(this.#scrubber);
    const rules = {
      scrubber: collected,
      sensitive: this.#sensitiveIn(struct),
      named: place === "context" ? inContext : inObjects,
      isComposite: place === "composite",
    };
    const redacted = yield* redactStruct(struct, rules);
    if (redacted === undefined) {
      this.#scrubber.setOpaque();
      return omittedStruct(struct, this.#rules.mark);
    }
    const { values, isMarked } = collected;
    known.set(struct, { redacted, values, isMarked, version });
    return redacted;
  }

  #sensitiveIn(struct: Struct): SensitiveFields | undefined {
    const { sensitive } = this.#rules;
    const { buffer, byteOffset, byteLength } = struct.bytes;
    if (!sensitive.mayBeIn(Buffer.from(buffer, byteOffset, byteLength))) return undefined;
    const { apiVersion, kind } = struct.value;
    return typeof apiVersion === "string" && typeof kind === "string" ? sensitive.get(apiVersion, kind) : undefined;
  }

  *#details(state: State | undefined): Work<State | undefined> {
    if (state === undefined || !hasDetails(state)) return state;
    const { composite, resources } = state;
    if (composite !== undefined) yield* this.#hide(composite.connectionDetails);
    for (const { connectionDetails } of resources.values()) yield* this.#hide(connectionDetails);
    return {
      ...state,
      composite: composite && this.#detailsOf(composite),
      resources: mapValues(resources, (one) => this.#detailsOf(one)),
    };
  }

  *#detailsOfAll(required: Map<string, Resources>): Work<Map<string, Resources>> {
    for (const { items } of required.values()) {
      for (const { connectionDetails } of items) yield* this.#hide(connectionDetails);
    }
    return mapValues(required, (one) => ({ ...one, items: one.items.map((item) => this.#detailsOf(item)) }));
  }

  #detailsOf(resource: Resource): Resource {
    if (resource.connectionDetails.size === 0) return resource;
    return { ...resource, connectionDetails: this.#hidden(resource.connectionDetails) };
  }

  *#credentials(all: Map<string, Credentials>): Work<Map<string, Credentials>> {
    for (const { source } of all.values()) if (source !== undefined) yield* this.#hide(source.value.data);
    return mapValues(all, (one) => this.#withoutData(one));
  }

  #withoutData(credentials: Credentials): Credentials {
    const { source } = credentials;
    if (source === undefined) return credentials;
    return { ...credentials, source: { ...source, value: { ...source.value, data: this.#hidden(source.value.data) } } };
  }

  /** Hides the values of a map one by one. */
  *#hide(map: Map<string, Uint8Array>): Work<void> {
    if (map.size === 0 || this.#hiddenMaps.has(map)) return;
    const hidden = new Map<string, Uint8Array>();
    for (const [key, value] of map) {
      if (isPartDone() || value.length > largeBytes) yield;
      hidden.set(key, Buffer.from(this.#scrubber.add(value)));
    }
    this.#hiddenMaps.set(map, hidden);
  }

  /** The map with hidden values; an empty one for a map whose values were not hidden. */
  #hidden(map: Map<string, Uint8Array>): Map<string, Uint8Array> {
    return this.#hiddenMaps.get(map) ?? new Map();
  }

  *scrubRequest(request: RunFunctionRequest): Work<RunFunctionRequest> {
    const meta = request.meta && { ...request.meta, tag: this.#tag(request.meta.tag) };
    if (!this.#scrubber.hasForms) return meta?.tag === request.meta?.tag ? request : { ...request, meta };
    const clean = mapRequest(request, yield* this.#scrubbing((visit) => visitRequest(request, visit)));
    const required = yield* scrubRequired(clean, this.#scrubber);
    const observed = yield* scrubStateNames(clean.observed, this.#scrubber);
    return { ...clean, ...required, meta, observed, desired: yield* scrubStateNames(clean.desired, this.#scrubber) };
  }

  *scrubResponse(response: RunFunctionResponse): Work<RunFunctionResponse> {
    const meta = response.meta && { ...response.meta, tag: this.#tag(response.meta.tag) };
    if (!this.#scrubber.hasForms) return meta?.tag === response.meta?.tag ? response : { ...response, meta };
    const clean = mapResponse(response, yield* this.#scrubbing((visit) => visitResponse(response, visit)));
    const results: RunFunctionResponse["results"] = [];
    for (const one of clean.results) {
      if (isPartDone()) yield;
      const [message, reason] = [yield* this.scrubText(one.message), yield* this.#optionalText(one.reason)];
      results.push({ ...one, message, ...(reason !== undefined && { reason }) });
    }
    const conditions: RunFunctionResponse["conditions"] = [];
    for (const one of clean.conditions) {
      if (isPartDone()) yield;
      const [reason, message] = [yield* this.scrubText(one.reason), yield* this.#optionalText(one.message)];
      const type = yield* this.scrubText(one.type);
      conditions.push({ ...one, type, reason, ...(message !== undefined && { message }) });
    }
    const desired = yield* scrubStateNames(clean.desired, this.#scrubber);
    const requirements = yield* scrubRequirements(clean.requirements, this.#scrubber);
    return { ...clean, meta, desired, requirements, results, conditions };
  }

  /** A tag is a hash of everything, secrets included: without a key it would allow to guess them. That of a response is what the function says. */
  #tag(tag: string): string {
    return tag === "" || !this.hasSecrets ? tag : this.#rules.mark(Buffer.from(tag));
  }

  *#optionalText(text: string | undefined): Work<string | undefined> {
    return text === undefined ? undefined : yield* this.scrubText(text);
  }

  /** Scrubs the objects of a message one by one; the change that returns them. */
  *#scrubbing(visitAll: (visit: StructVisit) => void): Work<StructChange> {
    const found: Struct[] = [];
    visitAll((struct) => found.push(struct));
    for (const struct of found) {
      if (isPartDone() || struct.bytes.length > largeBytes) yield;
      yield* this.scrubObject(struct);
    }
    return (struct) => this.#scrubbed.get(struct) ?? struct;
  }

  *scrubObject(struct: Struct): Work<Struct> {
    const before = this.#scrubbed.get(struct);
    if (before !== undefined) return before;
    const clean = yield* this.#scrubOne(struct);
    this.#scrubbed.set(struct, clean);
    return clean;
  }

  *#scrubOne(struct: Struct): Work<Struct> {
    if (!(yield* this.#scrubber.isIn(struct.bytes))) return struct;
    const isOmitted = struct.bytes.length > maxDecodedBytes || (yield* this.#scrubber.isOpaque());
    yield;
    if (isOmitted) return omittedStruct(struct, this.#rules.mark);
    const value = struct.toMutable();
    yield;
    const clean = yield* this.#scrubber.value(value);
    yield;
    return clean === value ? struct : Struct.from(clean as object);
  }

  scrubText(text: string): Work<string> {
    return this.#scrubber.text(text);
  }

  setOpaque(): void {
    this.#scrubber.setOpaque();
  }
}
