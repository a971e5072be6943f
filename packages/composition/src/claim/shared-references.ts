// SPDX-License-Identifier: Apache-2.0

import { type KubeObject, textAt } from "@purlin/kube-objects/object";
import { kinds } from "../composite-resource/constants.ts";
import { revisionRefOf, revisionSelectorOf } from "../composite-resource/machinery.ts";
import { type AddedStatusFields, addedStatusFields, referenceableVersion } from "../definition/definition-facts.ts";
import type { SharedReferences } from "./flow-back.ts";
import type { ClaimPorts } from "./ports.ts";

/** What has to be known beside a claim and its composite resource to bring them together. */
export interface ClaimSurroundings extends SharedReferences {
  /** Which fields of the composite resource's status are the control plane's. */
  readonly added: AddedStatusFields;
}

/** Reads it. A definition that cannot be read enforces nothing. */
export async function readSurroundings(
  ports: ClaimPorts,
  claim: KubeObject,
  signal: AbortSignal,
): Promise<ClaimSurroundings> {
  const { client, kind } = ports;
  const read = client.get(kinds.definition, { name: kind.definition }, { signal });
  const definition = await read.catch(() => undefined);
  const version = (definition && referenceableVersion(definition)) ?? {};
  return {
    isCompositionEnforced: definition !== undefined && textAt(definition, enforced) !== undefined,
    isRevisionContradicted: await isRevisionContradicted(ports, claim, signal),
    added: addedStatusFields(version, true, true),
  };
}

const enforced = ["spec", "enforcedCompositionRef", "name"];

/** Claim and composite resource would otherwise push each other's reference for ever. */
async function isRevisionContradicted(
  { client }: ClaimPorts,
  claim: KubeObject,
  signal: AbortSignal,
): Promise<boolean> {
  const name = revisionRefOf(claim, "legacy");
  const selector = revisionSelectorOf(claim, "legacy");
  if (name === undefined || selector === undefined) return false;
  const revision = await client.get(kinds.revision, { name }, { signal });
  if (revision === undefined) return true;
  const carried = revision.metadata.labels ?? {};
  return Object.entries(selector).some(([key, value]) => carried[key] !== value);
}
