// SPDX-License-Identifier: Apache-2.0
import { isPartDone } from "@purlin/base";
import { type FoundField, RulePathError, resolveFieldPath } from "@purlin/cel";
import {
  childPath,
  duplicateValue,
  type FieldError,
  type FieldPath,
  firstErrors,
  indexPath,
  invalidPrinted,
  invalidValue,
  requiredValue,
  tooMany,
} from "@purlin/kube-objects/errors";
import { goJson, isGoPrintable, type JsonObject, printJson } from "@purlin/kube-objects/json";
import { dns1035LabelProblems } from "@purlin/kube-objects/metadata";
import { optionalObjectAt, stringAt, textsAt } from "@purlin/kube-objects/object";
import type { Schema } from "@purlin/kube-objects/schema";
import type { CrdSpec, CrdVersionSpec } from "./crd-spec.ts";
import { type Problem, pause, schemaStruct } from "./schema-props.ts";

const columnTypes = ["boolean", "date", "integer", "number", "string"];
const columnFormats = ["byte", "date", "date-time", "double", "float", "int32", "int64", "password"];
const maxSelectableFields = 8;

/** What is wrong with the list of versions as a whole. */
export function* versionListProblems({ json, versions }: CrdSpec, path: FieldPath): Generator<FieldError> {
  const names = versions.map(({ name }) => name);
  const printed = (): string => (Array.isArray(json["versions"]) ? printVersions(versions) : "null");
  if (new Set(names).size < names.length) yield invalidPrinted(path, printed(), "must contain unique version names");
  if (versions.filter(({ storage }) => storage).length !== 1) {
    yield invalidPrinted(path, printed(), "must have exactly one version marked as storage version");
  }
}

/** The reference prints its own structures here; what all versions share has moved out of them and reads as null. */
function printVersions(versions: readonly CrdVersionSpec[]): string {
  return printJson(
    versions.map((version) => ({
      Name: version.name,
      Served: version.served,
      Storage: version.storage,
      Deprecated: version.deprecated,
      DeprecationWarning: version.deprecationWarning ?? null,
      Schema: version.schema === undefined ? null : { OpenAPIV3Schema: schemaStruct(version.schema) },
      Subresources: version.subresources ?? null,
      AdditionalPrinterColumns: version.columns.length === 0 ? null : version.columns,
      SelectableFields: version.selectableFields.length === 0 ? null : version.selectableFields,
    })),
    { htmlSafe: true },
  );
}

/** A version's name has to be a label; the first one is the old single-version field too. */
export function* versionNameProblems(name: string, path: FieldPath): Generator<FieldError> {
  const problems = dns1035LabelProblems(name);
  if (problems.length > 0) yield invalidValue(path, name, problems.join(","));
}

/** What is wrong with a deprecation warning. */
export function* warningProblems(
  { deprecated, deprecationWarning }: CrdVersionSpec,
  path: FieldPath,
): Generator<FieldError> {
  if (deprecationWarning === undefined) return;
  const say = (problem: string): FieldError => invalidPrinted(path, goJson(deprecationWarning), problem);
  if (!deprecated) {
    yield say("can only be set for deprecated versions");
    return;
  }
  if (Buffer.byteLength(deprecationWarning) > 256) yield say("must be <= 256 characters long");
  if (deprecationWarning === "") yield say("must not be an empty string");
  const hidden = [...deprecationWarning].findIndex((char) => !isGoPrintable(char));
  if (hidden !== -1) {
    const index = Buffer.byteLength([...deprecationWarning].slice(0, hidden).join(""));
    yield say(`must only contain printable UTF-8 characters; non-printable character found at index ${index}`);
  }
}

/** What is wrong with the paths of the scale subresource. */
export function* subresourceProblems(subresources: JsonObject | undefined, path: FieldPath): Generator<FieldError> {
  const scale = subresources && optionalObjectAt(subresources, ["scale"]);
  if (scale === undefined) return;
  const rules = [
    { name: "specReplicasPath", under: [".spec."], text: ".spec", required: true },
    { name: "statusReplicasPath", under: [".status."], text: ".status", required: true },
    { name: "labelSelectorPath", under: [".spec.", ".status."], text: "either .spec or .status", required: false },
  ];
  for (const { name, under, text, required } of rules) {
    const value = stringAt(scale, [name]);
    const at = childPath(path, `scale.${name}`);
    if (value === "") {
      if (required) yield requiredValue(at);
    } else if (!value.startsWith(".")) yield invalidValue(at, value, "must be a simple json path starting with .");
    else if (!under.some((prefix) => value.startsWith(prefix))) {
      yield invalidValue(at, value, `should be a json path under ${text}`);
    }
  }
}

