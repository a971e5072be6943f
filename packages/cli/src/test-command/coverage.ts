// SPDX-License-Identifier: Apache-2.0
// What the cases of a run cover of Compositions and of definitions.
import type { RunFunctionRequest, RunFunctionResponse } from "@purlin/function-protocol";
import { isJsonArray, isJsonObject, type JsonObject, type JsonValue, printJson } from "@purlin/kube-objects/json";
import { type KubeObject, memberAt, objectAt, objectsAt, parseApiVersion, textAt } from "@purlin/kube-objects/object";
import { type PathSegment, parseFieldPath } from "../files/yaml-position.ts";
import { isPatchInput } from "../validate/pipeline-step.ts";

/** What can be covered. */
type CoverageKind = "steps" | "resources" | "patches" | "fields" | "enumValues";

const kinds: readonly CoverageKind[] = ["steps", "resources", "patches", "fields", "enumValues"];
const words: Readonly<Record<CoverageKind, string>> = {
  steps: "steps",
  resources: "resources",
  patches: "patches",
  fields: "fields",
  enumValues: "enum values",
};

/** Of one Composition or one composite resource: what there is, and whether a case covers it. */
type Owner = Readonly<Record<CoverageKind, Map<string, boolean>>>;

/** One thing of a report: how many of it there are, and which of them no case covers. */
interface CoveredCount {
  readonly covered: number;
  readonly total: number;
  readonly missing: readonly string[];
}

/** What cases cover, for `--reporter json`. */
export interface CoverageReport {
  readonly percent: number;
  readonly covered: number;
  readonly total: number;
  readonly owners: readonly (Readonly<Partial<Record<CoverageKind, CoveredCount>>> & { readonly name: string })[];
  /** Conditions that functions returned, as `Type=Status Reason`. */
  readonly conditions: readonly string[];
}

interface StepRun {
  readonly response: RunFunctionResponse;
  /** The composite resource, claim or Operation of the case. */
  readonly root: KubeObject;
}

/** Counts what cases cover. */
export class Coverage {
  readonly #owners = new Map<string, Owner>();
  /** The composite resources of claims. */
  readonly #claims = new Map<string, string>();
  /** Patches by `COMPOSITION STEP`, then by how they are printed. */
  readonly #patches = new Map<string, ReadonlyMap<string, PatchSource>>();
  readonly #seen = new Set<string>();
  readonly #conditions = new Set<string>();

  /** Adds what the pipelines of Compositions and Operations, and the definitions of a case, could cover. */
  expect(pipelines: readonly KubeObject[], definitions: readonly KubeObject[]): void {
    for (const pipeline of pipelines) this.#pipeline(pipeline);
    for (const definition of definitions) this.#definition(definition);
  }

  /** Fields and enum values that a composite resource or claim sets. */
  composite(object: KubeObject): void {
    const type = `${object.kind}.${parseApiVersion(object.apiVersion).group}`;
    const owner = this.#owners.get(this.#claims.get(type) ?? type);
    if (owner === undefined) return;
    for (const [name, values] of leaves(memberAt(object, ["spec"]) ?? {}, "spec")) {
      mark(owner.fields, name);
      for (const value of values) mark(owner.enumValues, `${name}=${String(value)}`);
    }
  }

  /** A step that ran: its request as it was last sent, the response, and the root of the case. */
  step(name: string, request: RunFunctionRequest, { response, root }: StepRun): void {
    const xr = request.observed?.composite?.resource?.value as KubeObject | undefined;
    const composition =
      xr &&
      (textAt(xr, ["spec", "crossplane", "compositionRef", "name"]) ?? textAt(xr, ["spec", "compositionRef", "name"]));
    const owner = this.#owners.get(`Composition ${composition ?? ""}`);
    for (const { type, status, reason } of response.conditions) {
      this.#conditions.add(`${type}=${statusWords[status] ?? "Unknown"} ${reason}`);
    }
    if (xr === undefined) {
      const steps = this.#owners.get(`${root.kind} ${root.metadata.name ?? ""}`)?.steps;
      if (steps !== undefined) mark(steps, name);
    }
    if (xr === undefined || owner === undefined) return;
    mark(owner.steps, name);
    for (const resource of response.desired?.resources.keys() ?? []) mark(owner.resources, resource);
    const environment = memberAt(request.context?.value ?? {}, [environmentKey]);
    for (const [text, patch] of this.#patches.get(`${composition ?? ""} ${name}`) ?? []) {
      const observed = request.observed?.resources.get(patch.resource)?.resource?.value as JsonObject | undefined;
      const from = { composite: xr as JsonObject, composed: observed, environment }[patch.side];
      if (patch.paths.every((path) => hasPath(from, path))) mark(owner.patches, text);
    }
  }

