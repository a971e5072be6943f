// SPDX-License-Identifier: Apache-2.0
import { compositionKinds, definitionFacts } from "@purlin/composition";
import { textOf } from "@purlin/kube-objects/errors";
import {
  isJsonObject,
  isNumber,
  type JsonObject,
  type JsonValue,
  jsonEqual,
  ownValue,
  printJson,
} from "@purlin/kube-objects/json";
import {
  type KubeObject,
  keyOf,
  memberAt,
  objectAt,
  objectsAt,
  type TypeRef,
  textAt,
} from "@purlin/kube-objects/object";
import { kindIdentity } from "../overlay/live-reads.ts";
import type { Pass } from "../settle/run-pass.ts";
import type { DefinitionFinding } from "./plan.ts";

/** What changed definitions mean for the objects of their kinds. */
export async function definitionFindings(pass: Pass): Promise<readonly DefinitionFinding[]> {
  const findings: DefinitionFinding[] = [];
  for (const { before, now } of pass.overlay.entries.values()) {
    if (before === undefined || kindIdentity(before) !== kindIdentity(compositionKinds.definition)) continue;
    if (now !== undefined) findings.push(...(await findingsOf(pass, before, now)));
  }
  return findings;
}

async function findingsOf(pass: Pass, before: KubeObject, now: KubeObject): Promise<readonly DefinitionFinding[]> {
  const { name: definition, compositeType, claimType } = definitionFacts(before);
  const objects: KubeObject[] = [];
  for (const type of [compositeType, claimType])
    if (type !== undefined) objects.push(...(await pass.overlay.live.list(type)));
  const invalid = await refusedBy(pass, objects);
  const ofSchemas = versionsOf(before).flatMap((version) => {
    const next = versionsOf(now).find(({ name }) => name === version.name);
    if (next === undefined) return [];
    return compareSchemas(version.schema, next.schema).map((finding) => ({
      definition,
      path: `${version.name}: ${finding.path}`,
      level: finding.level,
      text: finding.text,
      objects: concerned(finding, objects, invalid).sort(),
    }));
  });
  // A field that is added concerns nothing.
  const serious = ofSchemas.filter(({ level, objects: found }) => level !== "safe" || found.length > 0);
  return [...versionFindings(before, now, objects), ...serious];
}

/** A change of a definition that may break objects of its kind. */
interface DefinitionChange {
  /** In the new definition; `items` and `additionalProperties` are part of it. */
  readonly path: readonly (string | number)[];
  readonly level: DefinitionFinding["level"];
  readonly text: string;
}

/** What a new version of a definition changes for all objects of its kind, whatever they contain. */
export function compareDefinitions(before: KubeObject, now: KubeObject): readonly DefinitionChange[] {
  const ofVersions = versionFindings(before, now, []).map(({ path, level, text }) => ({
    path: path.startsWith("spec.versions") ? ["spec", "versions"] : path.split("."),
    level,
    text: path.startsWith("spec.versions") ? `${path}: ${text}` : text,
  }));
  const ofSchemas = versionsOf(now).flatMap((version, index) => {
    const old = versionsOf(before).find(({ name }) => name === version.name);
    if (old === undefined) return [];
    return compareSchemas(old.schema, version.schema)
      .filter(({ level }) => level !== "safe")
      .map(({ level, text, at, path }) => ({
        path: ["spec", "versions", index, "schema", "openAPIV3Schema", ...at],
        level,
        text: `${version.name}: ${path}: ${text}`,
      }));
  });
  return [...ofVersions, ...ofSchemas];
}

interface Version {
  readonly name: string;
  readonly schema: JsonObject;
  readonly isServed: boolean;
}

function versionsOf(xrd: KubeObject): readonly Version[] {
  return objectsAt(xrd, ["spec", "versions"]).map((version) => ({
    name: textAt(version, ["name"]) ?? "",
    schema: objectAt(version, ["schema", "openAPIV3Schema"]),
    isServed: version["served"] === true,
  }));
}

