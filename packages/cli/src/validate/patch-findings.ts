// SPDX-License-Identifier: Apache-2.0
import { isJsonArray, isJsonObject, type JsonObject, type JsonValue } from "@purlin/kube-objects/json";
import type { KubeObject, TypeRef } from "@purlin/kube-objects/object";
import type { Schema } from "@purlin/kube-objects/schema";
import { type PathSegment, parseFieldPath } from "../files/yaml-position.ts";
import type { Finding } from "./finding.ts";
import { type Found, lookUp } from "./kind-schemas.ts";
import { baseFindings, ownOf, type PatchedField, shapeProblems, transformedType } from "./patch-checks.ts";
import { type Bag, compositeType, type Step } from "./pipeline-step.ts";

/** Which object a path of a patch belongs to. */
type Side = "composite" | "composed" | "environment";

/** Where the types of patches read and write. */
const directions: Readonly<Record<string, readonly [Side, Side]>> = {
  FromCompositeFieldPath: ["composite", "composed"],
  CombineFromComposite: ["composite", "composed"],
  ToCompositeFieldPath: ["composed", "composite"],
  CombineToComposite: ["composed", "composite"],
  FromEnvironmentFieldPath: ["environment", "composed"],
  CombineFromEnvironment: ["environment", "composed"],
  ToEnvironmentFieldPath: ["composed", "environment"],
  CombineToEnvironment: ["composed", "environment"],
};

/** A patch in its place. */
interface Placed {
  readonly patch: JsonObject;
  readonly path: readonly PathSegment[];
}

/** The schemas of both sides; undefined where unknown. */
type Sides = Readonly<Partial<Record<Side, { readonly name: string; readonly schema: Schema }>>>;

/** What is wrong with the input of function-patch-and-transform, beyond its own schema. */
export async function patchFindings(step: Step, bag: Bag): Promise<Finding[]> {
  const { input = {}, path } = step;
  const sets = patchSets(step);
  const report = (at: readonly PathSegment[], text: string): Finding => ({
    code: "V10",
    level: "error",
    type: "patch",
    manifest: step.manifest,
    path: at,
    text: `step "${step.name}": ${text}`,
  });
  const check = new PatchCheck(report, sets);
  const findings = [...sets.values()].flatMap((placed) => placed.flatMap((one) => check.shape(one, { isInSet: true })));
  const composite = sideOf(compositeType(step.manifest), bag);
  for (const [index, resource] of listOf(input["resources"]).entries()) {
    const at = [...path, "input", "resources", index];
    const base = isJsonObject(resource["base"]) ? resource["base"] : undefined;
    const composed = base === undefined ? undefined : sideOf(base as KubeObject, bag);
    const sides: Sides = { ...(composite && { composite }), ...(composed && { composed }) };
    const patches = listOf(resource["patches"]).map((patch, number) => ({ patch, path: [...at, "patches", number] }));
    findings.push(...patches.flatMap((one) => check.shape(one)));
    const flat = patches.flatMap((one) => check.flat(one));
    findings.push(...flat.flatMap((one) => check.paths(one, sides)), ...readinessFindings(resource, at, report));
    if (base !== undefined && composed !== undefined) {
      const fields = flat.flatMap((one) => patchedField(one, composite?.schema));
      findings.push(...(await baseFindings({ step, path: [...at, "base"], base, fields }, bag)));
    }
  }
  return findings;
}

function sideOf(type: TypeRef, { scratch }: Bag): { readonly name: string; readonly schema: Schema } | undefined {
  const schema =
    typeof type.apiVersion === "string" && typeof type.kind === "string" ? scratch.schemas.of(type) : undefined;
  return schema && { name: type.kind, schema };
}

/** The patches of patch sets by the name of the set. */
function patchSets({ input = {}, path }: Step): ReadonlyMap<string, readonly Placed[]> {
  return new Map(
    listOf(input["patchSets"]).map((set, index) => [
      String(set["name"]),
      listOf(set["patches"]).map((patch, number) => ({
        patch,
        path: [...path, "input", "patchSets", index, "patches", number],
      })),
    ]),
  );
}