/** What is wrong with printer columns. */
export function* columnProblems(columns: readonly JsonObject[], path: FieldPath): Generator<FieldError> {
  for (const [index, column] of columns.entries()) {
    const at = indexPath(path, index);
    const type = stringAt(column, ["type"]);
    const format = stringAt(column, ["format"]);
    const jsonPath = stringAt(column, ["jsonPath"]);
    if (stringAt(column, ["name"]) === "") yield requiredValue(childPath(at, "name"));
    const typeList = `must be one of ${columnTypes.join(",")}`;
    if (type === "") yield requiredValue(childPath(at, "type"), typeList);
    else if (!columnTypes.includes(type)) yield invalidValue(childPath(at, "type"), type, typeList);
    if (format !== "" && !columnFormats.includes(format)) {
      yield invalidValue(childPath(at, "format"), format, `must be one of ${columnFormats.join(",")}`);
    }
    const pathAt = childPath(at, "JSONPath");
    if (jsonPath === "") yield requiredValue(pathAt);
    else if (!jsonPath.startsWith("."))
      yield invalidValue(pathAt, jsonPath, "must be a simple json path starting with .");
  }
}

/** What is wrong with selectable fields; `missing` says where the schema they point into should have been. */
export function* selectableProblems(
  fields: readonly JsonObject[],
  schema: JsonObject | undefined,
  { path, missing }: { readonly path: FieldPath; readonly missing: string },
): Generator<Problem> {
  if (fields.length === 0) return;
  if (schema === undefined) {
    yield invalidValue(path, "", `may only be set when ${missing}`);
    return;
  }
  const seen = new Set<string>();
  for (const [index, field] of fields.entries()) {
    if (isPartDone()) yield pause;
    yield* selectableProblem(stringAt(field, ["jsonPath"]), schema, {
      path: childPath(indexPath(path, index), "jsonPath"),
      seen,
    });
  }
  if (seen.size > maxSelectableFields) yield tooMany(path, seen.size, maxSelectableFields);
}

function* selectableProblem(
  jsonPath: string,
  schema: JsonObject,
  { path, seen }: { readonly path: FieldPath; readonly seen: Set<string> },
): Generator<FieldError> {
  if (jsonPath === "") {
    yield requiredValue(path);
    return;
  }
  const found = fieldAt(jsonPath, schema);
  if (typeof found === "string") {
    yield invalidValue(path, jsonPath, `is an invalid path: ${found}`);
    return;
  }
  if (/^metadata(?![^.[])/.test(found.path)) yield invalidValue(path, jsonPath, "must not point to fields in metadata");
  if (!["string", "boolean", "integer"].includes(found.schema.type ?? "")) {
    const detail =
      "must point to a field of type string, boolean or integer. Enum string fields and strings with formats are allowed.";
    yield invalidValue(path, jsonPath, detail);
  }
  if (seen.has(found.path)) yield duplicateValue(path, jsonPath);
  seen.add(found.path);
}

/** The field a path names, or why it names none. */
function fieldAt(jsonPath: string, schema: JsonObject): FoundField | string {
  try {
    return resolveFieldPath(jsonPath, schema as Schema, { brackets: false });
  } catch (problem) {
    if (problem instanceof RulePathError) return problem.message;
    throw problem;
  }
}

/** What is missing among the names of a spec. */
export function* missingNames(names: JsonObject, path: FieldPath): Generator<FieldError> {
  for (const name of ["plural", "singular", "kind", "listKind"]) {
    if (stringAt(names, [name]) === "") yield requiredValue(childPath(path, name));
  }
}

/** What is wrong with names that are there. Lists may be as long as they are in the `stored` names: an old definition can be changed. */
export function* nameProblems(
  names: JsonObject,
  path: FieldPath,
  stored: readonly JsonObject[] = [],
): Generator<FieldError> {
  for (const name of ["plural", "singular"]) {
    if (stringAt(names, [name]) !== "") yield* labelProblems(stringAt(names, [name]), childPath(path, name));
  }
  for (const name of ["kind", "listKind"]) yield* kindProblems(stringAt(names, [name]), childPath(path, name));
  yield* listProblems({ names, stored }, "shortNames", path);
  const kind = stringAt(names, ["kind"]);
  if (kind !== "" && kind === stringAt(names, ["listKind"])) {
    yield invalidValue(childPath(path, "listKind"), kind, "kind and listKind may not be the same");
  }
  yield* listProblems({ names, stored }, "categories", path);
}

/** Most short names, and most categories: the names of all definitions are kept by name. */
const mostNames = 1000;

interface NameChange {
  readonly names: JsonObject;
  readonly stored: readonly JsonObject[];
}

function listProblems({ names, stored }: NameChange, member: string, path: FieldPath): FieldError[] {
  const at = childPath(path, member);
  const listed = textsAt(names, [member]);
  const isLong = listed.length > mostNames;
  if (isLong && !stored.some((before) => textsAt(before, [member]).length >= listed.length)) {
    return [tooMany(at, listed.length, mostNames)];
  }
  return firstErrors(listed, (name, index) => [...labelProblems(name, indexPath(at, index))]);
}

function* labelProblems(name: string, path: FieldPath): Generator<FieldError> {
  const problems = dns1035LabelProblems(name);
  if (problems.length > 0) yield invalidValue(path, name, problems.join(","));
}

function* kindProblems(kind: string, path: FieldPath): Generator<FieldError> {
  const problems = kind === "" ? [] : dns1035LabelProblems(kind.toLowerCase());
  if (problems.length === 0) return;
  yield invalidValue(path, kind, `may have mixed case, but should otherwise match: ${problems.join(",")}`);
}