function versionFindings(
  before: KubeObject,
  now: KubeObject,
  objects: readonly KubeObject[],
): readonly DefinitionFinding[] {
  const definition = before.metadata.name ?? "";
  const names = objects.map(nameOf).sort();
  const breaking = (path: string, text: string): DefinitionFinding => ({
    definition,
    path,
    level: "breaking",
    text,
    objects: names,
  });
  const findings: DefinitionFinding[] = [];
  for (const { name, isServed } of versionsOf(before)) {
    const next = versionsOf(now).find((one) => one.name === name);
    if (isServed && next?.isServed !== true)
      findings.push(
        breaking(
          `spec.versions[${name}]`,
          next === undefined ? "the version is removed" : "the version is no longer served",
        ),
      );
  }
  const [was, is] = [textAt(before, ["spec", "scope"]), textAt(now, ["spec", "scope"])];
  if (was !== is)
    findings.push(
      breaking("spec.scope", `the scope changes from ${was ?? "LegacyCluster"} to ${is ?? "LegacyCluster"}`),
    );
  const claims = (xrd: KubeObject): JsonValue | undefined => memberAt(xrd, ["spec", "claimNames"]);
  if (claims(before) !== undefined && claims(now) === undefined)
    findings.push(
      breaking("spec.claimNames", "claims are no longer offered: existing ones are kept and not reconciled"),
    );
  return findings;
}

/** Objects that the new schema would refuse if they were created now, with the reason. */
async function refusedBy({ overlay }: Pass, objects: readonly KubeObject[]): Promise<ReadonlyMap<KubeObject, string>> {
  const refused = new Map<KubeObject, string>();
  for (const object of objects) {
    const type: TypeRef = { apiVersion: object.apiVersion, kind: object.kind };
    if (!(await overlay.local.serves(type))) continue;
    const { resourceVersion: _version, uid: _uid, managedFields: _managers, ...metadata } = object.metadata;
    const bare = { ...object, metadata } as KubeObject;
    await overlay.local
      .write(bare, undefined, (client) => client.create(bare, { dryRun: true, fieldValidation: "Ignore" }))
      .catch((error: unknown) => refused.set(object, textOf(error)));
  }
  return refused;
}

function concerned(
  { concerns, fields }: SchemaFinding,
  objects: readonly KubeObject[],
  invalid: ReadonlyMap<KubeObject, string>,
): string[] {
  const path = fields.filter((name) => name !== "*").join(".");
  const isConcerned = (object: KubeObject): boolean => {
    if (concerns === "none") return false;
    if (concerns === "invalid") return invalid.get(object)?.includes(path) ?? false;
    return concerns === "present" ? isPresent(object, fields) : isLacking(object, fields);
  };
  return objects.filter(isConcerned).map(nameOf);
}

/** Whether an object has a value at a path; `*` passes any item of a list or map. */
function isPresent(value: JsonValue | undefined, [name, ...rest]: readonly string[]): boolean {
  if (value === undefined || value === null) return false;
  if (name === undefined) return true;
  if (name !== "*") return isJsonObject(value) && isPresent(ownValue(value, name), rest);
  return itemsOf(value).some((item) => isPresent(item, rest));
}

/** Whether the last field of a path is missing in an object that has the fields above; of a list or map, in any item. */
function isLacking(value: JsonValue | undefined, [name, ...rest]: readonly string[]): boolean {
  if (name === "*") return itemsOf(value).some((item) => isLacking(item, rest));
  if (name === undefined || !isJsonObject(value)) return false;
  const member = ownValue(value, name);
  return rest.length === 0 ? (member ?? null) === null : isLacking(member, rest);
}

function itemsOf(value: JsonValue | undefined): readonly (JsonValue | undefined)[] {
  return Array.isArray(value) ? value : isJsonObject(value) ? Object.values(value) : [];
}

