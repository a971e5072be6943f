// SPDX-License-Identifier: Apache-2.0
import { ignoreNotFound } from "@purlin/kube-objects/errors";
import {
  controllerReference,
  isDeleted,
  type KubeObject,
  keyOf,
  memberAt,
  type TypeRef,
  textMapAt,
} from "@purlin/kube-objects/object";
import {
  type LabelSelector,
  type LabelSelectorObject,
  labelSelectorOf,
  matchesLabels,
} from "@purlin/kube-objects/selector";
import { kinds } from "../kinds.ts";
import { fieldManager, type SimulatorDeps } from "../simulator-deps.ts";

/** The selector of a workload. That of a ReplicationController is a map of labels. */
export function selectorOf(workload: KubeObject): LabelSelector {
  if (workload.kind === kinds.replicationController.kind) {
    return labelSelectorOf({ matchLabels: textMapAt(workload, ["spec", "selector"]) ?? {} });
  }
  return labelSelectorOf(memberAt(workload, ["spec", "selector"]) as LabelSelectorObject | undefined);
}

/** Whether the labels of an object match a selector. */
export function isSelected(selector: LabelSelector, { metadata }: KubeObject): boolean {
  return matchesLabels(selector, metadata.labels ?? {});
}

/**
 * The objects of a type that a workload controls. Objects whose labels no longer match are released, and matching ones without a
 * controller are adopted, unless the workload is being deleted.
 */
export async function claimChildren(
  deps: Pick<SimulatorDeps, "client">,
  owner: KubeObject,
  type: TypeRef,
): Promise<readonly KubeObject[]> {
  const { client } = deps;
  const { namespace, uid = "" } = owner.metadata;
  const owned = await client.list(type, { namespace, controller: uid });
  if (isDeleted(owner)) return owned;
  const selector = selectorOf(owner);
  const orphans = await client.list(type, { namespace, controller: "" });
  const adoptable = orphans.filter((object) => !isDeleted(object) && isSelected(selector, object));
  const [kept, released] = [
    owned.filter((one) => isSelected(selector, one)),
    owned.filter((one) => !isSelected(selector, one)),
  ];
  await Promise.all(released.map((object) => setOwners(deps, object, withoutController(object))));
  const adopted = await Promise.all(
    adoptable.map((object) =>
      setOwners(deps, object, [...(object.metadata.ownerReferences ?? []), controllerReference(owner)]),
    ),
  );
  return [...kept, ...adopted.filter((object) => object !== undefined)];
}

function withoutController({ metadata }: KubeObject): KubeObject["metadata"]["ownerReferences"] {
  return (metadata.ownerReferences ?? []).filter(({ controller }) => controller !== true);
}

async function setOwners(
  { client }: Pick<SimulatorDeps, "client">,
  object: KubeObject,
  ownerReferences: KubeObject["metadata"]["ownerReferences"],
): Promise<KubeObject | undefined> {
  const { uid, resourceVersion } = object.metadata;
  const patch = {
    metadata: { uid: uid ?? "", resourceVersion: resourceVersion ?? "", ownerReferences: ownerReferences ?? [] },
  };
  const { apiVersion, kind } = object;
  return ignoreNotFound(client.patch({ apiVersion, kind, ...keyOf(object) }, patch, { type: "merge", fieldManager }));
}
