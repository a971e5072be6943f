// SPDX-License-Identifier: Apache-2.0
import type { AccessAttributes } from "./authorizer.ts";
import { bootstrapTable } from "./rbac/bootstrap-table.ts";
import { type PolicyRule, ruleAllows } from "./rbac/policy-rule.ts";
import type { RuleSet } from "./rbac/rule-set.ts";
import type { User } from "./user.ts";

/** A role that all members of some groups have on every cluster. */
interface Grant {
  /** The name of the role, and of its binding. */
  readonly role: string;
  readonly groups: readonly string[];
  readonly rules: readonly PolicyRule[];
}

/** To review oneself, to discover what the server serves, and for the group of the same name to read metrics. */
const publicRoles = ["system:basic-user", "system:public-info-viewer", "system:discovery", "system:monitoring"];

const defaultGrants: readonly Grant[] = publicRoles.flatMap((role) =>
  bootstrapTable
    .filter(({ name }) => name === role)
    .map(({ rules, subjects = [] }) => ({ role, rules, groups: subjects.map(({ name }) => name) })),
);

/** The rule of everything. */
const everything: readonly PolicyRule[] = bootstrapTable.find(({ name }) => name === "cluster-admin")?.rules ?? [];

/** Why a user is allowed by default; undefined when the user is not. */
export function grantedReason(user: User, access: AccessAttributes): string | undefined {
  for (const { role, groups, rules } of defaultGrants) {
    const group = groups.find((name) => user.groups.includes(name));
    if (group !== undefined && rules.some((rule) => ruleAllows(rule, access))) {
      return `RBAC: allowed by ClusterRoleBinding "${role}" of ClusterRole "${role}" to Group "${group}"`;
    }
  }
  return undefined;
}

/** The rules of a user that is trusted with everything, or only with what everyone may do. */
export function grantedRules(user: User, isTrusted: boolean): RuleSet {
  const granted = defaultGrants.filter(({ groups }) => groups.some((group) => user.groups.includes(group)));
  const rules = granted.flatMap((grant) => grant.rules);
  return { rules: isTrusted ? [...rules, ...everything] : rules, missing: [] };
}
