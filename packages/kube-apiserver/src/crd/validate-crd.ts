// SPDX-License-Identifier: Apache-2.0
import { finish, isPartDone, type Work } from "@purlin/base";
import type { CheckOptions } from "@purlin/cel";
import {
  childPath,
  type FieldError,
  type FieldPath,
  forbiddenValue,
  indexPath,
  invalidValue,
  requiredValue,
  unsupportedValue,
} from "@purlin/kube-objects/errors";
import { goJson, type JsonObject, ownValue } from "@purlin/kube-objects/json";
import { dns1123SubdomainProblems } from "@purlin/kube-objects/metadata";
import { objectAt, objectsAt, optionalObjectAt, stringAt, textsAt } from "@purlin/kube-objects/object";
import { type CrdSpec, crdSpec } from "./crd-spec.ts";
import { defaultProblems } from "./default-rules.ts";
import {
  columnProblems,
  missingNames,
  nameProblems,
  selectableProblems,
  subresourceProblems,
  versionListProblems,
  versionNameProblems,
  warningProblems,
} from "./name-rules.ts";
import { type Problem, pause, pausing, readingSchemaProps, type SchemaProps, schemaProps } from "./schema-props.ts";
import { hasUnsupportedMembers, rootProblems, schemaProblems } from "./schema-rules.ts";
import { structuralProblems } from "./structural-rules.ts";
import { conversionProblems } from "./webhook-target.ts";

/** Checks the CEL rules of a schema; what is wrong with the schema itself decides which rules can be compiled. */
export type CheckRules = (schema: JsonObject, options: CheckOptions) => Iterable<Problem>;

/** The name a CRD must have. */
export function requiredCrdName(crd: JsonObject): string {
  const { group, names } = crdSpec(crd);
  return `${stringAt(names, ["plural"])}.${group}`;
}

/** What is wrong with a new CRD apart from its metadata, in the order and words of the reference server. */
export function validateCrd(crd: JsonObject, checkRules: CheckRules): FieldError[] {
  return finish(validatingCrd(crd, checkRules));
}

/** {@link validateCrd} in parts. */
export function* validatingCrd(crd: JsonObject, checkRules: CheckRules): Work<FieldError[]> {
  const spec = crdSpec(crd);
  return [
    ...(yield* inParts(specProblems(spec, checkRules))),
    ...validateCrdStatus(crd),
    ...storedVersionProblems(crd, spec),
    ...approvalProblems(crd, undefined),
    ...preserveProblems(spec),
  ];
}

/** What is wrong with a change of a CRD apart from its metadata, found in parts. */
export function* validatingCrdUpdate(crd: JsonObject, old: JsonObject, checkRules: CheckRules): Work<FieldError[]> {
  const [spec, before] = [crdSpec(crd), crdSpec(old)];
  let known: ReadonlySet<string> | undefined;
  const checkNew: CheckRules = function* (schema, options) {
    known ??= knownSchemas(before);
    yield pause;
    if (known.has(goJson(schema))) return;
    yield pause;
    yield* checkRules(schema, options);
  };
  return [
    ...(yield* inParts(specProblems(spec, checkNew, before))),
    ...immutableProblems(spec, before, isEstablished(old)),
    ...validateCrdStatus(crd, old),
    ...storedVersionProblems(crd, spec),
    ...approvalProblems(crd, old),
    ...(before.preserveUnknownFields ? [] : preserveProblems(spec)),
  ];
}

/** Collects problems, and yields wherever they have a pause. */
function* inParts(problems: Iterable<Problem>): Work<FieldError[]> {
  const found: FieldError[] = [];
  for (const problem of problems) {
    if (problem === pause) yield;
    else found.push(problem);
  }
  return found;
}

/** Validates the status of a CRD. A client that may write it may remove stored versions: that is how they are retired. */
export function validateCrdStatus(crd: JsonObject, old?: JsonObject): FieldError[] {
  const names = objectAt(crd, ["status", "acceptedNames"]);
  // The server itself accepts names of the spec.
  const stored =
    old === undefined ? [] : [objectAt(old, ["status", "acceptedNames"]), objectAt(old, ["spec", "names"])];
  return [...nameProblems(names, "status.acceptedNames", stored)];
}

/** Schemas whose rules were accepted once are not compiled again, so that a newer server cannot lock an old CRD. */
function knownSchemas({ common, versions }: CrdSpec): ReadonlySet<string> {
  const schemas = [common.schema, ...versions.map(({ schema }) => schema)].filter((one) => one !== undefined);
  return new Set(schemas.map((schema) => goJson(schema)));
}

