// SPDX-License-Identifier: Apache-2.0

import { elementsOf, ListValue, MapValue } from "../src/values/collections.ts";
import { formatDouble } from "../src/values/describe.ts";
import { Uint } from "../src/values/integers.ts";
import { Duration, formatTimestamp, Timestamp } from "../src/values/time-values.ts";
import { isError, OptionalValue, TypeValue, type Value } from "../src/values/value.ts";

const shortNames: ReadonlyMap<string, string> = new Map([
  ["kubernetes.URL", "url"],
  ["kubernetes.Semver", "semver"],
  ["kubernetes.NamedFormat", "format"],
  ["net.IP", "ip"],
  ["net.CIDR", "cidr"],
]);

/** A value with its type, in the notation of the reference answers. */
export function showValue(value: Value): string {
  if (value === null) return "null";
  switch (typeof value) {
    case "string":
      return JSON.stringify(value);
    case "number":
      return `double ${formatDouble(value)}`;
    case "object":
      return showObject(value);
    default:
      return String(value);
  }
}

function showObject(value: Exclude<Value, null> & object): string {
  if (isError(value)) return `ERR ${value.message}`;
  if (value instanceof Uint) return `${value.value}u`;
  if (value instanceof Timestamp) return `timestamp ${formatTimestamp(value)}`;
  if (value instanceof Duration) return `duration ${value.nanos}`;
  if (value instanceof Uint8Array) return `b${Buffer.from(value).toString("hex")}`;
  if (value instanceof TypeValue) return `type ${value.name}`;
  if (value instanceof OptionalValue) return value.hasValue ? `optional(${showValue(value.value)})` : "optional.none";
  if (value instanceof ListValue) return `[${[...elementsOf(value)].map(showValue).join(", ")}]`;
  if (value instanceof MapValue) return showMap(value);
  const name = shortNames.get(value.typeName);
  return name === undefined ? "quantity" : `${name} ${value.toString()}`;
}

function showMap(map: MapValue): string {
  const entries = [...map.keys()].map((key) => `${showValue(key)}: ${showMaybe(map.find(key))}`);
  return `{${entries.sort().join(", ")}}`;
}

const showMaybe = (value: Value | undefined): string => (value === undefined ? "<nil>" : showValue(value));
