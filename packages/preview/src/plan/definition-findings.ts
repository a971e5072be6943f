// SPDX-License-Identifier: Apache-2.0
import { compositionKinds, definitionFacts } from "@purlin/composition";
import { textOf } from "@purlin/kube-objects/errors";
import { isJsonObject, type JsonObject, type JsonValue, ownValue } from "@purlin/kube-objects/json";
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
import { compareSchemas, type SchemaFinding } from "./schema-findings.ts";

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
      .map(({ level, text, fields, path }) => ({
        path: ["spec", "versions", index, "schema", "openAPIV3Schema", ...schemaPath(fields)],
        level,
        text: `${version.name}: ${path}: ${text}`,
      }));
  });
  return [...ofVersions, ...ofSchemas];
}

function schemaPath(fields: readonly string[]): readonly string[] {
  return fields.flatMap((name) => (name === "*" ? ["items"] : ["properties", name]));
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
    return (
      isPresent(object, fields) === (concerns === "present") &&
      (concerns === "present" || isPresent(object, fields.slice(0, -1)))
    );
  };
  return objects.filter(isConcerned).map(nameOf);
}

/** Whether an object has a value at a path; `*` passes any item of a list or map. */
function isPresent(value: JsonValue | undefined, [name, ...rest]: readonly string[]): boolean {
  if (value === undefined || value === null) return false;
  if (name === undefined) return true;
  if (name !== "*") return isJsonObject(value) && isPresent(ownValue(value, name), rest);
  const items = Array.isArray(value) ? value : isJsonObject(value) ? Object.values(value) : [];
  return items.some((item) => isPresent(item, rest));
}

function nameOf(object: KubeObject): string {
  const { namespace, name } = keyOf(object);
  return `${object.kind} ${namespace ? `${namespace}/` : ""}${name}`;
}