function* specProblems(spec: CrdSpec, checkRules: CheckRules, before?: CrdSpec): Generator<Problem> {
  yield* groupProblems(spec.group);
  if (spec.scope === "") yield requiredValue("spec.scope");
  else if (!["Cluster", "Namespaced"].includes(spec.scope)) {
    yield unsupportedValue("spec.scope", spec.scope, ["Cluster", "Namespaced"]);
  }
  yield* missingSchemas(spec);
  for (const [index, version] of spec.versions.entries()) {
    const path = indexPath("spec.versions", index);
    yield* versionNameProblems(version.name, childPath(path, "name"));
    yield* warningProblems(version, childPath(path, "deprecationWarning"));
    const missing = "`version.schema.openAPIV3Schema` is not included";
    const hasStatus = hasStatusIn(version) || hasStatusIn(spec.common);
    yield* memberProblems(version, { path, schemaPath: childPath(path, "schema"), missing, hasStatus, checkRules });
    if (isPartDone()) yield pause;
  }
  yield* versionListProblems(spec, "spec.versions");
  const [first] = spec.versions;
  if (first !== undefined && first.name !== "") yield* versionNameProblems(first.name, "spec.version");
  yield* missingNames(spec.names, "spec.names");
  yield* nameProblems(spec.names, "spec.names", before === undefined ? [] : [before.names]);
  const missing = "validations.schema is included";
  const hasStatus = [spec.common, ...spec.versions].some(hasStatusIn);
  yield* memberProblems(spec.common, { path: "spec", schemaPath: "spec.validation", missing, hasStatus, checkRules });
  yield* conversionProblems(spec.conversion, "spec.conversion", spec);
}

function hasStatusIn({ subresources }: CrdSpec["common"]): boolean {
  return subresources !== undefined && optionalObjectAt(subresources, ["status"]) !== undefined;
}

interface MemberPlace {
  readonly path: FieldPath;
  readonly schemaPath: FieldPath;
  /** What is missing where fields can be selected but there is no schema, in the words of the reference. */
  readonly missing: string;
  /** Whether the status is a resource of its own. */
  readonly hasStatus: boolean;
  readonly checkRules: CheckRules;
}

/** Members that a version has, or all versions together. */
function* memberProblems(
  members: CrdSpec["common"],
  { path, schemaPath, missing, hasStatus, checkRules }: MemberPlace,
): Generator<Problem> {
  if (members.schema !== undefined) {
    const at = childPath(schemaPath, "openAPIV3Schema");
    let isFine = true;
    const ofRoot = hasStatus ? rootProblems(members.schema, at) : [];
    for (const problems of [ofRoot, wholeSchemaProblems(members.schema, at, checkRules)]) {
      for (const problem of problems) {
        isFine &&= problem === pause;
        yield problem;
      }
    }
    // What else keeps a schema from being structural has been said by then.
    if (isFine && hasUnsupportedMembers(schemaProps(members.schema))) {
      yield invalidValue(at, "", "OpenAPIV3Schema 'schema' is not supported");
    }
  }
  yield* subresourceProblems(members.subresources, childPath(path, "subresources"));
  yield* columnProblems(members.columns, childPath(path, "additionalPrinterColumns"));
  yield* selectableProblems(members.selectableFields, members.schema, {
    path: childPath(path, "selectableFields"),
    missing,
  });
}

function* wholeSchemaProblems(schema: JsonObject, path: FieldPath, checkRules: CheckRules): Generator<Problem> {
  const root = yield* pausing(readingSchemaProps(schema));
  yield pause;
  if (root.is("nullable")) yield forbiddenValue(childPath(path, "nullable"), "nullable cannot be true at the root");
  const isUnsupported = hasUnsupportedMembers(root);
  yield pause;
  const structure = isUnsupported ? undefined : yield* structureProblems(root, path);
  yield* structure ?? [];
  yield pause;
  const brokenPaths: FieldPath[] = [];
  for (const problem of schemaProblems(root, { path, isRoot: true, noDefaults: undefined, insideMeta: false })) {
    if (problem !== pause) brokenPaths.push(problem.field);
    yield problem;
  }
  yield pause;
  yield* checkRules(schema, { path, brokenPaths, textsOnly: structure?.length !== 0 });
  yield pause;
}

/** Defaults can only be looked at in a schema whose structure is in order. */
function* structureProblems(root: SchemaProps, path: FieldPath): Generator<typeof pause, FieldError[]> {
  const problems = yield* structuralProblems(root, path);
  yield pause;
  if (problems.length > 0) return problems;
  const ofDefaults: FieldError[] = [];
  for (const problem of defaultProblems(root, path)) {
    if (problem === pause) yield pause;
    else ofDefaults.push(problem);
  }
  return ofDefaults;
}

