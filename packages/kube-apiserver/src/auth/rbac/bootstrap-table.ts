// SPDX-License-Identifier: Apache-2.0
import { controllerRoles, namespacedRoles } from "./bootstrap-controller-roles.ts";
import { userRoles } from "./bootstrap-user-roles.ts";
import type { PolicyRule } from "./policy-rule.ts";

/** A role that every cluster has, and who has it. */
export interface BootstrapRole {
  /** Empty for a ClusterRole. */
  readonly namespace: string;
  readonly name: string;
  readonly rules: readonly PolicyRule[];
  /** Undefined when the role is not bound. */
  readonly subjects: readonly BootstrapSubject[] | undefined;
}

/** A subject of a binding. ServiceAccounts are in `kube-system`. */
export interface BootstrapSubject {
  readonly kind: "User" | "Group" | "ServiceAccount";
  readonly name: string;
}

const kinds = { user: "User", group: "Group", account: "ServiceAccount" } as const;

/** All roles that every cluster has. */
export const bootstrapTable: readonly BootstrapRole[] = [userRoles, controllerRoles, namespacedRoles].flatMap(
  readTable,
);

/**
 * Reads a table. A line that is not indented begins a role: `[NAMESPACE/]NAME [= SUBJECT, …]`. The lines below are its rules:
 * `VERBS | GROUPS | RESOURCES [| NAMES]`, or `VERBS | PATHS`. The group `core` is the empty one; `+status` is that of the
 * resource before it.
 */
function readTable(text: string): BootstrapRole[] {
  const roles: (BootstrapRole & { readonly rules: PolicyRule[] })[] = [];
  for (const line of text.trim().split("\n")) {
    if (line.startsWith(" ")) roles.at(-1)?.rules.push(readRule(line.trim()));
    else roles.push({ ...readHead(line), rules: [] });
  }
  return roles;
}

function readHead(line: string): Omit<BootstrapRole, "rules"> {
  const [, namespace = "", name = "", subjects] = /^(?:([^/ ]+)\/)?(\S+)(?: =(.*))?$/.exec(line) ?? [];
  return { namespace, name, subjects: subjects?.split(", ").filter(Boolean).map(readSubject) };
}

function readSubject(text: string): BootstrapSubject {
  const [kind = "", name = ""] = text.trim().split(" ");
  return { kind: kinds[kind as keyof typeof kinds], name };
}

function readRule(line: string): PolicyRule {
  const [verbs = [], second = [], resources, resourceNames = []] = line.split(" | ").map((part) => part.split(" "));
  if (resources === undefined) {
    return { verbs, apiGroups: [], resources: [], resourceNames: [], nonResourceURLs: second };
  }
  const apiGroups = second.map((group) => (group === "core" ? "" : group));
  return { verbs, apiGroups, resources: spelledOut(resources), resourceNames, nonResourceURLs: [] };
}

function spelledOut(words: readonly string[]): string[] {
  const resources: string[] = [];
  for (const word of words) {
    const [before = ""] = resources.at(-1)?.split("/") ?? [];
    resources.push(word.startsWith("+") ? `${before}/${word.slice(1)}` : word);
  }
  return resources;
}
