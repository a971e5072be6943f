// SPDX-License-Identifier: Apache-2.0
// The shape of patches and transforms of function-patch-and-transform.
import { isJsonArray, isJsonObject, type JsonObject } from "@purlin/kube-objects/json";
import { closestName } from "@purlin/kube-objects/schema";
import type { PathSegment } from "../files/yaml-position.ts";

/** The fields that each type of patch needs. */
const patchFields: Readonly<Record<string, readonly string[]>> = {
  FromCompositeFieldPath: ["fromFieldPath"],
  ToCompositeFieldPath: ["fromFieldPath"],
  FromEnvironmentFieldPath: ["fromFieldPath"],
  ToEnvironmentFieldPath: ["fromFieldPath"],
  CombineFromComposite: ["combine", "toFieldPath"],
  CombineToComposite: ["combine", "toFieldPath"],
  CombineFromEnvironment: ["combine", "toFieldPath"],
  CombineToEnvironment: ["combine", "toFieldPath"],
  PatchSet: ["patchSetName"],
};

/** The types that values are converted to, as schemas name them. */
const convertedTypes: Readonly<Record<string, string>> = {
  string: "string",
  int: "integer",
  int64: "integer",
  bool: "boolean",
  float64: "number",
  object: "object",
  array: "array",
};

const transformTypes = ["convert", "map", "match", "math", "string"];

/** The fields that each type of string transform needs. */
const stringFields: Readonly<Record<string, string>> = {
  Format: "fmt",
  Convert: "convert",
  TrimPrefix: "trim",
  TrimSuffix: "trim",
  Regexp: "regexp",
  Join: "join",
  Replace: "replace",
};

interface ShapeProblem {
  readonly path: readonly PathSegment[];
  readonly text: string;
}

/** What is missing or misspelled in a patch. */
export function shapeProblems(patch: JsonObject): ShapeProblem[] {
  const type = String(patch["type"] ?? "FromCompositeFieldPath");
  const fields = patchFields[type];
  if (fields === undefined)
    return [{ path: ["type"], text: unknownText("patch type", type, Object.keys(patchFields)) }];
  const missing = fields
    .filter((name) => patch[name] === undefined)
    .map((name) => ({ path: [], text: `a patch of type ${type} needs ${name}` }));
  const { transforms } = patch;
  const list = isJsonArray(transforms) ? transforms : [];
  return [
    ...missing,
    ...list.flatMap((transform, index) =>
      isJsonObject(transform) ? transformProblems(transform, ["transforms", index]) : [],
    ),
  ];
}

function transformProblems(transform: JsonObject, path: readonly PathSegment[]): ShapeProblem[] {
  const type = String(transform["type"]);
  if (!transformTypes.includes(type))
    return [{ path: [...path, "type"], text: unknownText("transform type", type, transformTypes) }];
  const member = transform[type];
  if (member === undefined || !isJsonObject(member))
    return [{ path, text: `a transform of type ${type} needs the field ${type}` }];
  if (type === "convert") return convertProblems(member, [...path, type]);
  return type === "string" ? stringProblems(member, [...path, type]) : [];
}

function convertProblems({ toType }: JsonObject, path: readonly PathSegment[]): ShapeProblem[] {
  if (typeof toType === "string" && toType in convertedTypes) return [];
  return [
    { path: [...path, "toType"], text: unknownText("type to convert to", String(toType), Object.keys(convertedTypes)) },
  ];
}

function stringProblems(string: JsonObject, path: readonly PathSegment[]): ShapeProblem[] {
  const type = String(string["type"] ?? "Format");
  const field = stringFields[type];
  if (field === undefined)
    return [{ path: [...path, "type"], text: unknownText("string transform", type, Object.keys(stringFields)) }];
  return string[field] === undefined ? [{ path, text: `a string transform of type ${type} needs ${field}` }] : [];
}

function unknownText(what: string, value: string, known: readonly string[]): string {
  const closest = closestName(value, known);
  return `unknown ${what} ${value}: ${closest === undefined ? `expected one of ${known.join(", ")}` : `did you mean ${closest}?`}`;
}

/** The type of a value after the transforms of its patch; undefined where it cannot be known. */
export function transformedType(patch: JsonObject, source: string | undefined): string | undefined {
  let type = patch["combine"] === undefined ? source : "string";
  const { transforms } = patch;
  for (const transform of isJsonArray(transforms) ? transforms : []) {
    if (!isJsonObject(transform)) return undefined;
    type = typeAfter(transform, type);
  }
  return type;
}

function typeAfter(transform: JsonObject, before: string | undefined): string | undefined {
  const { type, convert } = transform;
  if (type === "string") return "string";
  if (type === "math") return before;
  if (type === "convert" && isJsonObject(convert)) return convertedTypes[String(convert["toType"])];
  return undefined;
}
