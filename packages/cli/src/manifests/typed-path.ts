// SPDX-License-Identifier: Apache-2.0
import { isJsonArray, isJsonObject, type JsonValue } from "@purlin/kube-objects/json";
import type { PathSegment } from "../files/yaml-position.ts";

const token = /\.([\w$/-]+)|\[(\d+)\]|\[([^\]]*)\]/y;

/**
 * The place in an object that a message of server-side apply names, such as `.spec.pipeline[step="a"].functionRef`: items of lists
 * are found by their keys. What cannot be found ends the path.
 */
export function typedPath(text: string, object: JsonValue): PathSegment[] {
  const path: PathSegment[] = [];
  let value: JsonValue | undefined = object;
  token.lastIndex = 0;
  for (let match = token.exec(text); match !== null; match = token.exec(text)) {
    const [, name, index, keys] = match;
    const segment = name ?? (index === undefined ? itemsWith(keysOf(keys ?? ""), value)[0] : Number(index));
    if (segment === undefined) break;
    path.push(segment);
    value = memberOf(value, segment);
  }
  return path;
}

/** A path as it is written elsewhere: `spec.pipeline[0].functionRef`. */
export function pathText(path: readonly PathSegment[]): string {
  const parts = path.map((segment) => (typeof segment === "number" ? `[${segment}]` : `.${segment}`));
  return parts.join("").replace(/^\./, "");
}

/** The values at the keys of a list item, such as `step="a",index=2`. */
export function keysOf(text: string): Record<string, JsonValue> {
  const pairs = text.matchAll(/([\w$/-]+)=("(?:[^"\\]|\\.)*"|[^,]+)/g);
  return Object.fromEntries([...pairs].map(([, name = "", value = ""]) => [name, parsedKey(value)]));
}

/** The places of the items of a list that have all these values. */
export function itemsWith(keys: Readonly<Record<string, JsonValue>>, list: JsonValue | undefined): number[] {
  if (!isJsonArray(list)) return [];
  const wanted = Object.entries(keys);
  const has = (item: JsonValue): boolean => isJsonObject(item) && wanted.every(([name, value]) => item[name] === value);
  return list.flatMap((item, index) => (has(item) ? [index] : []));
}

function parsedKey(text: string): JsonValue {
  try {
    return JSON.parse(text) as JsonValue;
  } catch {
    return text;
  }
}

/** The value at a path; undefined where there is none. */
export function valueAt(value: JsonValue | undefined, path: readonly PathSegment[]): JsonValue | undefined {
  return path.reduce(memberOf, value);
}

function memberOf(value: JsonValue | undefined, segment: PathSegment): JsonValue | undefined {
  if (typeof segment === "number") return isJsonArray(value) ? value[segment] : undefined;
  return value !== undefined && isJsonObject(value) ? value[segment] : undefined;
}
