// SPDX-License-Identifier: Apache-2.0
import { isJsonArray, isJsonObject, type JsonObject, printJson } from "@purlin/kube-objects/json";
import { type KubeObject, memberAt, objectsAt, type TypeRef, textAt } from "@purlin/kube-objects/object";
import { linearPattern } from "@purlin/kube-objects/regexp";
import type { PathSegment } from "../files/yaml-position.ts";
import type { Manifest } from "../manifests/manifest.ts";
import type { CheckCode, Finding } from "./finding.ts";
import type { ScratchServer } from "./kind-schemas.ts";
import type { KnownPackage } from "./packages.ts";

/** Everything that Compositions may refer to. */
export interface Bag {
  readonly manifests: readonly Manifest[];
  readonly packages: readonly KnownPackage[];
  readonly scratch: ScratchServer;
}

/** A step of a pipeline. */
export interface Step {
  readonly manifest: Manifest;
  readonly path: readonly PathSegment[];
  readonly name: string;
  readonly functionName: string;
  readonly input: JsonObject | undefined;
}

/** The steps of a Composition. */
export function stepsOf(manifest: Manifest): Step[] {
  const pipeline = memberAt(manifest.object, ["spec", "pipeline"]);
  if (!isJsonArray(pipeline)) return [];
  return pipeline.flatMap((step, index): Step[] => {
    if (!isJsonObject(step)) return [];
    const { step: name, functionRef, input } = step;
    const functionName = isJsonObject(functionRef) ? functionRef["name"] : undefined;
    return [
      {
        manifest,
        path: ["spec", "pipeline", index],
        name: typeof name === "string" ? name : "",
        functionName: typeof functionName === "string" ? functionName : "",
        input: isJsonObject(input) ? input : undefined,
      },
    ];
  });
}

/** The type that a Composition is for. */
export const compositeType = ({ object }: Manifest): TypeRef => ({
  apiVersion: textAt(object, ["spec", "compositeTypeRef", "apiVersion"]) ?? "",
  kind: textAt(object, ["spec", "compositeTypeRef", "kind"]) ?? "",
});

/** Whether a step patches and transforms. */
export function isPatchInput(input: JsonObject | undefined): input is JsonObject {
  return input?.["kind"] === "Resources" && String(input["apiVersion"]).startsWith("pt.fn.crossplane.io/");
}

/** An object inside a manifest, whose fields stand where the manifest has them. */
export function inside(manifest: Manifest, prefix: readonly PathSegment[], object: KubeObject): Manifest {
  return { object, file: manifest.file, at: (path = []) => manifest.at([...prefix, ...path]) };
}

/** Findings about an object inside a manifest, as findings about the manifest. */
export function outside(
  findings: readonly Finding[],
  {
    manifest,
    prefix,
    code,
  }: { readonly manifest: Manifest; readonly prefix: readonly PathSegment[]; readonly code: CheckCode },
): Finding[] {
  return findings.map((finding) => ({ ...finding, code, manifest, path: [...prefix, ...finding.path] }));
}

/** Functions that only write resources: readiness is decided by their input or by another step. */
const templating = /(^|-)(go-templating|kcl|cue)$/;
/** Functions that drop desired resources of the steps before them. */
const dropping = /(^|-)(cel-filter|sequencer)$/;
const autoReady = /(^|-)auto-ready$/;
/** What inputs of templating functions decide readiness with. */
const readyAnnotation = /fn\.crossplane\.io\/ready|krm\.kcl\.dev\/ready|meta\.gotemplating/;

/** What is wrong between the steps of a pipeline. */
export function findingsBetween(steps: readonly Step[]): Finding[] {
  return [...kindFindings(steps), ...orderFindings(steps), ...dropFindings(steps), ...readinessFindings(steps)];
}