function nameOf(object: KubeObject): string {
  const { namespace, name } = keyOf(object);
  return `${object.kind} ${namespace ? `${namespace}/` : ""}${name}`;
}

/** A change of a schema that may concern stored objects. */
interface SchemaFinding extends Pick<DefinitionFinding, "path" | "level" | "text"> {
  /** Which objects it concerns: those with a value at the path, those without one, or those that the new schema refuses. */
  readonly concerns: "present" | "absent" | "invalid" | "none";
  /** The path in objects; a list or a map is passed by `*`. */
  readonly fields: readonly string[];
  /** The path in the schema. */
  readonly at: readonly string[];
}

/** Where two schemas are compared: the path in objects, and the one in the schema. */
type Place = Pick<SchemaFinding, "fields" | "at">;

interface Pair extends Place {
  readonly before: JsonObject;
  readonly after: JsonObject;
}

/** What changed between two versions of a schema, by path. */
function compareSchemas(before: JsonObject, after: JsonObject): readonly SchemaFinding[] {
  const findings: SchemaFinding[] = [];
  compareAt({ before, after, fields: [], at: [] }, findings);
  return findings;
}

function compareAt(pair: Pair, findings: SchemaFinding[]): void {
  const { before, after, fields, at } = pair;
  const [was, is] = [typeOf(before), typeOf(after)];
  if (was !== is) {
    findings.push(finding(pair, { level: "breaking", text: `type changes from ${was} to ${is}`, concerns: "present" }));
    return;
  }
  findings.push(...narrowed(pair), ...defaults(pair), ...required(pair));
  compareProperties(pair, findings);
  for (const name of ["items", "additionalProperties"]) {
    const [old, next] = [ownValue(before, name), ownValue(after, name)];
    if (isJsonObject(old) && isJsonObject(next))
      compareAt({ before: old, after: next, fields: [...fields, "*"], at: [...at, name] }, findings);
  }
}

function compareProperties({ before, after, ...place }: Pair, findings: SchemaFinding[]): void {
  const [old, next] = [propertiesOf(before), propertiesOf(after)];
  const keeps = after["x-kubernetes-preserve-unknown-fields"] === true;
  for (const [name, schema] of Object.entries(old)) {
    const now = ownValue(next, name);
    if (isJsonObject(schema) && isJsonObject(now))
      compareAt({ before: schema, after: now, ...below(place, name) }, findings);
    else if (now === undefined && !keeps) {
      findings.push(
        finding(below(place, name), {
          level: "breaking",
          text: "the field is removed: its data is lost at the next write",
          concerns: "present",
        }),
      );
    }
  }
  for (const name of Object.keys(next)) {
    if (!Object.hasOwn(old, name))
      findings.push(finding(below(place, name), { level: "safe", text: "the field is new", concerns: "none" }));
  }
}

function below({ fields, at }: Place, name: string): Place {
  return { fields: [...fields, name], at: [...at, "properties", name] };
}

function finding({ fields, at }: Place, more: Pick<SchemaFinding, "level" | "text" | "concerns">): SchemaFinding {
  return { path: fields.join(".").replaceAll(".*", "[*]"), fields, at, ...more };
}

