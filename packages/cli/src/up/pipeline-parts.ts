// SPDX-License-Identifier: Apache-2.0
import { functionReferences } from "@purlin/composition";
import { functionNotFound } from "@purlin/function-runner";
import type { KubeObject } from "@purlin/kube-objects/object";
import { harmlessLine } from "../terminal/harmless.ts";
import { conditionOf } from "../tree/conditions.ts";
import type { Part } from "./situation.ts";
import type { PackageSource } from "./watch-packages.ts";

const compositionLabel = "crossplane.io/composition-name";

/** Compositions that cannot work, whether or not an XR uses them: a Function is missing, or a pipeline is invalid. */
export function pipelineParts({ packages, compositions, compositionRevisions }: PackageSource): Part[] {
  const installed = packages.filter(({ kind }) => kind === "Function").map(({ metadata }) => metadata.name ?? "");
  const latest = latestRevisions(compositionRevisions);
  return compositions.flatMap((composition) => {
    const name = composition.metadata.name ?? "";
    const text = missingFunction(composition, installed) ?? invalidity(latest.get(name));
    return text === undefined ? [] : [{ title: `Composition ${name}`, text: harmlessLine(text), state: "problem" }];
  });
}

function missingFunction(composition: KubeObject, installed: readonly string[]): string | undefined {
  const known = new Set(installed);
  const missing = functionReferences(composition).find(
    ({ functionName }) => functionName !== "" && !known.has(functionName),
  );
  if (missing === undefined) return undefined;
  const { functionName, step } = missing;
  return functionNotFound({ functionName, step, composition: composition.metadata.name ?? "", installed });
}

function latestRevisions(revisions: readonly KubeObject[]): ReadonlyMap<string, KubeObject> {
  const latest = new Map<string, KubeObject>();
  for (const revision of revisions) {
    const name = revision.metadata.labels?.[compositionLabel] ?? "";
    const known = latest.get(name);
    if (known === undefined || numberOf(known) < numberOf(revision)) latest.set(name, revision);
  }
  return latest;
}

function numberOf(revision: KubeObject): number {
  return (revision["spec"] as { readonly revision?: number } | undefined)?.revision ?? 0;
}

function invalidity(revision: KubeObject | undefined): string | undefined {
  const condition = revision && conditionOf(revision, "ValidPipeline");
  return condition?.status === "False" ? `${condition.reason}: ${condition.message}` : undefined;
}