const listOf = (value: JsonValue | undefined): JsonObject[] => (isJsonArray(value) ? value.filter(isJsonObject) : []);

type Report = (path: readonly PathSegment[], text: string) => Finding;

/** Checks of patches. */
class PatchCheck {
  readonly #report: Report;
  readonly #sets: ReadonlyMap<string, readonly Placed[]>;
  /** A patch of a set is used by many resources, and is reported once. */
  readonly #seen = new Set<string>();

  constructor(report: Report, sets: ReadonlyMap<string, readonly Placed[]>) {
    this.#report = report;
    this.#sets = sets;
  }

  /** The fields that a patch must and must not have. */
  shape({ patch, path }: Placed, { isInSet = false } = {}): Finding[] {
    const problems = shapeProblems(patch).map(({ path: at, text }) => this.#report([...path, ...at], text));
    if (typeOf(patch) !== "PatchSet") return problems;
    if (isInSet) return [this.#report([...path, "type"], "a patch set cannot refer to another patch set")];
    const name = patch["patchSetName"];
    if (typeof name !== "string" || this.#sets.has(name)) return problems;
    const known = [...this.#sets.keys()].join(", ") || "none";
    return [...problems, this.#report([...path, "patchSetName"], `no patch set "${name}"; defined: ${known}`)];
  }

  /** A patch, or those of the set it refers to. */
  flat(placed: Placed): readonly Placed[] {
    if (typeOf(placed.patch) !== "PatchSet") return [placed];
    return (this.#sets.get(String(placed.patch["patchSetName"])) ?? []).filter(
      ({ patch }) => typeOf(patch) !== "PatchSet",
    );
  }

  /** Whether both ends of a patch exist, and have the same type after its transforms. */
  paths({ patch, path }: Placed, sides: Sides): Finding[] {
    const direction = ownOf(directions, typeOf(patch));
    if (direction === undefined) return [];
    const [source, target] = direction.map((side) => sides[side]);
    const from = sourcesOf(patch).map(({ field, at }) => ({ at: [...path, ...at], field, side: source }));
    const to = {
      field: targetOf(patch),
      at: [...path, typeof patch["toFieldPath"] === "string" ? "toFieldPath" : "fromFieldPath"],
      side: target,
    };
    const unknown = [...from, to].flatMap(({ at, field, side }) => this.#unknown(at, field, side));
    if (unknown.length > 0) return unknown;
    return this.#mismatch(patch, { from: from[0], to, path });
  }

  #unknown(at: readonly PathSegment[], field: string | undefined, side: Sides[Side]): Finding[] {
    if (field === undefined || side === undefined) return [];
    const found = lookUp(side.schema, parseFieldPath(field));
    if (found.isKnown) return [];
    const advice = found.closest === undefined ? "" : `: did you mean ${found.closest}?`;
    return this.#once(at, `${field}: ${side.name} has no field ${String(found.name)}${advice}`);
  }

  #mismatch(patch: JsonObject, { from, to, path }: Ends): Finding[] {
    const source = typeAt(from);
    const target = typeAt(to);
    const type = transformedType(patch, source);
    if (type === undefined || target === undefined || fits(type, target)) return [];
    const text = `${from?.field ?? "the value"} is ${article(type)} here, and ${to.field ?? ""} of ${to.side?.name ?? ""} is ${article(target)}: add a transform of type convert`;
    return this.#once([...path, "transforms"], text);
  }

  #once(path: readonly PathSegment[], text: string): Finding[] {
    const key = JSON.stringify([path, text]);
    if (this.#seen.has(key)) return [];
    this.#seen.add(key);
    return [this.#report(path, text)];
  }
}

interface End {
  readonly field: string | undefined;
  readonly at: readonly PathSegment[];
  readonly side: Sides[Side];
}

interface Ends {
  readonly from: End | undefined;
  readonly to: End;
  readonly path: readonly PathSegment[];
}

const typeOf = (patch: JsonObject): string => String(patch["type"] ?? "FromCompositeFieldPath");
const article = (type: string): string => (/^[aeiou]/.test(type) ? `an ${type}` : `a ${type}`);
const fits = (type: string, target: string): boolean => type === target || (type === "integer" && target === "number");

function sourcesOf(patch: JsonObject): { readonly field: string; readonly at: readonly PathSegment[] }[] {
  const { fromFieldPath, combine } = patch;
  if (typeof fromFieldPath === "string") return [{ field: fromFieldPath, at: ["fromFieldPath"] }];
  const variables = isJsonObject(combine) ? listOf(combine["variables"]) : [];
  return variables.flatMap(({ fromFieldPath: field }, index) =>
    typeof field === "string" ? [{ field, at: ["combine", "variables", index, "fromFieldPath"] }] : [],
  );
}

function targetOf({ toFieldPath, fromFieldPath }: JsonObject): string | undefined {
  if (typeof toFieldPath === "string") return toFieldPath;
  return typeof fromFieldPath === "string" ? fromFieldPath : undefined;
}

/** The type of a field; undefined where any will do. */
function typeAt(end: End | undefined): string | undefined {
  if (end?.field === undefined || end.side === undefined) return undefined;
  const found: Found = lookUp(end.side.schema, parseFieldPath(end.field));
  const schema = found.isKnown ? found.schema : undefined;
  const isEither = schema?.["x-kubernetes-int-or-string"] === true || schema?.format === "int-or-string";
  return isEither ? undefined : schema?.type;
}

/** What a patch writes to a composed resource, and whether it always does. */
function patchedField({ patch }: Placed, composite: Schema | undefined): PatchedField[] {
  const [source, target] = ownOf(directions, typeOf(patch)) ?? [];
  const field = targetOf(patch);
  if (target !== "composed" || field === undefined) return [];
  const policy = isJsonObject(patch["policy"]) ? patch["policy"]["fromFieldPath"] : undefined;
  const isFilled = (from: string): boolean => source === "composite" && isAlwaysSet(composite, parseFieldPath(from));
  const isSure = policy === "Required" || sourcesOf(patch).every((one) => isFilled(one.field));
  return [{ path: parseFieldPath(field), isSure }];
}

/** Whether every valid composite resource has a field: each part of its path is required or has a default. */
function isAlwaysSet(composite: Schema | undefined, path: readonly PathSegment[]): boolean {
  if (composite === undefined || path[0] === "metadata") return true;
  let schema: Schema | undefined = composite;
  for (const [depth, segment] of path.entries()) {
    if (schema === undefined || typeof segment !== "string") return false;
    const child: Schema | undefined = schema.properties?.[segment];
    const isSet = child?.default !== undefined || schema.required?.includes(segment) === true;
    if (depth > 0 && !isSet) return false;
    schema = child;
  }
  return true;
}

const fieldChecks = new Set(["NonEmpty", "MatchString", "MatchInteger", "MatchTrue", "MatchFalse"]);
const needed: Readonly<Record<string, string>> = {
  MatchString: "matchString",
  MatchInteger: "matchInteger",
  MatchCondition: "matchCondition",
};

function readinessFindings(resource: JsonObject, at: readonly PathSegment[], report: Report): Finding[] {
  return listOf(resource["readinessChecks"]).flatMap((check, index) => {
    const path = [...at, "readinessChecks", index];
    const type = String(check["type"]);
    const missing = [
      ...(fieldChecks.has(type) ? ["fieldPath"] : []),
      ...[ownOf(needed, type)].filter((name) => name !== undefined),
    ];
    return missing
      .filter((name) => check[name] === undefined)
      .map((name) => report(path, `readiness check ${type} needs ${name}`));
  });
}
