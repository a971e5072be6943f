// SPDX-License-Identifier: Apache-2.0

import { syntaxProblem } from "@purlin/cel";
import { isJsonArray, isJsonObject, type JsonValue } from "@purlin/kube-objects/json";
import { type KubeObject, memberAt, objectsAt, type TypeRef, textAt } from "@purlin/kube-objects/object";
import { closestName } from "@purlin/kube-objects/schema";
import type { PathSegment } from "../files/yaml-position.ts";
import { valueAt } from "../manifests/apply-problem.ts";
import type { Manifest } from "../manifests/manifest.ts";
import { isDefinition } from "../tree/defined-kinds.ts";
import type { Finding, Level } from "./finding.ts";
import { templateProblem } from "./go-template.ts";
import { objectFindings } from "./object-findings.ts";
import { inputKinds } from "./packages.ts";
import { patchFindings } from "./patch-findings.ts";
import {
  type Bag,
  compositeType,
  findingsBetween,
  inside,
  isPatchInput,
  outside,
  type Step,
  stepsOf,
} from "./pipeline-step.ts";
import { fieldOf } from "./report.ts";

/** What is wrong with Compositions beyond their own schema. */
export async function compositionFindings(bag: Bag): Promise<Finding[]> {
  const findings: Finding[] = [];
  const withoutSchema = new Set<string>();
  for (const manifest of bag.manifests.filter(({ object }) => isComposition(object))) {
    const steps = stepsOf(manifest);
    findings.push(...typeFindings(manifest, bag), ...pipelineFindings(steps));
    for (const step of steps) {
      findings.push(...functionFindings(step, bag), ...requirementFindings(step, bag));
      findings.push(...(await inputFindings(step, bag, withoutSchema)));
      if (isPatchInput(step.input)) findings.push(...(await patchFindings(step, bag)));
    }
  }
  return findings;
}

const isComposition = ({ apiVersion, kind }: TypeRef): boolean =>
  kind === "Composition" && apiVersion.startsWith("apiextensions.crossplane.io/");

function typeFindings(manifest: Manifest, bag: Bag): Finding[] {
  const { apiVersion, kind } = compositeType(manifest);
  const [group = "", version = ""] = apiVersion.split("/");
  const path = ["spec", "compositeTypeRef"];
  const report = (level: Level, field: string, text: string): Finding[] => [
    {
      code: "V06",
      level,
      type: "reference",
      manifest,
      path: [...path, field],
      text: `spec.compositeTypeRef.${field}: ${text}`,
    },
  ];
  if (apiVersion === "" || kind === "") return [];
  const definitions = definitionsOf(bag).filter((xrd) => textAt(xrd, ["spec", "group"]) === group);
  const definition = definitions.find((xrd) => textAt(xrd, ["spec", "names", "kind"]) === kind);
  if (definition === undefined) {
    const kinds = definitions.map((xrd) => textAt(xrd, ["spec", "names", "kind"]) ?? "");
    const closest = closestName(kind, kinds);
    if (closest !== undefined)
      return report("error", "kind", `no definition of ${kind} in ${group}: did you mean ${closest}?`);
    return report("warning", "kind", `no definition of ${kind} in ${group} among the objects`);
  }
  const versions = versionsOf(definition);
  const own = versions.find(({ name }) => name === version);
  const offered = versions.filter(({ referenceable }) => referenceable === true).map(({ name }) => name);
  if (own === undefined)
    return report(
      "error",
      "apiVersion",
      `${kind} has no version ${version}: it has ${versions.map(({ name }) => name).join(", ")}`,
    );
  if (own.referenceable === true) return [];
  return report(
    "error",
    "apiVersion",
    `version ${version} of ${kind} is not referenceable: use ${offered.join(" or ")}`,
  );
}

interface Version {
  readonly name: string;
  readonly referenceable?: unknown;
}

function versionsOf(definition: KubeObject): readonly Version[] {
  const versions = memberAt(definition, ["spec", "versions"]);
  if (!isJsonArray(versions)) return [];
  return versions.filter(isJsonObject).map(({ name, referenceable }) => ({ name: String(name), referenceable }));
}

function definitionsOf({ manifests, packages }: Bag): KubeObject[] {
  const all = [...manifests, ...packages.flatMap((one) => one.manifests)];
  return all.map(({ object }) => object).filter(isDefinition);
}

function functionFindings({ manifest, path, name, functionName }: Step, { manifests, packages }: Bag): Finding[] {
  const given = manifests.filter(
    ({ object }) => object.kind === "Function" && object.apiVersion.startsWith("pkg.crossplane.io/"),
  );
  const names = [
    ...given.map(({ object }) => object.metadata.name ?? ""),
    ...packages.filter(({ kind }) => kind === "Function").map((one) => one.name),
  ];
  if (functionName === "") return [];
  const report = (level: Level, text: string): Finding[] => [
    { code: "V08", level, type: "reference", manifest, path: [...path, "functionRef", "name"], text },
  ];
  const { capabilities = [] } = packages.find((one) => one.kind === "Function" && one.name === functionName) ?? {};
  const isComposing = capabilities.length === 0 || capabilities.some((one) => one.toLowerCase() === "composition");
  if (!isComposing) {
    const offered = capabilities.join(", ");
    return report(
      "error",
      `step "${name}": ${functionName} cannot compose: the capabilities of its package are ${offered}`,
    );
  }
  if (names.includes(functionName)) return [];
  const closest = closestName(functionName, names);
  const advice = closest === undefined ? "" : `: did you mean ${closest}?`;
  const text = `step "${name}": no Function ${functionName} among the objects${advice}`;
  // Without any Function they are kept elsewhere.
  return report(names.length > 0 ? "error" : "warning", text);
}

