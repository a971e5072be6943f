// SPDX-License-Identifier: Apache-2.0
import type { FunctionReference, FunctionRevisions } from "@purlin/function-runner";
import type { JsonObject } from "@purlin/kube-objects/json";
import { textAt } from "@purlin/kube-objects/object";
import type { Manifest } from "../manifests/manifest.ts";

/** A field by which a step chooses a revision. */
export type Selection = "functionRevisionRef" | "functionRevisionSelector" | "function";

const selections: readonly Selection[] = ["functionRevisionRef", "functionRevisionSelector", "function"];

/** How a step chooses its revision; undefined when it leaves that to others. */
export function selectionOf(step: Pick<FunctionReference, Selection>): Selection | undefined {
  return selections.find((name) => step[name] !== undefined);
}

/** Whether a FunctionRevision is of a Function. */
export function isRevisionOf(functionName: string): (revision: Manifest) => boolean {
  return ({ object }) => object.metadata.labels?.["pkg.crossplane.io/package"] === functionName;
}

/** The FunctionRevisions in files, to choose from as a control plane does. */
export function revisionsIn(manifests: readonly Manifest[]): FunctionRevisions {
  const objects = manifests.map(({ object }) => object);
  const asJson = (object: Manifest["object"]): JsonObject => object;
  return {
    async get(name) {
      const found = objects.find(({ metadata }) => metadata.name === name);
      return found && asJson(found);
    },
    async list(labels) {
      const carries = ({ metadata }: Manifest["object"]): boolean =>
        [...labels].every(([key, value]) => metadata.labels?.[key] === value);
      return objects.filter(carries).map(asJson);
    },
    async withDigest(digest) {
      return objects.filter((object) => textAt(object, ["spec", "digest"]) === digest).map(asJson);
    },
  };
}
