// SPDX-License-Identifier: Apache-2.0

import { type KubeObject, memberAt, textAt, textsAt } from "@purlin/kube-objects/object";

/** What may be done to an external resource. */
export interface ManagementPolicy {
  /** Why the combination of policies cannot be used. */
  readonly problem: string | undefined;
  readonly isPaused: boolean;
  readonly isObserveOnly: boolean;
  readonly mayCreate: boolean;
  readonly mayUpdate: boolean;
  readonly mayDelete: boolean;
  readonly mayLateInitialize: boolean;
}

/** The combinations that mean something, each with its actions in alphabetical order. An empty one pauses. */
const supported: ReadonlySet<string> = new Set([
  "*",
  "Create,Delete,LateInitialize,Observe,Update",
  "Observe",
  "",
  "Create,Delete,Observe,Update",
  "Create,LateInitialize,Observe,Update",
  "Create,Observe,Update",
  "Create,Delete,LateInitialize,Observe",
  "Create,LateInitialize,Observe",
  "Create,Delete,Observe",
  "Create,Observe",
  "Delete,Observe",
  "Observe,Update",
  "LateInitialize,Observe",
  "LateInitialize,Observe,Update",
]);

/** The policy of a managed resource. `spec.deletionPolicy` counts for cluster-scoped kinds, as in Crossplane v1. */
export function managementPolicyOf(object: KubeObject, isLegacy: boolean): ManagementPolicy {
  const given = memberAt(object, ["spec", "managementPolicies"]);
  const actions = new Set(Array.isArray(given) ? textsAt(object, ["spec", "managementPolicies"]) : ["*"]);
  const has = (action: string): boolean => actions.has(action) || actions.has("*");
  const list = [...actions].toSorted();
  return {
    problem: supported.has(list.join(",")) ? undefined : unsupported(list),
    isPaused: actions.size === 0,
    isObserveOnly: actions.size === 1 && actions.has("Observe"),
    mayCreate: has("Create"),
    mayUpdate: has("Update"),
    mayDelete: isLegacy ? mayDeleteLegacy(object, actions) : has("Delete"),
    mayLateInitialize: has("LateInitialize"),
  };
}

function unsupported(actions: readonly string[]): string {
  return `\`spec.managementPolicies\` is set to a value([${actions.join(" ")}]) which is not supported. Check docs for supported policies`;
}

/** Of the two policies the one that is not its default wins. */
function mayDeleteLegacy(object: KubeObject, actions: ReadonlySet<string>): boolean {
  const orphans = textAt(object, ["spec", "deletionPolicy"]) === "Orphan";
  const isDefault = actions.size === 1 && actions.has("*");
  return isDefault ? !orphans : actions.has("Delete");
}
