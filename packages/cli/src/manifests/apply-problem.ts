// SPDX-License-Identifier: Apache-2.0

import { unknownKeywords } from "@purlin/composition";
import { findStatusError, isConflict, isNotFound } from "@purlin/kube-objects/errors";
import { isJsonArray, isJsonObject, type JsonValue, parseJson } from "@purlin/kube-objects/json";
import { type KubeObject, keyOf, keyText } from "@purlin/kube-objects/object";
import { type PathSegment, parseFieldPath } from "../files/yaml-position.ts";
import { textOf } from "../user-error.ts";
import type { Manifest } from "./manifest.ts";

const token = /\.([\w$/-]+)|\[(\d+)\]|\[([^\]]*)\]/y;

/**
 * The place in an object that a message of server-side apply names, such as `.spec.pipeline[step="a"].functionRef`: items of lists
 * are found by their keys. What cannot be found ends the path.
 */
function typedPath(text: string, object: JsonValue): PathSegment[] {
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
function keysOf(text: string): Record<string, JsonValue> {
  const pairs = text.matchAll(/([\w$/-]+)=("(?:[^"\\]|\\.)*"|[^,]+)/g);
  return Object.fromEntries([...pairs].map(([, name = "", value = ""]) => [name, parsedKey(value)]));
}

/** The places of the items of a list that have all these values. */
function itemsWith(keys: Readonly<Record<string, JsonValue>>, list: JsonValue | undefined): number[] {
  if (!isJsonArray(list)) return [];
  const wanted = Object.entries(keys);
  const has = (item: JsonValue): boolean => isJsonObject(item) && wanted.every(([name, value]) => item[name] === value);
  return list.flatMap((item, index) => (has(item) ? [index] : []));
}

function parsedKey(text: string): JsonValue {
  try {
    return parseJson(text);
  } catch {
    return text;
  }
}

/** The value at a path; undefined if it is missing. */
export function valueAt(value: JsonValue | undefined, path: readonly PathSegment[]): JsonValue | undefined {
  return path.reduce(memberOf, value);
}

function memberOf(value: JsonValue | undefined, segment: PathSegment): JsonValue | undefined {
  if (typeof segment === "number") return isJsonArray(value) ? value[segment] : undefined;
  return value !== undefined && isJsonObject(value) ? value[segment] : undefined;
}

/** An error in a manifest. */
export interface ManifestProblem {
  /** Where it is. */
  readonly path: readonly PathSegment[];
  /** What it is, with the field as the server names it. */
  readonly text: string;
}

/** Why an object was not applied, one line for each error, each with its file, line and field. */
export function applyProblems(manifest: Manifest, error: unknown): string[] {
  return objectProblems(manifest, error).map(({ path, text }) => `${manifest.at(path)}: ${text}`);
}

/** Why a server refused an object, by field. */
export function objectProblems(manifest: Manifest, error: unknown): ManifestProblem[] {
  const causes = findStatusError(error)?.status.details?.causes ?? [];
  const fields = causes.filter(({ field }) => field !== undefined && field !== "<nil>" && field !== "");
  if (fields.length > 0) {
    return fields.map(({ field = "", message = "" }) => ({ path: pathOf(field), text: `${field}: ${message}` }));
  }
  const unknown = unknownFields(textOf(error));
  if (unknown.length > 0) {
    const what = "unknown field: check its name and indentation";
    return unknown.map((field) => ({ path: placeOf(manifest, field), text: `${field}: ${what}` }));
  }
  const items = listProblems(manifest, textOf(error));
  if (items.length > 0) return items;
  const mistyped = wrongTypes(textOf(error));
  if (mistyped.length > 0)
    return mistyped.map(({ field, what }) => ({ path: pathOf(field), text: `${field}: ${what}` }));
  if (lacksNamespace(manifest, error)) {
    const { namespace } = manifest.object.metadata;
    const advice = `namespace "${namespace}" does not exist: create it, or correct metadata.namespace`;
    return [{ path: ["metadata", "namespace"], text: `${nameOf(manifest)}: ${advice}` }];
  }
  if (isOfAnother(manifest, error)) {
    const field = manifest.object.metadata.uid ? "uid" : "resourceVersion";
    const advice = "remove metadata.uid and metadata.resourceVersion from the file";
    const text = `${nameOf(manifest)}: the stored object has another uid or resourceVersion: ${advice}`;
    return [{ path: ["metadata", field], text }];
  }
  return [{ path: [], text: `${nameOf(manifest)}: ${textOf(error)}` }];
}

/** Items of a list that share their key, or have none: the names of pipeline steps above all. */
function listProblems(manifest: Manifest, text: string): ManifestProblem[] {
  const object = manifest.object;
  const [, list, keys] = /(?<=^|\s)(\.\S+): duplicate entries for key \[([^\]]*)\]/.exec(text) ?? [];
  if (list !== undefined && keys !== undefined) {
    const path = typedPath(list, object);
    const [first = 0, ...others] = itemsWith(keysOf(keys), valueAt(object, path));
    const where = pathText([...path, first]);
    return others.map((index) =>
      itemProblem({ item: [...path, index], key: keys, what: `also used by ${where}: make it unique` }),
    );
  }
  const missing =
    /(?<=^|\s)(\.\S+): element (\d+): associative list with keys has an element that omits .*?"([^"]+)"/.exec(text);
  if (missing === null) return [];
  const [, at = "", index = "", key = ""] = missing;
  const item = [...typedPath(at, object), Number(index)];
  return [itemProblem({ item, key, what: "required field is missing: give it a unique value" })];
}

