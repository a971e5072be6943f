// SPDX-License-Identifier: Apache-2.0
import { goQuote } from "@purlin/kube-objects/json";
import type { PolicyRule } from "./policy-rule.ts";

/** A role that a binding refers to. The namespace is empty for ClusterRoles. */
export interface RoleRef {
  readonly kind: string;
  readonly name: string;
  readonly namespace: string;
}

/** The rules of a user in a namespace. */
export interface RuleSet {
  readonly rules: readonly PolicyRule[];
  /** Roles that bindings of the user refer to and that do not exist. */
  readonly missing: readonly RoleRef[];
}

/** The error about roles that do not exist, each once; empty without any. `resource` is the name of their resource in the text. */
export function missingRolesText(
  roles: readonly RoleRef[],
  resource: (role: RoleRef) => string = ({ kind }) => kind.toLowerCase(),
): string {
  const errors = [
    ...new Set(roles.map((role) => `${resource(role)}.rbac.authorization.k8s.io ${goQuote(role.name)} not found`)),
  ];
  return errors.length > 1 ? `[${errors.join(", ")}]` : (errors[0] ?? "");
}
