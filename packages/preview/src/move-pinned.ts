// SPDX-License-Identifier: Apache-2.0
import {
  compositionKinds,
  compositionRefOf,
  type DefinitionFacts,
  definitionFacts,
  revisionRefOf,
  updatePolicyOf,
  withCrossplaneFields,
} from "@purlin/composition";
import { isNoMatch } from "@purlin/kube-client";
import type { ControllerClient } from "@purlin/kube-controller";
import { type KubeObject, numberAt } from "@purlin/kube-objects/object";
import type { ChangeSet } from "./change-set.ts";
import { identityOf, kindIdentity } from "./overlay/live-reads.ts";
import type { ApplyStage } from "./settle/run-pass.ts";

const compositionNameLabel = "crossplane.io/composition-name";

/**
 * Moves composite resources with a Manual update policy to the newest revision of the Compositions that a change set contains, as their
 * owners may do later. Adds the identities of those that it moves to a set.
 */
export function movePinned({ stages }: ChangeSet, moved: Set<string>): ApplyStage {
  const changed = stages.flat().filter((object) => kindIdentity(object) === kindIdentity(compositionKinds.composition));
  return async (client) => {
    const newest = new Map<string, string>();
    for (const { metadata } of changed) {
      const revision = await newestRevision(client, metadata.name ?? "");
      if (revision !== undefined) newest.set(metadata.name ?? "", revision);
    }
    if (newest.size === 0) return;
    for (const definition of await client.list(compositionKinds.definition)) {
      const facts = definitionFacts(definition);
      for (const xr of await listComposites(client, facts))
        if (await moveOne(client, xr, { facts, newest })) moved.add(identityOf(xr));
    }
  };
}

async function moveOne(
  client: ControllerClient,
  xr: KubeObject,
  { facts, newest }: { readonly facts: DefinitionFacts; readonly newest: ReadonlyMap<string, string> },
): Promise<boolean> {
  const { schema } = facts;
  const revision = newest.get(compositionRefOf(xr, schema) ?? "");
  const isPinned = updatePolicyOf(xr, schema) === "Manual" && !xr.metadata.deletionTimestamp;
  if (!isPinned || revision === undefined || revisionRefOf(xr, schema) === revision) return false;
  await client.update(withCrossplaneFields(xr, schema, { compositionRevisionRef: { name: revision } }), {
    fieldManager: "purlin-diff",
  });
  return true;
}

async function newestRevision(client: ControllerClient, name: string): Promise<string | undefined> {
  const revisions = await client.list(compositionKinds.revision, { labels: { [compositionNameLabel]: name } });
  const numberOf = (one: KubeObject): number => numberAt(one, ["spec", "revision"]) ?? 0;
  return [...revisions].sort((a, b) => numberOf(b) - numberOf(a))[0]?.metadata.name;
}

/** The composite resources of a definition. A kind that is not served has no objects; its definition reports why. */
export async function listComposites(
  client: ControllerClient,
  { compositeType }: DefinitionFacts,
): Promise<readonly KubeObject[]> {
  try {
    return await client.list(compositeType);
  } catch (error) {
    if (!isNoMatch(error)) throw error;
    return [];
  }
}
