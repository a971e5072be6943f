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
import { mapRequest, mapResponse, mapValues } from "./map-structs.ts";
import { markPattern } from "./sensitive-fields.ts";

/** Secret values by their marks. */
type MarkedValues = ReadonlyMap<string, Uint8Array>;

const plain = "**REDACTED**";

/** A copy of a recorded request with the values for which the marks stand, as far as they are known. */
export function restoreValues(request: RunFunctionRequest, values: MarkedValues): RunFunctionRequest {
  const whole = mapRequest(request, (struct) => {
    const value = struct.toMutable();
    const restored = restore(value, values);
    return restored === value ? struct : Struct.from(restored as JsonObject);
  });
  const bytes = (map: Map<string, Uint8Array>): Map<string, Uint8Array> =>
    mapValues(map, (value) => values.get(Buffer.from(value).toString()) ?? value);
  const resource = (one: Resource): Resource => ({ ...one, connectionDetails: bytes(one.connectionDetails) });
  const state = (one: State | undefined): State | undefined =>
    one && {
      ...one,
      composite: one.composite && resource(one.composite),
      resources: mapValues(one.resources, resource),
    };
  const all = (one: Resources): Resources => ({ ...one, items: one.items.map(resource) });
  const credentials = (one: Credentials): Credentials =>
    one.source === undefined
      ? one
      : { ...one, source: { ...one.source, value: { ...one.source.value, data: bytes(one.source.value.data) } } };
  return {
    ...whole,
    observed: state(whole.observed),
    desired: state(whole.desired),
    credentials: mapValues(whole.credentials, credentials),
    extraResources: mapValues(whole.extraResources, all),
    requiredResources: mapValues(whole.requiredResources, all),
  };
}

function restore(value: JsonValue, values: MarkedValues): JsonValue {
  if (typeof value === "string") return restoreText(value, values);
  if (Array.isArray(value)) return mapItems(value, (item) => restore(item, values));
  if (!isJsonObject(value)) return value;
  const isSecret = value["kind"] === "Secret" && value["apiVersion"] === "v1";
  const restored: JsonObject = {};
  let isChanged = false;
  for (const [key, member] of Object.entries(value)) {
    const isData = isSecret && key === "data" && isJsonObject(member);
    const inner = isData ? restoreData(member, values) : restore(member, values);
    isChanged ||= inner !== member;
    setOwn(restored, key, inner);
  }
  return isChanged ? restored : value;
}

function mapItems(items: readonly JsonValue[], change: (item: JsonValue) => JsonValue): JsonValue {
  const changed = items.map(change);
  return changed.some((item, index) => item !== items[index]) ? changed : (items as JsonValue);
}

function restoreData(data: JsonObject, values: MarkedValues): JsonObject {
  const restored: JsonObject = {};
  for (const [key, member] of Object.entries(data)) {
    const value = typeof member === "string" ? values.get(member) : undefined;
    setOwn(restored, key, value === undefined ? member : Buffer.from(value).toString("base64"));
  }
  return restored;
}

function restoreText(text: string, values: MarkedValues): string {
  if (!text.includes("**REDACTED")) return text;
  return text.replaceAll(markPattern, (mark) => {
    const value = values.get(mark);
    return value === undefined ? mark : Buffer.from(value).toString();
  });
}

/** A copy of a response in which all marks are the same. */
export function plainMarks(response: RunFunctionResponse): RunFunctionResponse {
  const text = (value: string): string => value.replaceAll(markPattern, plain);
  const details = (one: Resource): Resource => ({
    ...one,
    connectionDetails: mapValues(one.connectionDetails, (value) => Buffer.from(text(Buffer.from(value).toString()))),
  });
  const { desired, ...rest } = mapResponse(response, (struct) =>
    Struct.from(plainValue(struct.value, text) as JsonObject),
  );
  return {
    ...rest,
    desired: desired && {
      ...desired,
      composite: desired.composite && details(desired.composite),
      resources: mapValues(desired.resources, details),
    },
    results: rest.results.map((one) => ({ ...one, message: text(one.message) })),
    conditions: rest.conditions.map((one) =>
      one.message === undefined ? one : { ...one, message: text(one.message) },
    ),
  };
}

function plainValue(value: JsonValue, text: (value: string) => string): JsonValue {
  if (typeof value === "string") return text(value);
  if (Array.isArray(value)) return value.map((item) => plainValue(item, text));
  if (!isJsonObject(value)) return value;
  const plained: JsonObject = {};
  for (const [key, member] of Object.entries(value)) setOwn(plained, key, plainValue(member, text));
  return plained;
}
