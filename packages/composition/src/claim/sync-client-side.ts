// SPDX-License-Identifier: Apache-2.0
// The way before server-side apply: nothing that was once set is ever taken away again.

import { during } from "@purlin/kube-objects/errors";
import { jsonEqual } from "@purlin/kube-objects/json";
import { annotationOf, type KubeObject, objectAt, withMember } from "@purlin/kube-objects/object";
import { applyMergePatch } from "@purlin/kube-objects/patch";
import { annotations, fieldManagers } from "../composite-resource/constants.ts";
import { machineryField, updatePolicyOf, withMachinery } from "../composite-resource/machinery.ts";
import { annotationsFor, claimRefTo, compositeOnly, labelsFor, specFor } from "./claim-fields.ts";
import { sharedStatus, withMergedStatus } from "./claim-status.ts";
import { revisionToSend, withFlowBack } from "./flow-back.ts";
import { overlaid } from "./overlaid.ts";
import { checkSpec, compositeName, type Sync, type SyncInput, storeClaim } from "./sync.ts";
import { withReference } from "./sync-server-side.ts";

/** Brings claim and composite resource together by create and merge patch. */
export const syncClientSide: Sync = async (input) => {
  const { pass, claim, surroundings } = input;
  const name = input.xr?.metadata.name ?? (await compositeName(input));
  checkSpec(claim);
  const referring = withReference(claim, { ...pass.ports.kind.compositeType, name });
  const referred = await storeClaim(pass, referring);
  const xr = await during("cannot apply composite resource", () => createOrPatch(input, name));
  const shared = sharedStatus(xr, surroundings.added);
  const told = shared === undefined ? referred : withMergedStatus(referred, shared);
  const filled = withFilledSpec(withRevision(withFlowBack(told, xr, surroundings), xr), xr);
  return { claim: await storeClaim(pass, filled), xr };
};

async function createOrPatch(input: SyncInput, name: string): Promise<KubeObject> {
  const { pass, claim, xr, surroundings } = input;
  const { ports, signal } = pass;
  const { compositeType } = ports.kind;
  const options = { fieldManager: fieldManagers.update, signal };
  const external = xr && annotationOf(xr, annotations.externalName);
  const revision = revisionToSend(claim, xr, surroundings);
  const wanted = annotationsFor(claim, external);
  const metadata = { labels: labelsFor(claim), ...(Object.keys(wanted).length > 0 && { annotations: wanted }) };
  const spec = {
    ...specFor(claim, surroundings.isCompositionEnforced),
    ...(revision !== undefined && { compositionRevisionRef: revision }),
    claimRef: claimRefTo(claim),
  };
  if (xr === undefined)
    return ports.client.create({ ...compositeType, metadata: { ...metadata, name }, spec }, options);
  const patch = { metadata, spec };
  const patched = applyMergePatch(xr, patch);
  if (jsonEqual(patched, xr)) return xr;
  return ports.client.patch({ ...compositeType, name }, patch, { ...options, type: "merge" });
}

/** Under Automatic the claim has the composite resource's revision, also when that is none. */
function withRevision(claim: KubeObject, xr: KubeObject): KubeObject {
  if (updatePolicyOf(xr, "legacy") !== "Automatic") return claim;
  return withMachinery(claim, "legacy", {
    compositionRevisionRef: machineryField(xr, "legacy", "compositionRevisionRef"),
  });
}

/** Fills what the claim leaves open with what the composite resource has. */
function withFilledSpec(claim: KubeObject, xr: KubeObject): KubeObject {
  const theirs = Object.entries(objectAt(xr, ["spec"])).filter(([key]) => !compositeOnly.includes(key));
  // The revision has rules of its own.
  const shared = theirs.filter(([key]) => key !== "compositionRevisionRef");
  const spec = objectAt(claim, ["spec"]);
  const filled = overlaid(Object.fromEntries(shared), spec);
  return jsonEqual(spec, filled) ? claim : withMember(claim, ["spec"], filled);
}