  report(): CoverageReport {
    const owners = [...this.#owners].map(([name, owner]) => {
      const counts = kinds.filter((kind) => owner[kind].size > 0).map((kind) => [kind, countOf(owner[kind])] as const);
      return { name, ...(Object.fromEntries(counts) as Partial<Record<CoverageKind, CoveredCount>>) };
    });
    const all = [...this.#owners.values()].flatMap((owner) => kinds.flatMap((kind) => [...owner[kind].values()]));
    const covered = all.filter(Boolean).length;
    const percent = all.length === 0 ? 100 : Math.floor((1000 * covered) / all.length) / 10;
    return { percent, covered, total: all.length, owners, conditions: [...this.#conditions].toSorted() };
  }

  #pipeline(pipeline: KubeObject): void {
    const { name = "" } = pipeline.metadata;
    const text = printJson(pipeline);
    if (this.#seen.has(text)) return;
    this.#seen.add(text);
    const owner = this.#owner(`${pipeline.kind} ${name}`);
    for (const step of objectsAt(pipeline, ["spec", "pipeline"])) {
      const stepName = String(step["step"]);
      add(owner.steps, stepName);
      const input = isJsonObject(step["input"]) ? step["input"] : undefined;
      if (!isPatchInput(input)) continue;
      for (const resource of objectsAt(input, ["resources"])) add(owner.resources, String(resource["name"]));
      const patches = patchSources(input);
      this.#patches.set(`${name} ${stepName}`, patches);
      for (const patch of patches.keys()) add(owner.patches, patch);
    }
  }

  #definition(definition: KubeObject): void {
    const group = textAt(definition, ["spec", "group"]) ?? "";
    const [kind, claim] = ["names", "claimNames"].map((names) => textAt(definition, ["spec", names, "kind"]));
    const name = `${kind ?? ""}.${group}`;
    // A claim sets the fields of its composite resource.
    if (claim !== undefined) this.#claims.set(`${claim}.${group}`, name);
    const owner = this.#owner(name);
    for (const version of objectsAt(definition, ["spec", "versions"])) {
      addLeaves(owner, objectAt(version, ["schema", "openAPIV3Schema", "properties", "spec"]), "spec");
    }
  }

  #owner(name: string): Owner {
    const known = this.#owners.get(name);
    if (known !== undefined) return known;
    const made: Owner = {
      steps: new Map(),
      resources: new Map(),
      patches: new Map(),
      fields: new Map(),
      enumValues: new Map(),
    };
    this.#owners.set(name, made);
    return made;
  }
}

const environmentKey = "apiextensions.crossplane.io/environment";
const statusWords: Readonly<Record<number, string>> = { 2: "True", 3: "False" };

function add(covered: Map<string, boolean>, name: string): void {
  if (!covered.has(name)) covered.set(name, false);
}

/** What the Composition does not name, such as a resource of a template, is not counted. */
function mark(covered: Map<string, boolean>, name: string): void {
  if (covered.has(name)) covered.set(name, true);
}

function countOf(covered: ReadonlyMap<string, boolean>): CoveredCount {
  const missing = [...covered].filter(([, isCovered]) => !isCovered).map(([name]) => name);
  return { covered: covered.size - missing.length, total: covered.size, missing };
}

