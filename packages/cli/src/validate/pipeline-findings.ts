// SPDX-License-Identifier: Apache-2.0
import { syntaxProblem } from "@purlin/cel";
import { isJsonArray, isJsonObject } from "@purlin/kube-objects/json";
import { objectsAt, textAt } from "@purlin/kube-objects/object";
import type { Finding } from "./finding.ts";
import { templateProblem } from "./go-template.ts";
import { isPatchInput, type Step } from "./pipeline-step.ts";

/** Functions that only write resources: readiness is decided by their input or by another step. */
const templating = /(^|-)(go-templating|kcl|cue|cel-filter|sequencer)$/;
const autoReady = /(^|-)auto-ready$/;
/** What inputs of templating functions decide readiness with. */
const readyAnnotation = /fn\.crossplane\.io\/ready|krm\.kcl\.dev\/ready|meta\.gotemplating/;

/** What is wrong between the steps of a pipeline. */
export function pipelineFindings(steps: readonly Step[]): Finding[] {
  return [
    ...kindFindings(steps),
    ...orderFindings(steps),
    ...readinessFindings(steps),
    ...steps.flatMap(templateFindings),
    ...steps.flatMap(filterFindings),
  ];
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

function orderFindings(steps: readonly Step[]): Finding[] {
  const index = steps.findIndex(({ functionName }) => autoReady.test(functionName));
  const step = steps[index];
  const later = steps
    .slice(index + 1)
    .find(({ functionName }) => templating.test(functionName) || functionName.includes("patch-and-transform"));
  if (step === undefined || later === undefined) return [];
  const text = `step "${step.name}" decides readiness before step "${later.name}" adds resources: move it to the end of the pipeline`;
  return [
    { code: "V12", level: "warning", type: "reference", manifest: step.manifest, path: [...step.path, "step"], text },
  ];
}

/** Only where every function is known to leave readiness to others. */
function readinessFindings(steps: readonly Step[]): Finding[] {
  const [first] = steps;
  if (first === undefined || !steps.every(({ functionName }) => templating.test(functionName))) return [];
  if (steps.some(({ input }) => readyAnnotation.test(JSON.stringify(input ?? {})))) return [];
  const text = "spec.pipeline: no step decides whether resources are ready: add a step with function-auto-ready";
  return [
    { code: "V12", level: "warning", type: "reference", manifest: first.manifest, path: ["spec", "pipeline"], text },
  ];
}
