// SPDX-License-Identifier: Apache-2.0

import { during } from "@purlin/kube-objects/errors";
import { isJsonObject, type JsonValue, jsonEqual } from "@purlin/kube-objects/json";
import { type KubeObject, memberAt, textAt } from "@purlin/kube-objects/object";
import { fieldManagers } from "../composite-resource/constants.ts";
import { unusedName } from "../composite-resource/names.ts";
import type { ClaimPass } from "./claim-pass.ts";
import type { ClaimSurroundings } from "./shared-references.ts";

/** A claim and its composite resource before they are brought together. */
export interface SyncInput {
  readonly pass: ClaimPass;
  /** With what this pass wants of it already; its spec and metadata are stored on the way. */
  readonly claim: KubeObject;
  /** Undefined while there is none. */
  readonly xr: KubeObject | undefined;
  readonly surroundings: ClaimSurroundings;
}

/** The two afterwards: the claim's status is what it shall be, and not stored yet. */
export interface Synced {
  readonly claim: KubeObject;
  readonly xr: KubeObject;
}

/** Brings a claim and its composite resource together. */
export type Sync = (input: SyncInput) => Promise<Synced>;

/** The name of a claim's composite resource: the one it refers to, or a new one that nobody has. */
export async function compositeName({ pass, claim }: SyncInput): Promise<string> {
  const { signal } = pass;
  const { client, kind, random } = pass.ports;
  const referred = textAt(claim, ["spec", "resourceRef", "name"]);
  if (referred !== undefined) return referred;
  return during("cannot generate a name for composite resource", () =>
    unusedName(
      `${claim.metadata.name ?? ""}-`,
      async (name) => (await client.get(kind.compositeType, { name }, { signal })) !== undefined,
      random,
    ),
  );
}

/** Throws when the claim has no spec to speak of. */
export function checkSpec(claim: KubeObject): void {
  if (!isJsonObject(memberAt(claim, ["spec"]))) throw new Error("claim spec was not an object");
}

/** Stores metadata and spec of a claim unless they are what is stored; the status stays the one of this pass. */
export async function storeClaim(pass: ClaimPass, claim: KubeObject): Promise<KubeObject> {
  const { ports, stored, signal } = pass;
  if (isSame(claim.metadata, stored.metadata) && isSame(claim["spec"], stored["spec"])) return claim;
  pass.stored = await during("cannot update claim", () =>
    ports.client.update(claim, { fieldManager: fieldManagers.update, signal }),
  );
  const { status } = claim;
  return status === undefined ? pass.stored : { ...pass.stored, status };
}

function isSame(a: unknown, b: unknown): boolean {
  return a === b || jsonEqual((a ?? null) as JsonValue, (b ?? null) as JsonValue);
}
