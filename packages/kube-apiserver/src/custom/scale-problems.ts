// SPDX-License-Identifier: Apache-2.0
import { type FieldError, invalidValue } from "@purlin/kube-objects/errors";
import {
  goPlain,
  goTypeName,
  isJsonObject,
  type JsonObject,
  type JsonValue,
  ownValue,
} from "@purlin/kube-objects/json";
import { memberAt, stringAt } from "@purlin/kube-objects/object";

/** Where objects of a version keep what their Scale shows, as its definition writes it: `.spec.replicas`. */
export interface ScaleFields {
  readonly specReplicas: string;
  readonly statusReplicas: string;
  readonly selector: string | undefined;
}

/** What a version of a definition says about its Scale; undefined: it has none. */
export function scaleFields(version: JsonObject): ScaleFields | undefined {
  const scale = memberAt(version, ["subresources", "scale"]);
  if (!isJsonObject(scale)) return undefined;
  return {
    specReplicas: stringAt(scale, ["specReplicasPath"]),
    statusReplicas: stringAt(scale, ["statusReplicasPath"]),
    selector: stringAt(scale, ["labelSelectorPath"]) || undefined,
  };
}

/** The largest count a Scale can show. */
const maxReplicas = 2 ** 31 - 1;

/** What in an object's spec keeps its Scale from being shown, besides what its schema says about it. */
export function scaleSpecProblems(object: JsonObject, { specReplicas }: ScaleFields): FieldError[] {
  return replicasProblems(object, specReplicas);
}

/** The same of its status. */
export function scaleStatusProblems(object: JsonObject, { statusReplicas, selector }: ScaleFields): FieldError[] {
  const found = selector === undefined ? undefined : readAt(object, selector, "string");
  const problem = found?.problem;
  return [
    ...replicasProblems(object, statusReplicas),
    ...(problem === undefined ? [] : [invalidValue(selector, "", problem)]),
  ];
}

function replicasProblems(object: JsonObject, path: string): FieldError[] {
  const { value = 0, problem } = readAt(object, path, "int64");
  if (problem !== undefined) return [invalidValue(path, 0, problem)];
  const count = value as number | bigint;
  if (count < 0) return [invalidValue(path, count, "should be a non-negative integer")];
  return count > maxReplicas ? [invalidValue(path, count, `should be less than or equal to ${maxReplicas}`)] : [];
}

/** What an object holds at a path: a value of the type, nothing, or a problem in the words of Go. */
interface FoundValue {
  readonly value?: JsonValue;
  readonly problem?: string;
}

/** Looks for a value of a Go type at a path such as `.spec.replicas`. */
export function readAt(object: JsonObject, path: string, type: "int64" | "string"): FoundValue {
  const names = namesOf(path);
  let value: JsonValue = object;
  for (const [index, name] of names.entries()) {
    if (value === null) return {};
    if (!isJsonObject(value)) return { problem: mistyped(names.slice(0, index + 1), value, "map[string]interface{}") };
    const member: JsonValue | undefined = ownValue(value, name);
    if (member === undefined) return {};
    value = member;
  }
  return goTypeName(value) === type ? { value } : { problem: mistyped(names, value, type) };
}

/** The names a path is made of. */
export function namesOf(path: string): string[] {
  return path.replace(/^\./, "").split(".");
}

function mistyped(names: readonly string[], value: JsonValue, wanted: string): string {
  return `.${names.join(".")} accessor error: ${goPlain(value)} is of the type ${goTypeName(value)}, expected ${wanted}`;
}
