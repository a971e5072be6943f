// SPDX-License-Identifier: Apache-2.0
import { resolve } from "node:path";
import { isJsonArray, isJsonObject, type JsonObject, type JsonValue, jsonEqual } from "@purlin/kube-objects/json";
import type { KubeObject } from "@purlin/kube-objects/object";
import { parseYaml } from "../files/yaml-file.ts";
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
  const resource = String(assertion["resource"] ?? "");
  const matching = rendered.objects.filter((object) => isNamed(object, resource));
  switch (type) {
    case "Count":
      return expected(rendered.objects.length, value);
    case "Exists":
      return matching.length > 0 ? [] : [`resource ${resource} not found${nearest(resource, rendered)}`];
    case "NotExists":
      return matching.length === 0 ? [] : [`resource ${resource} exists`];
    case "Golden":
      return await goldenProblems(String(assertion["expected"] ?? ""), matching, { resource, rendered });
    case "FieldType":
    case "FieldExists":
    case "FieldNotExists":
    case "FieldValue": {
      const [object] = matching;
      if (object === undefined) return [`resource ${resource} not found${nearest(resource, rendered)}`];
      return fieldProblems(assertion, object as JsonObject);
    }
    default:
      return [`unknown assertion type ${JSON.stringify(type)}`];
  }
}

/** `Kind`, `Kind/name`, or a name with `*`. Without a resource, everything. */
function isNamed({ kind, metadata }: KubeObject, resource: string): boolean {
  const [wanted = "", name] = resource.split("/");
  if (wanted !== "" && wanted !== kind) return false;
  if (name === undefined) return true;
  const pattern = name.split("*").map((part) => RegExp.escape(part));
  return new RegExp(`^${pattern.join(".*")}$`).test(metadata.name ?? "");
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
  if (type === "FieldType") return expected(typeOf(found), value, `${field}: `);
  if (operator !== "==" && operator !== "is") return [`operator ${JSON.stringify(operator)}: expected == or is`];
  return isThere ? expected(found, value, `${field}: `) : [`${field}: does not exist`];
}

function expected(found: JsonValue | undefined, value: JsonValue | undefined, prefix = ""): string[] {
  if (found !== undefined && value !== undefined && jsonEqual(found, value)) return [];
  return [`${prefix}expected ${JSON.stringify(value)}, got ${JSON.stringify(found)}`];
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
  return isJsonArray(value) ? "array" : typeof value;
}

/** What only a rendering or only a server sets. */
const unstable = new Set(["ownerReferences", "uid", "resourceVersion", "creationTimestamp", "lastTransitionTime"]);

async function goldenProblems(
  name: string,
  matching: readonly KubeObject[],
  { resource, rendered }: { readonly resource: string; readonly rendered: Rendered },
): Promise<string[]> {
  const documents = parseYaml(await rendered.readFile(name), name).map(({ value }) => stable(value as JsonValue));
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
