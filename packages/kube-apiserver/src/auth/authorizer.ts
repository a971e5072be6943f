// SPDX-License-Identifier: Apache-2.0
import { forbidden, type StatusError } from "@purlin/kube-objects/errors";
import { goQuote } from "@purlin/kube-objects/json";
import { grantedReason } from "./default-grants.ts";
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

/** Masters and ServiceAccounts may do everything, everybody else what everybody may on every cluster. */
export const adminAuthorizer: Authorizer = (user, access) => {
  if (user.groups.includes(mastersGroup)) return { allowed: true, reason: "" };
  if (user.groups.includes(serviceAccountsGroup)) {
    return { allowed: true, reason: "service accounts are trusted by this server" };
  }
  const reason = grantedReason(user, access);
  return { allowed: reason !== undefined, reason: reason ?? "" };
};

/** 403 in the words of the reference. */
export function accessDenied(user: User, access: AccessAttributes, { reason }: AccessDecision): StatusError {
  const because = reason === "" ? "" : `: ${reason}`;
  if (access.kind === "path") {
    const why = `User ${goQuote(user.name)} cannot ${access.verb} path ${goQuote(access.path)}${because}`;
    return forbidden({ group: "", resource: "" }, "", why);
  }
  const { group, name, namespace, resource, subresource, verb } = access;
  const what = subresource === "" ? resource : `${resource}/${subresource}`;
  const where = namespace === "" ? "at the cluster scope" : `in the namespace ${goQuote(namespace)}`;
  const why = `User ${goQuote(user.name)} cannot ${verb} resource ${goQuote(what)} in API group ${goQuote(group)} ${where}`;
  return forbidden({ group, resource }, name, `${why}${because}`);
}