interface ItemProblem {
  readonly item: readonly PathSegment[];
  /** The name of the key field, for a duplicate with its value: `name="a"`. */
  readonly key: string;
  readonly what: string;
}

function itemProblem({ item, key, what }: ItemProblem): ManifestProblem {
  const field = /^[\w-]+/.exec(key)?.[0] ?? "";
  const path = [...item, field];
  const value = key === field ? "" : `duplicate value ${key.slice(field.length + 1)}, `;
  return { path, text: `${pathText(path)}: ${value}${what}` };
}

function placeOf(manifest: Manifest, field: string): PathSegment[] {
  return field.startsWith(".") ? typedPath(field, manifest.object) : pathOf(field);
}

/** What is not found when an object is applied is the namespace it is to be in. */
function lacksNamespace({ object }: Manifest, error: unknown): boolean {
  const { kind = "", name = "" } = findStatusError(error)?.status.details ?? {};
  return isNotFound(error) && kind === "namespaces" && name === object.metadata.namespace;
}

/** Files that were saved from a server say which object they mean, and in which version; force overrides everything else. */
function isOfAnother({ object }: Manifest, error: unknown): boolean {
  const { uid, resourceVersion } = object.metadata;
  return isConflict(error) && Boolean(uid || resourceVersion);
}

/** Server-side apply reports values of another type with the type names of its Go code. */
function wrongTypes(text: string): { readonly field: string; readonly what: string }[] {
  const got = /(?:&value\.valueUnstructured\{Value:(.*)\}|(\w+))$/.source;
  const found = text.matchAll(new RegExp(`(?<=^|\\s)(\\.[^\\s:]+): expected ([^,]+), got ${got}`, "gm"));
  return [...found].map(([, field = "", type = "", value, name]) => ({
    field: field.slice(1),
    what: `expected ${type}, got ${value ?? name ?? ""}`,
  }));
}

/** An object as it is called in messages. */
export function nameOf({ object }: Manifest): string {
  return `${object.kind} ${keyText(keyOf(object))}`;
}

function pathOf(field: string): ReturnType<typeof parseFieldPath> {
  return parseFieldPath(field.replace(/^\./, ""));
}

/** Strict validation of fields answers with one text about all of them, which says where each is. */
export function unknownFields(text: string): string[] {
  const named = [
    ...text.matchAll(/unknown field "([^"]+)"|(?<=^|[ ,(])((?:\.[\w-]+|\[[^\]]*\])+): field not declared in schema/g),
  ];
  return named.map(([, quoted, dotted]) => quoted ?? dotted ?? "");
}

/** Misspelled keywords in the schemas of an XRD, a line each. */
export function definitionProblems(manifest: Manifest): string[] {
  return keywordProblems(manifest.object).map(({ path, text }) => `${manifest.at(path)}: ${text}`);
}

/**
 * Misspelled keywords in the schemas of an XRD. The API server cannot report them: an XRD holds its schemas as free-form objects, and
 * they are dropped from the CRD that is made of it.
 */
export function keywordProblems(definition: KubeObject): ManifestProblem[] {
  return schemasOf(definition).flatMap(({ schema, path }) =>
    unknownKeywords(schema, path).map(({ path: at, closest }) => {
      const advice = closest === undefined ? "check its name and indentation" : `did you mean ${closest}?`;
      return { path: at, text: `${pathText(at)}: unknown schema keyword: ${advice}` };
    }),
  );
}

function schemasOf(object: KubeObject): { readonly schema: JsonValue; readonly path: readonly PathSegment[] }[] {
  const spec = object["spec"] as JsonValue | undefined;
  const versions = isJsonObject(spec) ? spec["versions"] : undefined;
  if (!isJsonArray(versions)) return [];
  return versions.flatMap((version, index) => {
    const holder = isJsonObject(version) ? version["schema"] : undefined;
    const schema = isJsonObject(holder) ? holder["openAPIV3Schema"] : undefined;
    return schema === undefined ? [] : [{ schema, path: ["spec", "versions", index, "schema", "openAPIV3Schema"] }];
  });
}
