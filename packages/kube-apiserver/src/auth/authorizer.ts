// SPDX-License-Identifier: Apache-2.0
import { forbidden, type StatusError } from "@purlin/kube-objects/errors";
import { goQuote } from "@purlin/kube-objects/json";
import { grantedReason, grantedRules } from "./default-grants.ts";
import type { RuleSet } from "./rbac/rule-set.ts";
import { mastersGroup, serviceAccountsGroup, type User } from "./user.ts";

/** What a user wants to do: something with a resource, or with a path outside the resources. */
export type AccessAttributes = ResourceAccess | PathAccess;

export interface ResourceAccess {
  readonly kind: "resource";
  readonly verb: string;
  readonly group: string;
  readonly version: string;
  readonly resource: string;
  readonly subresource: string;
  readonly namespace: string;
  readonly name: string;
}

interface PathAccess {
  readonly kind: "path";
  readonly verb: string;
  readonly path: string;
}

/** Whether the user is allowed, and why. */
export interface AccessDecision {
  readonly allowed: boolean;
  readonly reason: string;
}

/** Decides about every request, and answers every access review. */
export type Authorizer = (user: User, access: AccessAttributes) => AccessDecision;

/** How requests are authorized: by roles and bindings, or with all rights for masters and ServiceAccounts. */
export type Authorization = "admin" | "rbac";

/** Lists the rules of a user in a namespace. */
export type RuleResolver = (user: User, namespace: string) => RuleSet;

/** Masters and ServiceAccounts may do everything, other users what everyone may do on every cluster. */
export const adminAuthorizer: Authorizer = (user, access) => {
  if (user.groups.includes(mastersGroup)) return { allowed: true, reason: "" };
  if (user.groups.includes(serviceAccountsGroup)) {
    return { allowed: true, reason: "service accounts are trusted by this server" };
  }
  const reason = grantedReason(user, access);
  return { allowed: reason !== undefined, reason: reason ?? "" };
};

/** The rules by which {@link adminAuthorizer} decides. */
export const adminRules: RuleResolver = (user) =>
  grantedRules(
    user,
    [mastersGroup, serviceAccountsGroup].some((group) => user.groups.includes(group)),
  );

/** 403 with the text of the reference, in which a user and what it asked for are escaped as in HTML. */
export function accessDenied(user: User, access: AccessAttributes, { reason }: AccessDecision): StatusError {
  const because = reason === "" ? "" : `: ${reason}`;
  const why = `${escapeHtml(deniedText(user, access))}${because}`;
  if (access.kind === "path") return forbidden({ group: "", resource: "" }, "", why);
  return forbidden({ group: access.group, resource: access.resource }, access.name, why);
}

function deniedText(user: User, access: AccessAttributes): string {
  const who = `User ${goQuote(user.name)} cannot ${access.verb}`;
  if (access.kind === "path") return `${who} path ${goQuote(access.path)}`;
  const { group, namespace, resource, subresource } = access;
  const what = subresource === "" ? resource : `${resource}/${subresource}`;
  const where = namespace === "" ? "at the cluster scope" : `in the namespace ${goQuote(namespace)}`;
  return `${who} resource ${goQuote(what)} in API group ${goQuote(group)} ${where}`;
}

function escapeHtml(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
}