function requirementFindings({ manifest, path, name }: Step, { scratch }: Bag): Finding[] {
  return ["requiredResources", "requiredSchemas"].flatMap((member) => {
    const list = valueAt(manifest.object as JsonValue, [...path, "requirements", member]);
    if (!isJsonArray(list)) return [];
    return list.flatMap((item, index): Finding[] => {
      const { apiVersion, kind } = (isJsonObject(item) ? item : {}) as Partial<TypeRef>;
      if (apiVersion === undefined || kind === undefined) return [];
      if (scratch.schemas.of({ apiVersion, kind }) !== undefined) return [];
      const text = `step "${name}" requires ${apiVersion} ${kind}, which no definition among the objects offers`;
      const at = [...path, "requirements", member, index, "kind"];
      return [{ code: "V09", level: "warning", type: "missingSchema", manifest, path: at, text }];
    });
  });
}

async function inputFindings(step: Step, bag: Bag, withoutSchema: Set<string>): Promise<Finding[]> {
  const { manifest, path, name, functionName, input } = step;
  if (input === undefined) return [];
  const { apiVersion, kind } = input as Partial<TypeRef>;
  const prefix = [...path, "input"];
  const offered = inputKinds(bag.packages, functionName);
  const report = (level: Level, at: readonly PathSegment[], text: string): Finding[] => [
    { code: "V07", level, type: level === "error" ? "schema" : "missingSchema", manifest, path: at, text },
  ];
  if (typeof apiVersion !== "string" || typeof kind !== "string") return [];
  if (offered !== undefined && offered.length > 0 && !offered.includes(`${apiVersion} ${kind}`)) {
    const text = `step "${name}": ${functionName} takes ${offered.join(" or ")}, not ${apiVersion} ${kind}`;
    return report("error", [...prefix, "kind"], text);
  }
  if (bag.scratch.schemas.of({ apiVersion, kind }) === undefined) {
    if (withoutSchema.has(functionName)) return [];
    withoutSchema.add(functionName);
    const text = `step "${name}": no schema for the input of ${functionName}: add its package (.xpkg) to the paths`;
    return report("warning", [...prefix, "kind"], text);
  }
  const metadata = { ...(isJsonObject(input["metadata"]) ? input["metadata"] : {}), name: "input" };
  const object = { ...input, metadata } as KubeObject;
  const found = await objectFindings(inside(manifest, prefix, object), bag.scratch);
  return outside(found, { manifest, prefix, code: "V07" });
}

/** What is wrong with the steps of a pipeline, apart from their inputs. */
function pipelineFindings(steps: readonly Step[]): Finding[] {
  return [
    ...steps.flatMap(nameFindings),
    ...findingsBetween(steps),
    ...steps.flatMap(templateFindings),
    ...steps.flatMap(filterFindings),
  ];
}

/** An API server accepts a step without a name, which messages and recorded runs then cannot name. */
function nameFindings({ manifest, path, name }: Step): Finding[] {
  if (name !== "") return [];
  const at = [...path, "step"];
  const text = `${fieldOf({ path: at })}: the step has no name: add one`;
  return [{ code: "V06", level: "error", type: "schema", manifest, path: at, text }];
}

/** The inline template of function-go-templating. It is parsed, never run. */
function templateFindings(step: Step): Finding[] {
  const { input = {}, manifest, path } = step;
  if (!String(input["apiVersion"]).startsWith("gotemplating.fn.crossplane.io/")) return [];
  const at = ["inline", "template"];
  const template = textAt(input, at);
  if (template === undefined) return [];
  const [left = "{{", right = "}}"] = ["left", "right"].map((side) => textAt(input, ["delims", side]) || undefined);
  const problem = templateProblem(template, { left, right });
  if (problem === undefined) return [];
  const text = `step "${step.name}": line ${problem.line} of the template: ${problem.text}`;
  return [{ code: "V11", level: "error", type: "syntax", manifest, path: [...path, "input", ...at], text }];
}

/** The expressions of function-cel-filter. */
function filterFindings(step: Step): Finding[] {
  const { input = {}, manifest, path } = step;
  if (!String(input["apiVersion"]).startsWith("cel.fn.crossplane.io/")) return [];
  return objectsAt(input, ["filters"]).flatMap((filter, index): Finding[] => {
    const { expression } = filter;
    const problem = typeof expression === "string" ? syntaxProblem(expression) : undefined;
    if (problem === undefined) return [];
    const text = `step "${step.name}": ${problem.split("\n", 1)[0]}`;
    const at = [...path, "input", "filters", index, "expression"];
    return [{ code: "V11", level: "error", type: "syntax", manifest, path: at, text }];
  });
}
