// SPDX-License-Identifier: Apache-2.0

import { during, notFound } from "@purlin/kube-objects/errors";
import { type JsonValue, jsonEqual } from "@purlin/kube-objects/json";
import { controllerReference, isControlledBy, type KubeObject, objectAt, withOwner } from "@purlin/kube-objects/object";
import { refuseForeignSecret, secretText } from "../composite-resource/connection-secret.ts";
import { connectionSecretType, fieldManagers, kinds } from "../composite-resource/constants.ts";
import { connectionSecretRefOf } from "../composite-resource/crossplane-fields.ts";
import type { ClaimContext } from "./context.ts";

/** The outcome of a propagation: nothing to copy, copied before, or copied now. */
type Propagation = "none" | "current" | "written";

/** Copies the connection details of a composite resource to the Secret its claim names, when both name one. */
export async function propagateConnection(
  context: ClaimContext,
  claim: KubeObject,
  xr: KubeObject,
): Promise<Propagation> {
  const { client } = context.deps;
  const { signal } = context;
  const [from, to] = [connectionSecretRefOf(xr, "legacy"), connectionSecretRefOf(claim, "legacy")];
  if (from === undefined || to === undefined) return "none";
  const source = await during("cannot get composite resource's connection secret", async () => {
    const secret = await client.get(kinds.secret, from, { signal });
    if (secret === undefined) throw notFound({ group: "", resource: "secrets" }, from.name);
    return secret;
  });
  // Otherwise a user who may write claims could read any Secret by having a composite resource name it.
  if (!isControlledBy(source, xr.metadata.uid)) {
    const whose = `${secretText(source)} is not the composite resource's`;
    throw new Error(`cannot establish control of existing connection secret: ${whose}`);
  }
  const data = objectAt(source, ["data"]);
  return during("cannot create or update connection secret", () => store(context, claim, data));
}

async function store(
  { deps: { client }, signal }: ClaimContext,
  claim: KubeObject,
  data: Readonly<Record<string, JsonValue>>,
): Promise<Propagation> {
  const { namespace = "" } = claim.metadata;
  const { name = "" } = connectionSecretRefOf(claim, "legacy") ?? {};
  const options = { fieldManager: fieldManagers.update, signal };
  const existing = await client.get(kinds.secret, { namespace, name }, { signal });
  if (existing === undefined) {
    const metadata = { namespace, name, ownerReferences: [controllerReference(claim)] };
    await client.create({ ...kinds.secret, metadata, type: connectionSecretType, data }, options);
    return "written";
  }
  refuseForeignSecret(existing, claim);
  const isOurs = isControlledBy(existing, claim.metadata.uid);
  if (isOurs && jsonEqual(objectAt(existing, ["data"]), data)) return "current";
  await client.update({ ...withOwner(existing, controllerReference(claim)), data }, options);
  return "written";
}