/** Limits that refuse values which were allowed. */
function narrowed({ before, after, ...place }: Pair): SchemaFinding[] {
  const texts: string[] = [];
  const [old, next] = [valuesOf(before["enum"]), valuesOf(after["enum"])];
  const gone = old?.filter((value) => next !== undefined && !next.some((one) => jsonEqual(one, value))) ?? [];
  if (gone.length > 0) texts.push(`the enum loses ${gone.map((value) => printJson(value)).join(", ")}`);
  if (old === undefined && next !== undefined) texts.push("an enum is new");
  for (const [name, isNarrower] of Object.entries(limits)) {
    const [was, is] = [before[name], after[name]];
    if (is !== undefined && !jsonEqual(was ?? null, is) && isNarrower(was, is))
      texts.push(`${name} becomes ${printJson(is)}${was === undefined ? "" : ` from ${printJson(was)}`}`);
  }
  for (const [name, limit, isNarrower] of exclusions) {
    const [was, is] = [before[limit], after[limit]];
    // A limit that becomes wider leaves room for the exclusion of its own value.
    const isKept = is !== undefined && (jsonEqual(was ?? null, is) || isNarrower(was, is));
    if (before[name] !== true && after[name] === true && isKept) texts.push(`${name} becomes true`);
  }
  // The default of a field that is not nullable replaces null.
  if (before["nullable"] === true && after["nullable"] !== true && after["default"] === undefined)
    texts.push("null is no longer allowed");
  return texts.map((text) => finding(place, { level: "breaking", text, concerns: "invalid" }));
}

type IsNarrower = (was: JsonValue | undefined, is: JsonValue) => boolean;

const isMore: IsNarrower = (was, is) => was === undefined || (isNumber(was) && isNumber(is) && is > was);
const isLess: IsNarrower = (was, is) => was === undefined || (isNumber(was) && isNumber(is) && is < was);
const isNotDivisor: IsNarrower = (was, is) => {
  if (!isNumber(was) || !isNumber(is)) return was === undefined;
  if (typeof was === "bigint" && typeof is === "bigint" && is !== 0n) return was % is !== 0n;
  const ratio = Number(was) / Number(is);
  return !(Math.abs(ratio - Math.round(ratio)) < 1e-9);
};
const exclusions: readonly (readonly [name: string, limit: string, isNarrower: IsNarrower])[] = [
  ["exclusiveMinimum", "minimum", isMore],
  ["exclusiveMaximum", "maximum", isLess],
];
const limits: Readonly<Record<string, IsNarrower>> = {
  minimum: isMore,
  minLength: isMore,
  minItems: isMore,
  minProperties: isMore,
  maximum: isLess,
  maxLength: isLess,
  maxItems: isLess,
  maxProperties: isLess,
  multipleOf: isNotDivisor,
  pattern: () => true,
  format: () => true,
  "x-kubernetes-validations": () => true,
};

function defaults({ before, after, ...place }: Pair): SchemaFinding[] {
  const [was, is] = [before["default"], after["default"]];
  if (jsonEqual(was ?? null, is ?? null)) return [];
  const text =
    is === undefined
      ? `the default ${printJson(was ?? null)} is removed`
      : `the default becomes ${printJson(is)}${was === undefined ? "" : ` from ${printJson(was)}`}: it acts on stored objects at once`;
  return [finding(place, { level: "risky", text, concerns: "absent" })];
}

function required({ before, after, ...place }: Pair): SchemaFinding[] {
  const [was, is] = [valuesOf(before["required"]) ?? [], valuesOf(after["required"]) ?? []];
  const added = is
    .map(String)
    .filter((name) => !was.includes(name) && ownValue(schemaAt(after, name), "default") === undefined);
  return added.map((name) =>
    finding(below(place, name), {
      level: "breaking",
      text: "the field becomes required and has no default",
      concerns: "absent",
    }),
  );
}

function schemaAt(schema: JsonObject, name: string): JsonObject {
  const found = ownValue(propertiesOf(schema), name);
  return isJsonObject(found) ? found : {};
}

function propertiesOf(schema: JsonObject): JsonObject {
  const properties = ownValue(schema, "properties");
  return isJsonObject(properties) ? properties : {};
}

function typeOf(schema: JsonObject): string {
  if (schema["x-kubernetes-int-or-string"] === true) return "int-or-string";
  return typeof schema["type"] === "string" ? schema["type"] : "any";
}

function valuesOf(value: JsonValue | undefined): readonly JsonValue[] | undefined {
  return Array.isArray(value) ? value : undefined;
}
