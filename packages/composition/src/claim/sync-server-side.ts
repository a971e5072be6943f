// SPDX-License-Identifier: Apache-2.0

import { during } from "@purlin/kube-objects/errors";
import { annotationOf, type KubeObject } from "@purlin/kube-objects/object";
import { annotations, fieldManagers } from "../composite-resource/constants.ts";
import { withMachinery } from "../composite-resource/machinery.ts";
import { annotationsFor, claimRefTo, labelsFor, specFor } from "./claim-fields.ts";
import { sharedStatus, withSharedStatus } from "./claim-status.ts";
import { revisionToSend, withFlowBack } from "./flow-back.ts";
import { checkSpec, compositeName, type Sync, type SyncInput, storeClaim } from "./sync.ts";

/**
 * Brings claim and composite resource together by server-side apply. The claim's reference is stored before the composite
 * resource is made: after a crash in between the same name is used again, and none is left behind.
 */
export const syncServerSide: Sync = async (input) => {
  const { pass, claim, xr, surroundings } = input;
  const { ports, signal } = pass;
  const name = await compositeName(input);
  checkSpec(claim);
  const patch = patchFor(input, name);
  const referring = withReference(claim, { ...ports.kind.compositeType, name });
  const wanted = xr === undefined ? referring : withFlowBack(referring, xr, surroundings);
  const updated = await storeClaim(pass, wanted);
  const options = { fieldManager: fieldManagers.claim, force: true, observed: xr, signal };
  const { object } = await during("cannot apply composite resource", () => ports.client.applyIfChanged(patch, options));
  const shared = sharedStatus(object, surroundings.added);
  return { claim: shared === undefined ? updated : withSharedStatus(updated, shared), xr: object };
};

/** The claim with its reference; the same object when it has it. */
export function withReference(
  claim: KubeObject,
  { apiVersion, kind, name }: { readonly apiVersion: string; readonly kind: string; readonly name: string },
): KubeObject {
  const { spec } = claim as { readonly spec?: { readonly resourceRef?: Readonly<Record<string, unknown>> } };
  const had = spec?.resourceRef;
  if (had?.["apiVersion"] === apiVersion && had["kind"] === kind && had["name"] === name) return claim;
  return withMachinery(claim, "legacy", { resourceRef: { apiVersion, kind, name } });
}

/** All that the claim wants of its composite resource. */
function patchFor({ pass, claim, xr, surroundings }: SyncInput, name: string): KubeObject {
  const external = xr && annotationOf(xr, annotations.externalName);
  const revision = revisionToSend(claim, xr, surroundings);
  const wantedAnnotations = annotationsFor(claim, external);
  return {
    ...pass.ports.kind.compositeType,
    metadata: {
      name,
      ...(xr === undefined && { generateName: `${claim.metadata.name ?? ""}-` }),
      labels: labelsFor(claim),
      ...(Object.keys(wantedAnnotations).length > 0 && { annotations: wantedAnnotations }),
    },
    spec: {
      ...specFor(claim, surroundings.isCompositionEnforced),
      ...(revision !== undefined && { compositionRevisionRef: revision }),
      claimRef: claimRefTo(claim),
    },
  };
}
