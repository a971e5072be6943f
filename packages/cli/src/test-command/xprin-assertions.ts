// SPDX-License-Identifier: Apache-2.0
import { resolve } from "node:path";
import {
  isJsonArray,
  isJsonObject,
  isNumber,
  type JsonObject,
  type JsonValue,
  jsonEqual,
  printJson,
} from "@purlin/kube-objects/json";
import type { KubeObject } from "@purlin/kube-objects/object";
import { parseGlob } from "../files/glob.ts";
import { parseYaml } from "../files/yaml-file.ts";
import { textOf } from "../user-error.ts";
import { mismatches, place } from "./match.ts";

/** What a suite of xprin asserts over: the composite resource first, then the composed resources. */
interface Rendered {
  readonly objects: readonly KubeObject[];
  /** Reads a file beside the suite. */
  readFile(name: string): Promise<string>;
}

/** The assertions that do not hold, a line each. */
export async function failedAssertions(assertions: readonly JsonValue[], rendered: Rendered): Promise<string[]> {
  const found: string[] = [];
  for (const one of assertions.filter(isJsonObject)) {
    const problems = await problemsOf(one, rendered);
    found.push(...problems.map((problem) => `${String(one["name"] ?? one["type"])}: ${problem}`));
  }
  return found;
}

async function problemsOf(assertion: JsonObject, rendered: Rendered): Promise<string[]> {
  const { type, value } = assertion;
  const resource = String(assertion["resource"] ?? "").trim();
  if (resource.split("/").length > 2) return [`resource ${resource}: expected Kind or Kind/name`];
  const isWanted = matcherOf(resource);
  const matching = rendered.objects.filter((object) => isWanted(idOf(object as JsonObject)));
  switch (type) {
    case "Count":
      return expected(matching.length, value, resource === "" ? "" : `${resource}: `);
    case "Exists":
      return matching.length > 0 ? [] : [`resource ${resource} not found${nearest(resource, rendered)}`];
    case "NotExists":
      return matching.length === 0 ? [] : [`resource ${resource} exists${foundText(resource, matching)}`];
    case "Golden":
      return await goldenProblems(String(assertion["expected"] ?? ""), matching, { resource, rendered });
    case "FieldType":
    case "FieldExists":
    case "FieldNotExists":
    case "FieldValue": {
      if (matching.length === 0) return [`resource ${resource} not found${nearest(resource, rendered)}`];
      return matching.flatMap((object) =>
        fieldProblems(assertion, object as JsonObject).map((problem) =>
          resource === idOf(object as JsonObject) ? problem : `${idOf(object as JsonObject)}: ${problem}`,
        ),
      );
    }
    default:
      return [`unknown assertion type ${printJson(type ?? null)}`];
  }
}

/** The objects that a pattern found, where it names none itself. */
const foundText = (resource: string, matching: readonly KubeObject[]): string =>
  matching.length === 1 && idOf(matching[0] as JsonObject) === resource
    ? ""
    : `: ${matching.map((object) => idOf(object as JsonObject)).join(", ")}`;

/** Matches `Kind/name` against a shell pattern. `Kind` matches all of that kind, and no pattern for everything. */
function matcherOf(resource: string): (id: string) => boolean {
  if (resource === "") return () => true;
  const pattern = resource.includes("/") ? resource : `${resource}/*`;
  return parseGlob(pattern);
}

function nearest(resource: string, { objects }: Rendered): string {
  const [wanted] = resource.split("/");
  const same = objects.filter(({ kind }) => kind === wanted).map(({ metadata }) => metadata.name ?? "");
  return same.length === 0 ? "" : `; there are ${same.map((name) => `${wanted ?? ""}/${name}`).join(", ")}`;
}

function fieldProblems(assertion: JsonObject, object: JsonObject): string[] {
  const { type, value, operator = "==" } = assertion;
  const field = String(assertion["field"] ?? "");
  const { isThere, found } = at(object, field.split("."));
  if (type === "FieldNotExists") return isThere ? [`${field}: exists`] : [];
  if (type === "FieldExists") return isThere ? [] : [`${field}: does not exist`];
  if (!isThere) return [`${field}: does not exist`];
  if (type === "FieldType") return expected(typeOf(found), value, `${field}: `);
  if (operator !== "==" && operator !== "is") return [`operator ${printJson(operator)}: expected == or is`];
  return expected(found, value, `${field}: `);
}

function expected(found: JsonValue | undefined, value: JsonValue | undefined, prefix = ""): string[] {
  if (found !== undefined && value !== undefined && jsonEqual(found, value)) return [];
  return [`${prefix}expected ${printJson(value ?? null)}, got ${printJson(found ?? null)}`];
}

function at(object: JsonObject, path: readonly string[]): { readonly isThere: boolean; readonly found?: JsonValue } {
  let value: JsonValue = object;
  for (const name of path) {
    const next: JsonValue | undefined = isJsonObject(value)
      ? value[name]
      : isJsonArray(value) && /^\d+$/.test(name)
        ? value[Number(name)]
        : undefined;
    if (next === undefined) return { isThere: false };
    value = next;
  }
  return { isThere: true, found: value };
}

function typeOf(value: JsonValue | undefined): string {
  if (value === undefined || value === null) return "null";
  if (isJsonArray(value)) return "array";
  return isNumber(value) ? "number" : typeof value;
}

/** What only a rendering or only a server sets. */
const unstable = new Set(["ownerReferences", "uid", "resourceVersion", "creationTimestamp", "lastTransitionTime"]);

async function goldenProblems(
  name: string,
  matching: readonly KubeObject[],
  { resource, rendered }: { readonly resource: string; readonly rendered: Rendered },
): Promise<string[]> {
  let text: string;
  try {
    text = await rendered.readFile(name);
  } catch (error) {
    return [textOf(error)];
  }
  const documents = parseYaml(text, name).map(({ value }) => stable(value as JsonValue));
  const objects = documents.filter(isJsonObject).filter(({ apiVersion }) => !String(apiVersion).startsWith("render."));
  const problems = objects.flatMap((golden) => {
    const id = idOf(golden);
    const actual = matching.find((object) => idOf(object as JsonObject) === id);
    return actual === undefined
      ? [`${id}: not rendered`]
      : mismatches(golden, actual as JsonObject, place(id)).map(({ text }) => text);
  });
  const extra =
    resource === ""
      ? matching.filter((one) => !objects.some((golden) => idOf(golden) === idOf(one as JsonObject)))
      : [];
  return [...problems, ...extra.map((one) => `${idOf(one as JsonObject)}: not in ${resolve("/", name).slice(1)}`)];
}

function idOf({ kind, metadata }: JsonObject): string {
  return `${String(kind)}/${isJsonObject(metadata) ? String(metadata["name"] ?? "") : ""}`;
}

function stable(value: JsonValue): JsonValue {
  if (isJsonArray(value)) return value.map(stable);
  if (!isJsonObject(value)) return value;
  const kept = Object.entries(value).filter(([key]) => !unstable.has(key));
  return Object.fromEntries(kept.map(([key, one]) => [key, stable(one as JsonValue)]));
}
