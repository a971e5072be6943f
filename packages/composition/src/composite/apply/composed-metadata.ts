// SPDX-License-Identifier: Apache-2.0

import {
  controllerReference,
  type KubeObject,
  labelOf,
  textOf,
  withMember,
  withOwner,
  wrapError,
} from "@purlin/kube-objects/object";
import { annotations, labels } from "../../composite-resource/constants.ts";
import { withComposedName } from "./composed-name.ts";

/** The object with everything that ties it to its XR: name, namespace, labels, annotation and controller. */
export function withComposedMetadata(name: string, object: KubeObject, xr: KubeObject): KubeObject {
  try {
    const tree = labelOf(xr, labels.composite);
    if (tree === undefined) {
      throw new Error(
        `cannot find top-level composite resource name label "${labels.composite}" in composite resource metadata`,
      );
    }
    const placed = withNamespace(withPrefix(object, tree), xr);
    const marked =
      name === "" ? placed : withMember(placed, ["metadata", "annotations", annotations.resourceName], name);
    return withComposedName(name, withController(withTreeLabels(marked, tree, xr), xr));
  } catch (error) {
    throw wrapError(`cannot render metadata for composed resource "${name}"`, error);
  }
}

function withPrefix(object: KubeObject, tree: string): KubeObject {
  if (object.metadata.name || object.metadata.generateName) return object;
  return withMember(object, ["metadata", "generateName"], `${tree}-`);
}

function withNamespace(object: KubeObject, { metadata: { namespace } }: KubeObject): KubeObject {
  return namespace ? withMember(object, ["metadata", "namespace"], namespace) : object;
}

function withTreeLabels(object: KubeObject, tree: string, xr: KubeObject): KubeObject {
  const labelled = withMember(object, ["metadata", "labels", labels.composite], tree);
  const claim = labelOf(xr, labels.claimName);
  const namespace = labelOf(xr, labels.claimNamespace);
  if (claim === undefined || namespace === undefined) return labelled;
  const named = withMember(labelled, ["metadata", "labels", labels.claimName], claim);
  return withMember(named, ["metadata", "labels", labels.claimNamespace], namespace);
}

function withController(object: KubeObject, xr: KubeObject): KubeObject {
  try {
    return withOwner(object, controllerReference(xr));
  } catch (error) {
    throw new Error(`cannot set controller reference: ${textOf(error)}`, { cause: error });
  }
}
