// SPDX-License-Identifier: Apache-2.0
// What is kept of messages that are too large: names, facts and small objects.
import { isPartDone, type Work } from "@purlin/base";
import {
  Condition,
  create,
  type Requirements,
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

/** How many bytes a run keeps in memory, at most. Looks no further than that. */
export function bytesUpTo(most: number, { steps }: RunRecord): number {
  let bytes = 0;
  for (const size of sizesIn(steps)) {
    // To look at an object takes time, too.
    bytes += size + 64;
    if (bytes > most) return most;
  }
  return bytes;
}

function* sizesIn(steps: readonly StepRecord[]): Generator<number> {
  for (const { request, response } of steps.flatMap(({ calls }) => calls)) {
    for (const state of [request.observed, request.desired, response?.desired]) yield* resourceSizes(state);
    for (const required of [request.requiredResources, request.extraResources]) {
      for (const { items } of required.values()) for (const { resource } of items) yield resource?.bytes.length ?? 0;
    }
    for (const one of [request.input, request.context, response?.context, response?.output])
      yield one?.bytes.length ?? 0;
    if (response !== undefined) yield textLength(response) + requirementsLength(response.requirements);
  }
}

function* resourceSizes(state: State | undefined): Generator<number> {
  for (const { resource, connectionDetails } of [
    ...(state?.composite ? [state.composite] : []),
    ...(state?.resources.values() ?? []),
  ]) {
    yield resource?.bytes.length ?? 0;
    for (const value of connectionDetails.values()) yield value.length;
  }
}

/** The bytes of the objects of a call, with its names and texts. */
export function* callBytes({ request, response }: CallRecord): Work<number> {
  const asked = yield* requestBytes(request);
  return asked + (response === undefined ? 0 : yield* responseBytes(response));
}

function* requestBytes(request: RunFunctionRequest): Work<number> {
  const structs: Struct[] = [];
  visitRequest(request, (struct) => structs.push(struct));
  return (yield* sizeOf(structs)) + (yield* namesLength(request.observed)) + (yield* namesLength(request.desired));
}

function* responseBytes(response: RunFunctionResponse): Work<number> {
  const structs: Struct[] = [];
  visitResponse(response, (struct) => structs.push(struct));
  const texts = textLength(response) + requirementsLength(response.requirements);
  return (yield* sizeOf(structs)) + (yield* namesLength(response.desired)) + texts;
}

function* sizeOf(structs: readonly Struct[]): Work<number> {
  let bytes = 0;
  for (const struct of structs) {
    if (isPartDone()) yield;
    bytes += struct.bytes.length;
  }
  return bytes;
}

/** The characters of the names of resources and of their connection details. */
function* namesLength(state: State | undefined): Work<number> {
  let length = 0;
  for (const [name, { connectionDetails }] of state?.resources ?? []) {
    if (isPartDone()) yield;
    length += name.length + keysLength(connectionDetails);
  }
  return length;
}

function keysLength(map: ReadonlyMap<string, unknown>): number {
  let length = 0;
  for (const key of map.keys()) length += key.length;
  return length;
}

function textLength({ results, conditions }: RunFunctionResponse): number {
  let length = 0;
  for (const { message, reason = "" } of results) length += message.length + reason.length;
  for (const { message = "", reason } of conditions) length += message.length + reason.length;
  return length;
}

function requirementsLength(requirements: Requirements | undefined): number {
  let length = 0;
  for (const selectors of [requirements?.resources, requirements?.extraResources]) {
    for (const [name, { match }] of selectors ?? []) {
      length += name.length;
      if (match?.case !== "matchLabels") continue;
      for (const [label, value] of match.value.labels) length += label.length + value.length;
    }
  }
  return length + keysLength(requirements?.schemas ?? new Map());
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
    if ((yield* requestBytes(request)) <= most) return request;
    const structs: Struct[] = [];
    visitRequest(request, (struct) => structs.push(struct));
    const { observed, desired, ...rest } = mapRequest(request, yield* this.#omitting(structs));
    return { ...rest, observed: withFewDetails(observed), desired: withFewDetails(desired) };
  }

  *#response(response: RunFunctionResponse, most: number): Work<RunFunctionResponse> {
    if ((yield* responseBytes(response)) <= most) return response;
    const structs: Struct[] = [];
    visitResponse(response, (struct) => structs.push(struct));
    const { desired, requirements, ...rest } = mapResponse(response, yield* this.#omitting(structs));
    const isLong = requirementsLength(requirements) > largeTextLength;
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
  return (
    state && {
      ...state,
      resources: mapValues(state.resources, (one) =>
        keysLength(one.connectionDetails) <= largeTextLength ? one : { ...one, connectionDetails: new Map() },
      ),
    }
  );
}
