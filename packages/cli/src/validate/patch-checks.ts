// SPDX-License-Identifier: Apache-2.0
// The shape of patches and transforms of function-patch-and-transform.
import { isJsonArray, isJsonObject, type JsonObject, type JsonValue } from "@purlin/kube-objects/json";
import type { KubeObject } from "@purlin/kube-objects/object";
import { closestName, type Schema } from "@purlin/kube-objects/schema";
import type { PathSegment } from "../files/yaml-position.ts";
import type { Finding } from "./finding.ts";
import { lookUp } from "./kind-schemas.ts";
import { objectFindings } from "./object-findings.ts";
import { type Bag, inside, outside, type Step } from "./pipeline-step.ts";

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

/** The member that an object has itself. Files may have any name, also those that every object inherits. */
export const ownOf = <T>(members: Readonly<Record<string, T>>, name: string): T | undefined =>
  Object.hasOwn(members, name) ? members[name] : undefined;

interface ShapeProblem {
  readonly path: readonly PathSegment[];
  readonly text: string;
}

/** What is missing or misspelled in a patch. */
export function shapeProblems(patch: JsonObject): ShapeProblem[] {
  const type = String(patch["type"] ?? "FromCompositeFieldPath");
  const fields = ownOf(patchFields, type);
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
  if (typeof toType === "string" && ownOf(convertedTypes, toType) !== undefined) return [];
  return [
    { path: [...path, "toType"], text: unknownText("type to convert to", String(toType), Object.keys(convertedTypes)) },
  ];
}

function stringProblems(string: JsonObject, path: readonly PathSegment[]): ShapeProblem[] {
  const type = String(string["type"] ?? "Format");
  const field = ownOf(stringFields, type);
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
  if (type === "convert" && isJsonObject(convert)) return ownOf(convertedTypes, String(convert["toType"]));
  return undefined;
}

/** A field of a composed resource that a patch writes. */
export interface PatchedField {
  readonly path: readonly PathSegment[];
  /** Whether it is written for every composite resource. */
  readonly isSure: boolean;
}

/** A base of a composed resource. */
interface PlacedBase {
  readonly step: Step;
  readonly path: readonly PathSegment[];
  readonly base: JsonObject;
  readonly fields: readonly PatchedField[];
}

/** What is wrong with a base once patches have filled it. Fields that only optional patches fill may stay empty. */
export async function baseFindings({ step, path, base, fields }: PlacedBase, bag: Bag): Promise<Finding[]> {
  const { manifest } = step;
  const schema = bag.scratch.schemas.of(base as KubeObject);
  if (schema === undefined) return [];
  const judge = async (filled: readonly PatchedField[]): Promise<Finding[]> => {
    const object = withName(filled.reduce((value, field) => fill(value, field.path, schema), base));
    const found = await objectFindings(inside(manifest, path, object), bag.scratch);
    return found.filter(({ path: at }) => !filled.some((field) => isWithin(at, field.path)));
  };
  const errors = await judge(fields);
  const isSure = fields.every((field) => field.isSure);
  const unsure = isSure ? [] : (await judge(fields.filter((field) => field.isSure))).filter(isMissing);
  const optional = unsure
    .filter(({ path: at }) => !errors.some((error) => samePath(error.path, at)))
    .map(
      (finding): Finding => ({
        ...finding,
        level: "warning",
        text: `${finding.text}, and only an optional patch sets it: ${advice}`,
      }),
    );
  return outside([...errors, ...optional], { manifest, prefix: path, code: "V10" });
}

const advice = "set policy.fromFieldPath to Required, or make the field of the composite resource required";

const isMissing = ({ text }: Finding): boolean => /Required value/.test(text);
const samePath = (a: readonly PathSegment[], b: readonly PathSegment[]): boolean =>
  JSON.stringify(a) === JSON.stringify(b);
const isWithin = (path: readonly PathSegment[], above: readonly PathSegment[]): boolean =>
  samePath(path.slice(0, above.length), above);

/** Composed resources are named by the control plane. */
function withName(base: JsonObject): KubeObject {
  const metadata = isJsonObject(base["metadata"]) ? base["metadata"] : {};
  const name = metadata["name"] === undefined ? { generateName: "composed-" } : {};
  return { ...base, metadata: { ...metadata, ...name } } as KubeObject;
}

/** A copy with a value of the right type at a path, unless one is there. Paths to every item are left alone. */
function fill(base: JsonObject, path: readonly PathSegment[], schema: Schema): JsonObject {
  const found = lookUp(schema, path);
  if (!found.isKnown || path.includes("*")) return base;
  return filled(base, path, exampleOf(found.schema)) as JsonObject;
}

function filled(
  value: JsonValue | undefined,
  [segment, ...rest]: readonly PathSegment[],
  example: JsonValue,
): JsonValue {
  if (segment === undefined) return value ?? example;
  if (typeof segment === "number") {
    const items: JsonValue[] = isJsonArray(value) ? [...value] : [];
    while (items.length < segment) items.push({});
    items[segment] = filled(items[segment], rest, example);
    return items;
  }
  const members = value !== undefined && isJsonObject(value) ? value : {};
  return { ...members, [segment]: filled(members[segment], rest, example) };
}

const examples: Readonly<Record<string, JsonValue>> = { integer: 1, number: 1, boolean: true, array: [], object: {} };

function exampleOf(schema: Schema | undefined): JsonValue {
  return schema?.enum?.[0] ?? examples[schema?.type ?? "string"] ?? "patched";
}
