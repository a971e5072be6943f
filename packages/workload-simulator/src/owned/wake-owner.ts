// SPDX-License-Identifier: Apache-2.0
import type { CacheChange, InformerPool } from "@purlin/kube-client";
import type { WatchSpec } from "@purlin/kube-controller";
import { controllerOf, type KubeObject, keyOf, type ObjectKey, type TypeRef } from "@purlin/kube-objects/object";
import { isSelected, selectorOf } from "./claim-children.ts";

const namespaceIndex = "namespace";

/** The objects of a type in a namespace, as its informer has them. */
export function listNamespace(informers: InformerPool, type: TypeRef, namespace: string): readonly KubeObject[] {
  const informer = informers.peek(type);
  if (informer === undefined) return [];
  informer.addIndex(namespaceIndex, ({ metadata }) => [metadata.namespace ?? ""]);
  return informer.byIndex(namespaceIndex, namespace);
}

/** Wakes the owner of a dependent that changes, and the workloads that may adopt one without an owner. */
export function watchDependents(informers: InformerPool, owner: TypeRef, dependent: TypeRef): WatchSpec {
  const ownerKeys = (object: KubeObject): readonly ObjectKey[] => {
    const { namespace } = object.metadata;
    const controller = controllerOf(object);
    if (controller === undefined) return adoptersOf(informers, owner, object);
    const isOurs = controller.kind === owner.kind && controller.apiVersion === owner.apiVersion;
    return isOurs ? [{ namespace, name: controller.name }] : [];
  };
  const keys = (change: CacheChange): readonly ObjectKey[] => {
    const now = ownerKeys(change.object);
    return change.type === "updated" ? [...now, ...ownerKeys(change.previous)] : now;
  };
  return { type: `Dependent${dependent.kind}`, object: dependent, keys };
}

function adoptersOf(informers: InformerPool, owner: TypeRef, object: KubeObject): readonly ObjectKey[] {
  const workloads = listNamespace(informers, owner, object.metadata.namespace ?? "");
  return workloads.filter((workload) => isSelected(selectorOf(workload), object)).map(keyOf);
}