/** Two steps that give one resource name different kinds: the second would replace the resource of the first. */
function kindFindings(steps: readonly Step[]): Finding[] {
  const kinds = new Map<string, { readonly type: string; readonly step: string }>();
  return steps
    .filter(({ input }) => isPatchInput(input))
    .flatMap((step) => {
      const resources = step.input?.["resources"];
      if (!isJsonArray(resources)) return [];
      return resources.flatMap((resource, index): Finding[] => {
        const { name, base } = (isJsonObject(resource) ? resource : {}) as {
          readonly name?: unknown;
          readonly base?: unknown;
        };
        if (typeof name !== "string" || typeof base !== "object" || base === null) return [];
        const { apiVersion, kind } = base as Record<string, unknown>;
        const type = `${String(apiVersion)} ${String(kind)}`;
        const other = kinds.get(name);
        if (other === undefined) kinds.set(name, { type, step: step.name });
        if (other === undefined || other.type === type) return [];
        const text = `resource "${name}" is ${type} in step "${step.name}" and ${other.type} in step "${other.step}": give them different names`;
        const path = [...step.path, "input", "resources", index, "base", "kind"];
        return [{ code: "V12", level: "error", type: "reference", manifest: step.manifest, path, text }];
      });
    });
}

const isAdding = ({ functionName }: Step): boolean =>
  templating.test(functionName) || functionName.includes("patch-and-transform");

function orderFindings(steps: readonly Step[]): Finding[] {
  const index = steps.findIndex(({ functionName }) => autoReady.test(functionName));
  const step = steps[index];
  const later = steps.slice(index + 1).find(isAdding);
  if (step === undefined || later === undefined) return [];
  const text = `step "${step.name}" decides readiness before step "${later.name}" adds resources: move it to the end of the pipeline`;
  return [
    { code: "V12", level: "warning", type: "reference", manifest: step.manifest, path: [...step.path, "step"], text },
  ];
}

/** A function that drops resources sees those of the steps before it: what is added later stays, whatever its input says. */
function dropFindings(steps: readonly Step[]): Finding[] {
  return steps.flatMap((dropper, index) => {
    const names = dropping.test(dropper.functionName) ? droppedNames(dropper) : [];
    if (names.length === 0) return [];
    const later = steps.slice(index + 1).filter(isAdding);
    return later.flatMap((step) => lateFindings(step, { dropper, names }));
  });
}

/** The names of resources, as regular expressions, that the input of function-cel-filter or function-sequencer is about. */
function droppedNames({ input = {} }: Step): string[] {
  const filters = objectsAt(input, ["filters"]).map(({ name }) => `^(?:${String(name)})$`);
  const sequences = objectsAt(input, ["rules"]).flatMap(({ sequence }) => (isJsonArray(sequence) ? sequence : []));
  const isOpen = (name: string): boolean => name.startsWith("^") || name.endsWith("$");
  return [...filters, ...sequences.map(String).map((name) => (isOpen(name) ? name : `^(?:${name})$`))];
}

interface Dropping {
  readonly dropper: Step;
  readonly names: readonly string[];
}

/** Resources with fixed names are compared with the names; those of templates are not known. */
function lateFindings(step: Step, { dropper, names }: Dropping): Finding[] {
  const { manifest, path } = step;
  const advice = `move step "${dropper.name}" after it`;
  const report = (at: readonly PathSegment[], text: string): Finding[] => [
    { code: "V12", level: "warning", type: "reference", manifest, path: at, text: `${text}: ${advice}` },
  ];
  if (!isPatchInput(step.input)) {
    const text = `step "${step.name}" adds resources after step "${dropper.name}", which drops resources of earlier steps only`;
    return report([...path, "step"], text);
  }
  return objectsAt(step.input, ["resources"]).flatMap(({ name }, index) => {
    if (typeof name !== "string" || !names.some((one) => linearPattern(one).test(name))) return [];
    const text = `step "${step.name}" adds resource "${name}" after step "${dropper.name}", which decides whether it is dropped`;
    return report([...path, "input", "resources", index, "name"], text);
  });
}

/** Only where every function is known to leave readiness to others. */
function readinessFindings(steps: readonly Step[]): Finding[] {
  const [first] = steps;
  const isSilent = ({ functionName }: Step): boolean => templating.test(functionName) || dropping.test(functionName);
  if (first === undefined || !steps.every(isSilent)) return [];
  if (steps.some(({ input }) => readyAnnotation.test(printJson(input ?? {})))) return [];
  const text = "spec.pipeline: no step decides whether resources are ready: add a step with function-auto-ready";
  return [
    { code: "V12", level: "warning", type: "reference", manifest: first.manifest, path: ["spec", "pipeline"], text },
  ];
}