/** The fields of a schema that have no fields of their own, and the values of enums. */
function addLeaves(owner: Owner, schema: JsonObject, path: string): void {
  const { properties, items, enum: values } = schema;
  if (isJsonObject(properties)) {
    for (const [name, inner] of Object.entries(properties)) {
      if (isJsonObject(inner) && `${path}.${name}` !== "spec.crossplane") addLeaves(owner, inner, `${path}.${name}`);
    }
    return;
  }
  if (isJsonObject(items)) {
    addLeaves(owner, items, `${path}[]`);
    return;
  }
  if (path === "spec") return;
  add(owner.fields, path);
  for (const value of isJsonArray(values) ? values : []) add(owner.enumValues, `${path}=${String(value)}`);
}

/** The paths that lead to values, also those of objects on the way, with the values that are not objects. */
function* leaves(value: JsonValue, path: string): Iterable<readonly [string, readonly JsonValue[]]> {
  if (isJsonArray(value)) {
    for (const one of value) yield* leaves(one, `${path}[]`);
    return;
  }
  yield [path, isJsonObject(value) ? [] : [value]];
  if (!isJsonObject(value)) return;
  for (const [name, inner] of Object.entries(value)) yield* leaves(inner, `${path}.${name}`);
}

/** Where a patch reads. */
interface PatchSource {
  readonly resource: string;
  readonly side: "composite" | "composed" | "environment";
  readonly paths: readonly (readonly PathSegment[])[];
}

/** The patches of an input, those of patch sets with each resource that uses them, by how they are printed. */
function patchSources(input: JsonObject): Map<string, PatchSource> {
  const sets = new Map(
    objectsAt(input, ["patchSets"]).map((set) => [String(set["name"]), objectsAt(set, ["patches"])]),
  );
  const found = new Map<string, PatchSource>();
  for (const resource of objectsAt(input, ["resources"])) {
    const name = String(resource["name"]);
    const own = objectsAt(resource, ["patches"]);
    const flat = own.flatMap((patch) =>
      patch["type"] === "PatchSet" ? (sets.get(String(patch["patchSetName"])) ?? []) : [patch],
    );
    for (const patch of flat) {
      const type = String(patch["type"] ?? "FromCompositeFieldPath");
      const variables = objectsAt(patch, ["combine", "variables"]).map((one) => String(one["fromFieldPath"]));
      const from = variables.length > 0 ? variables : [String(patch["fromFieldPath"] ?? "")];
      const to = String(patch["toFieldPath"] ?? from[0]);
      const side = /To(Composite|Environment)/.test(type)
        ? "composed"
        : /Environment/.test(type)
          ? "environment"
          : "composite";
      const text = `${name}: ${from.join(", ")} -> ${to}`;
      // Two patches may be between the same fields, one in each direction.
      const isTaken = found.has(text) && found.get(text)?.side !== side;
      found.set(isTaken ? `${text} (${type})` : text, { resource: name, side, paths: from.map(parseFieldPath) });
    }
  }
  return found;
}

function hasPath(value: JsonValue | undefined, path: readonly PathSegment[]): boolean {
  let current = value;
  for (const segment of path) {
    if (isJsonArray(current)) current = current[Number(segment)];
    else if (current !== undefined && isJsonObject(current)) current = current[String(segment)];
    else return false;
  }
  return current !== undefined;
}

const shownMissing = 10;

/** The report in words. */
export function coverageText({ percent, covered, total, owners, conditions }: CoverageReport): string {
  const lines = owners.flatMap(({ name, ...counts }) => {
    const found = kinds.flatMap((kind) => (counts[kind] === undefined ? [] : [[kind, counts[kind]] as const]));
    if (found.length === 0) return [];
    const parts = found.map(([kind, one]) => `${one.covered} of ${one.total} ${words[kind]}`);
    const missing = found
      .filter(([, one]) => one.missing.length > 0)
      .map(([kind, one]) => missingLine(kind, one.missing));
    return [`  ${name}: ${parts.join(", ")}`, ...missing];
  });
  const returned = conditions.length === 0 ? [] : [`  conditions of functions: ${conditions.join(", ")}`];
  return `${[`Coverage: ${percent} % (${covered} of ${total})`, ...lines, ...returned].join("\n")}\n`;
}

function missingLine(kind: CoverageKind, missing: readonly string[]): string {
  const more = missing.length > shownMissing ? `, and ${missing.length - shownMissing} more` : "";
  return `    ${words[kind]} without a case: ${missing.slice(0, shownMissing).join(", ")}${more}`;
}
