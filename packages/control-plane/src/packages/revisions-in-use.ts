// SPDX-License-Identifier: Apache-2.0

import type { ControllerClient } from "@purlin/kube-controller";
import { isJsonObject } from "@purlin/kube-objects";
import { type KubeObject, memberAt, textAt } from "@purlin/kube-objects/object";

const compositionRevision = { apiVersion: "apiextensions.crossplane.io/v1", kind: "CompositionRevision" };

/** The function revisions among the given ones that a step of any composition revision names, by name or by digest. */
export async function revisionsInUse(
  client: ControllerClient,
  revisions: readonly KubeObject[],
  signal: AbortSignal,
): Promise<ReadonlySet<string>> {
  const names = new Set<string>();
  const digests = new Set<string>();
  for (const composition of await client.list(compositionRevision, { signal })) {
    const pipeline = memberAt(composition, ["spec", "pipeline"]);
    for (const step of Array.isArray(pipeline) ? pipeline : []) {
      if (!isJsonObject(step)) continue;
      const name = textAt(step, ["functionRevisionRef", "name"]);
      const digest = textAt(step, ["function"])?.split("@")[1];
      if (name !== undefined) names.add(name);
      if (digest !== undefined) digests.add(digest);
    }
  }
  const used = revisions.filter((revision) => {
    const digest = textAt(revision, ["spec", "digest"]);
    return names.has(revision.metadata.name ?? "") || (digest !== undefined && digests.has(digest));
  });
  return new Set(used.map(({ metadata }) => metadata.name ?? ""));
}
