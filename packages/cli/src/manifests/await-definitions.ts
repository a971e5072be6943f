// SPDX-License-Identifier: Apache-2.0
import { setTimeout } from "node:timers/promises";
import type { KubeClient } from "@purlin/kube-client";
import { type KubeObject, keyOf } from "@purlin/kube-objects/object";
import { parseFieldPath } from "../files/field-path.ts";
import { isOffered } from "../tree/composite-kinds.ts";
import { conditionOf, conditionsOf } from "../tree/conditions.ts";
import { nameOf } from "./apply-problem.ts";
import { failureOf } from "./defined-kinds.ts";
import type { Manifest } from "./manifest.ts";

/** An XRD that was applied. */
export interface AppliedDefinition {
  readonly manifest: Manifest;
  readonly stored: KubeObject;
}

const pollMs = 50;

/** Waits until XRDs offer their kinds. Resolves to why some do not, a line each. */
export async function awaitDefinitions(
  client: KubeClient,
  definitions: readonly AppliedDefinition[],
  { waitMs, signal }: { readonly waitMs: number; readonly signal: AbortSignal },
): Promise<string[]> {
  const limit = performance.now() + waitMs;
  const problems: string[] = [];
  for (const { manifest, stored } of definitions) {
    for (let current = stored; !isServed(current); current = await client.get(stored, keyOf(stored), { signal })) {
      const failure = failureOf(current);
      if (failure !== undefined || performance.now() > limit) {
        problems.push(problemOf(manifest, failure ?? lateness(current, waitMs)));
        break;
      }
      await setTimeout(pollMs, undefined, { signal });
    }
  }
  return problems;
}

/** Offered for the schema that was applied, not for the one before it. */
function isServed(definition: KubeObject): boolean {
  const { generation = 0, deletionTimestamp } = definition.metadata;
  if (deletionTimestamp) return true;
  const seen = conditionOf(definition, "Established")?.observedGeneration ?? generation;
  return isOffered(definition) && seen >= generation && failureOf(definition) === undefined;
}

function lateness(definition: KubeObject, waitMs: number): string {
  const said = conditionsOf(definition).length > 0 ? "" : ": no control plane has reconciled it";
  return `does not offer its kind after ${waitMs / 1000} s${said}`;
}

/** The API server names the place in the CRD, which is the same in the XRD it was made of. */
function problemOf(manifest: Manifest, failure: string): string {
  const field = /(?<=[\s"])spec\.versions\[\d+\][^:\s]*/.exec(failure)?.[0];
  return `${manifest.at(field === undefined ? [] : parseFieldPath(field))}: ${nameOf(manifest)}: ${failure}`;
}
