// SPDX-License-Identifier: Apache-2.0
// What is kept of messages that are too large: names, facts and small objects.
import { isPartDone, type Work } from "@purlin/base";
import {
  Condition,
  create,
  type Message,
  type Requirements,
  type Resource,
  Result,
  type RunFunctionRequest,
  type RunFunctionResponse,
  type State,
  type Struct,
} from "@purlin/function-protocol";
import {
  mapRequest,
  mapResponse,
  mapValues,
  type StructChange,
  visitRequest,
  visitResponse,
} from "../redact/map-structs.ts";
import type { RunRedactor } from "../redact/redact-messages.ts";
import { omittedStruct } from "../redact/redact-object.ts";
import type { Mark } from "../redact/sensitive-fields.ts";
import type { CallRecord, RunRecord, StepRecord } from "./stored-run.ts";

const largeObjectBytes = 4096;
const largeTextLength = 4096;
const mostTexts = 100;
/** A message with more bytes is kept without its large objects and texts. */
const maxMessageBytes: number = 2 * 2 ** 20;

/** What is left out depends on the size; what stands in its place, on these. */
interface BoundDeps {
  readonly mark: Mark;
  readonly redactor: Pick<RunRedactor, "scrubText">;
}

/** What bounding steps depends on. */
interface BoundOptions extends BoundDeps {
  /** Steps with more bytes are kept without large objects. */
  readonly maxRunBytes: number;
}

/**
 * Steps in which messages that are too large are kept without their large parts. All objects of the run must be redacted: a secret of an
 * object that is left out may occur elsewhere.
 */
export function* boundSteps(
  steps: readonly StepRecord[],
  { maxRunBytes, ...deps }: BoundOptions,
): Work<readonly StepRecord[]> {
  const bounding = new Bounding(deps);
  const bounded = yield* bounding.steps(steps, maxMessageBytes);
  let total = 0;
  for (const { calls } of bounded) for (const call of calls) total += yield* callBytes(call);
  return total <= maxRunBytes ? bounded : yield* bounding.steps(steps, 0);
}

/** A call in which the large objects of each message with more bytes than the limit are omitted. */
export function boundCall(call: CallRecord, limit: number, deps: BoundDeps): Work<CallRecord> {
  return new Bounding(deps).call(call, limit);
}

/** What an entry of a map or list costs in memory and time beside its bytes. */
const entryBytes = 64;

/** How many bytes a run keeps in memory, at most. Looks no further than that. */
export function bytesUpTo(most: number, { steps }: RunRecord): number {
  let bytes = 0;
  for (const size of sizesIn(steps)) {
    bytes += size + entryBytes;
    if (bytes > most) return most;
  }
  return bytes;
}

function* sizesIn(steps: readonly StepRecord[]): Generator<number> {
  for (const { request, response } of steps.flatMap(({ calls }) => calls)) {
    yield* requestSizes(request);
    if (response !== undefined) yield* responseSizes(response);
  }
}

/** The bytes of the objects of a call, with its names, keys, values and texts. */
export function* callBytes({ request, response }: CallRecord): Work<number> {
  const asked = yield* sumOf(requestSizes(request));
  return asked + (response === undefined ? 0 : yield* sumOf(responseSizes(response)));
}

/** What it costs to encode a request, in bytes: many small entries take as long as few large ones. */
export function encodingCostOfRequest(request: RunFunctionRequest): Work<number> {
  return sumOf(requestSizes(request), entryBytes);
}

/** As {@link encodingCostOfRequest}, for a response. */
export function encodingCostOfResponse(response: RunFunctionResponse): Work<number> {
  return sumOf(responseSizes(response), entryBytes);
}

function* sumOf(sizes: Iterable<number>, forEach = 0): Work<number> {
  let bytes = 0;
  for (const size of sizes) {
    if (isPartDone()) yield;
    bytes += size + forEach;
  }
  return bytes;
}

function* requestSizes(request: RunFunctionRequest): Generator<number> {
  const { meta, observed, desired, input, context, credentials, requiredSchemas } = request;
  yield* stateSizes(observed);
  yield* stateSizes(desired);
  for (const required of [request.requiredResources, request.extraResources]) {
    for (const [name, { items }] of required) {
      yield name.length;
      for (const item of items) yield* resourceSizes(item);
    }
  }
  for (const [name, { openapiV3 }] of requiredSchemas) yield name.length + structLength(openapiV3);
  for (const [name, { source }] of credentials) {
    yield name.length;
    if (source !== undefined) yield* entrySizes(source.value.data);
  }
  yield structLength(input) + structLength(context) + (meta?.tag.length ?? 0) + unknownLength(request);
}

function* responseSizes(response: RunFunctionResponse): Generator<number> {
  const { meta, desired, context, output, results, conditions } = response;
  yield* stateSizes(desired);
  for (const { message, reason = "" } of results) yield message.length + reason.length;
  for (const { type, message = "", reason } of conditions) yield type.length + message.length + reason.length;
  yield* requirementSizes(response.requirements);
  yield structLength(context) + structLength(output) + (meta?.tag.length ?? 0) + unknownLength(response);
}

function* stateSizes(state: State | undefined): Generator<number> {
  if (state === undefined) return;
  if (state.composite !== undefined) yield* resourceSizes(state.composite);
  for (const [name, resource] of state.resources) {
    yield name.length;
    yield* resourceSizes(resource);
  }
  yield unknownLength(state);
}