function* groupProblems(group: string): Generator<FieldError> {
  if (group === "") {
    yield requiredValue("spec.group");
    return;
  }
  const problems = dns1123SubdomainProblems(group);
  if (problems.length > 0) yield invalidValue("spec.group", group, problems.join(","));
  else if (!group.includes(".")) yield invalidValue("spec.group", group, "should be a domain with at least one dot");
}

function* missingSchemas({ versions, common }: CrdSpec): Generator<FieldError> {
  if (common.schema !== undefined) return;
  for (const [index, version] of versions.entries()) {
    if (version.schema === undefined) yield requiredValue(`spec.versions[${index}].schema.openAPIV3Schema`);
  }
}

function* immutableProblems(spec: CrdSpec, old: CrdSpec, established: boolean): Generator<FieldError> {
  const name = (of: CrdSpec, member: string): string => stringAt(of.names, [member]);
  const fields = [
    ...(established ? [["spec.scope", spec.scope, old.scope] as const] : []),
    ...(established ? [["spec.names.kind", name(spec, "kind"), name(old, "kind")] as const] : []),
    ["spec.group", spec.group, old.group] as const,
    ["spec.names.plural", name(spec, "plural"), name(old, "plural")] as const,
  ];
  for (const [path, now, before] of fields) if (now !== before) yield invalidValue(path, now, "field is immutable");
}

function isEstablished(crd: JsonObject): boolean {
  const conditions = objectsAt(crd, ["status", "conditions"]);
  return conditions.some((condition) => condition["type"] === "Established" && condition["status"] === "True");
}

function* storedVersionProblems(crd: JsonObject, { versions }: CrdSpec): Generator<FieldError> {
  const path = "status.storedVersions";
  const status = objectAt(crd, ["status"]);
  const stored = textsAt(status, ["storedVersions"]);
  if (stored.length === 0) {
    yield invalidValue(path, ownValue(status, "storedVersions") ?? null, "must have at least one stored version");
    return;
  }
  const known = new Set(stored);
  const missing = versions.filter(({ name, storage }) => storage && !known.has(name));
  // Each of these errors shows all stored versions, so only the first ones are reported.
  for (const { name } of missing.slice(0, mostStorageErrors)) {
    yield invalidValue(path, stored, `must have the storage version ${name}`);
  }
  const names = new Set(versions.map(({ name }) => name));
  for (const [index, name] of stored.entries()) {
    if (names.has(name)) continue;
    const detail = `missing from spec.versions; ${name} was previously a storage version, and must remain in spec.versions until a storage migration ensures no data remains persisted in ${name} and removes ${name} from status.storedVersions`;
    yield invalidValue(indexPath(path, index), name, detail);
  }
}

/** How often the whole list of stored versions is shown. */
const mostStorageErrors = 10;

const approval = "api-approved.kubernetes.io";

function approvalOf(crd: JsonObject): { readonly state: "missing" | "invalid" | "approved"; readonly text: string } {
  const annotations = objectAt(crd, ["metadata", "annotations"]);
  const text = stringAt(annotations, [approval]);
  if (text === "") return { state: "missing", text };
  if (text.startsWith("unapproved")) return { state: "approved", text };
  return { state: URL.canParse(text) && new URL(text).host !== "" ? "approved" : "invalid", text };
}

/** Groups of the Kubernetes project itself need a link to the review of their API. */
function* approvalProblems(crd: JsonObject, old: JsonObject | undefined): Generator<FieldError> {
  const { group } = crdSpec(crd);
  if (!/(^|\.)(k8s|kubernetes)\.io$/.test(group)) return;
  const { state, text } = approvalOf(crd);
  if (old !== undefined && approvalOf(old).state === state) return;
  const path = `metadata.annotations[${approval}]`;
  const see = "see https://github.com/kubernetes/enhancements/pull/1111";
  if (state === "missing")
    yield requiredValue(path, `protected groups must have approval annotation "${approval}", ${see}`);
  if (state === "invalid") {
    yield invalidValue(
      path,
      text,
      `protected groups must have approval annotation "${approval}" with either a URL or a reason starting with "unapproved", ${see}`,
    );
  }
}

function* preserveProblems({ preserveUnknownFields }: CrdSpec): Generator<FieldError> {
  if (!preserveUnknownFields) return;
  const detail =
    "cannot set to true, set x-kubernetes-preserve-unknown-fields to true in spec.versions[*].schema instead";
  yield invalidValue("spec.preserveUnknownFields", true, detail);
}
