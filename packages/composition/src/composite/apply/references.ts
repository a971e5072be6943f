// SPDX-License-Identifier: Apache-2.0

import type { ControllerClient } from "@purlin/kube-controller";
import { during } from "@purlin/kube-objects/errors";
import { compareUtf8 } from "@purlin/kube-objects/json";
import type { KubeObject } from "@purlin/kube-objects/object";
import { fieldManagers } from "../../composite-resource/constants.ts";
import {
  type CompositeSchema,
  type ResourceRef,
  withCrossplaneFields,
} from "../../composite-resource/crossplane-fields.ts";

/** References to objects in their stored order. Those of a namespaced XR have no namespace: it is the XR's own. */
export function referencesTo(objects: readonly KubeObject[], xr: KubeObject): readonly ResourceRef[] {
  const refs = objects.map((object) => referenceTo(object, xr));
  return refs
    .map((ref) => ({ ref, key: `${ref.apiVersion}${ref.kind}${ref.name ?? ""}${ref.namespace ?? ""}` }))
    .sort((a, b) => compareUtf8(a.key, b.key))
    .map(({ ref }) => ref);
}

function referenceTo({ apiVersion, kind, metadata }: KubeObject, xr: KubeObject): ResourceRef {
  const { name = "", namespace } = metadata;
  const placed = namespace && !xr.metadata.namespace ? { namespace } : {};
  return { apiVersion, kind, ...(name && { name }), ...placed };
}

/**
 * Stores the references before the objects they name are created: an object without a reference could be lost. The uid of the XR is
 * sent along, so that an XR that was deleted meanwhile is not created again.
 */
export async function applyReferences(
  xr: KubeObject,
  refs: readonly ResourceRef[],
  { client, schema, signal }: { client: ControllerClient; schema: CompositeSchema; signal: AbortSignal },
): Promise<KubeObject> {
  const wanted = withCrossplaneFields(identityOf(xr), schema, { resourceRefs: refs });
  return during("cannot update composed resource references", async () => {
    const options = { fieldManager: fieldManagers.composite, force: true, observed: xr, signal };
    return (await client.applyIfChanged(wanted, options)).object;
  });
}

/** The type and identity of an object, and nothing else. */
export function identityOf({ apiVersion, kind, metadata: { name = "", namespace, uid } }: KubeObject): KubeObject {
  return { apiVersion, kind, metadata: { name, ...(namespace ? { namespace } : {}), ...(uid ? { uid } : {}) } };
}