function* resourceSizes(resource: Resource): Generator<number> {
  yield structLength(resource.resource) + unknownLength(resource);
  yield* entrySizes(resource.connectionDetails);
}

function* entrySizes(map: ReadonlyMap<string, string | Uint8Array>): Generator<number> {
  for (const [key, value] of map) yield key.length + value.length;
}

function* requirementSizes(requirements: Requirements | undefined): Generator<number> {
  for (const selectors of [requirements?.resources, requirements?.extraResources]) {
    for (const [name, { apiVersion, kind, namespace = "", match }] of selectors ?? []) {
      yield name.length + apiVersion.length + kind.length + namespace.length;
      if (match?.case === "matchName") yield match.value.length;
      if (match?.case === "matchLabels") yield* entrySizes(match.value.labels);
    }
  }
  for (const [name, { apiVersion, kind }] of requirements?.schemas ?? [])
    yield name.length + apiVersion.length + kind.length;
}

function structLength(struct: Struct | undefined): number {
  return struct?.bytes.length ?? 0;
}

/** The bytes of fields of a newer version of the protocol. */
function unknownLength({ $unknown = [] }: Message): number {
  return $unknown.reduce((length, { byteLength }) => length + byteLength, 0);
}

function keysLength(map: ReadonlyMap<string, unknown>): number {
  let length = 0;
  for (const key of map.keys()) length += key.length;
  return length;
}

/** Leaves large parts of messages out. What messages share is left out once. */
class Bounding {
  readonly #deps: BoundDeps;
  readonly #omitted = new Map<Struct, Struct>();

  constructor(deps: BoundDeps) {
    this.#deps = deps;
  }

  /** The steps with all messages reduced to this many bytes, where that is possible. */
  *steps(steps: readonly StepRecord[], most: number): Work<readonly StepRecord[]> {
    const bounded: StepRecord[] = [];
    for (const step of steps) {
      const calls: CallRecord[] = [];
      for (const call of step.calls) calls.push(yield* this.call(call, most));
      bounded.push(calls.every((call, index) => call === step.calls[index]) ? step : { ...step, calls });
    }
    return bounded;
  }

  *call(call: CallRecord, most: number): Work<CallRecord> {
    const request = yield* this.#request(call.request, most);
    const response = call.response && (yield* this.#response(call.response, most));
    return request === call.request && response === call.response ? call : { request, response };
  }

  *#request(request: RunFunctionRequest, most: number): Work<RunFunctionRequest> {
    if ((yield* sumOf(requestSizes(request))) <= most) return request;
    const structs: Struct[] = [];
    visitRequest(request, (struct) => structs.push(struct));
    const { observed, desired, ...rest } = mapRequest(request, yield* this.#omitting(structs));
    return { ...rest, observed: withFewDetails(observed), desired: withFewDetails(desired) };
  }

  *#response(response: RunFunctionResponse, most: number): Work<RunFunctionResponse> {
    if ((yield* sumOf(responseSizes(response))) <= most) return response;
    const structs: Struct[] = [];
    visitResponse(response, (struct) => structs.push(struct));
    const { desired, requirements, ...rest } = mapResponse(response, yield* this.#omitting(structs));
    const isLong = (yield* sumOf(requirementSizes(requirements))) > largeTextLength;
    const kept = { desired: withFewDetails(desired), requirements: isLong ? undefined : requirements };
    return { ...rest, ...kept, ...(yield* this.#firstTexts(response)) };
  }

  *#omitting(structs: readonly Struct[]): Work<StructChange> {
    for (const struct of structs) {
      if (isPartDone()) yield;
      if (struct.bytes.length <= largeObjectBytes || this.#omitted.has(struct)) continue;
      this.#omitted.set(struct, omittedStruct(struct, this.#deps.mark));
      yield;
    }
    return (struct) => this.#omitted.get(struct) ?? struct;
  }

  /** The first results and conditions, with the beginnings of long texts. */
  *#firstTexts(response: RunFunctionResponse): Work<Pick<RunFunctionResponse, "results" | "conditions">> {
    const results: Result[] = [];
    for (const one of response.results.slice(0, mostTexts)) {
      const [message, reason] = [yield* this.#short(one.message), yield* this.#optionalShort(one.reason)];
      results.push(create(Result, { ...one, message, ...(reason !== undefined && { reason }) }));
    }
    const conditions: Condition[] = [];
    for (const one of response.conditions.slice(0, mostTexts)) {
      const [reason, message] = [yield* this.#short(one.reason), yield* this.#optionalShort(one.message)];
      conditions.push(create(Condition, { ...one, reason, ...(message !== undefined && { message }) }));
    }
    return { results, conditions };
  }

  *#optionalShort(text: string | undefined): Work<string | undefined> {
    return text === undefined ? undefined : yield* this.#short(text);
  }

  /** Without secrets, because the first half of one would not be found later. */
  *#short(text: string): Work<string> {
    if (text.length <= largeTextLength) return text;
    const clean = yield* this.#deps.redactor.scrubText(text);
    return clean.length <= largeTextLength ? clean : `${clean.slice(0, largeTextLength)}… (${text.length} characters)`;
  }
}

function withFewDetails(state: State | undefined): State | undefined {
  if (state === undefined) return undefined;
  const { composite, resources } = state;
  return { ...state, composite: composite && fewDetails(composite), resources: mapValues(resources, fewDetails) };
}

function fewDetails(resource: Resource): Resource {
  return keysLength(resource.connectionDetails) <= largeTextLength
    ? resource
    : { ...resource, connectionDetails: new Map() };
}
