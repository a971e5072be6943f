// SPDX-License-Identifier: Apache-2.0

/** Who makes a request, as authorization and access reviews see them. */
export interface User {
  readonly name: string;
  readonly uid?: string;
  readonly groups: readonly string[];
  readonly extra?: Readonly<Record<string, readonly string[]>>;
}

/** The key of {@link User.extra} that says which credential somebody came with. */
export const CREDENTIAL_ID = "authentication.kubernetes.io/credential-id";

/** Whose members may do everything. */
export const MASTERS_GROUP = "system:masters";
export const AUTHENTICATED_GROUP = "system:authenticated";
export const UNAUTHENTICATED_GROUP = "system:unauthenticated";
export const SERVICE_ACCOUNTS_GROUP = "system:serviceaccounts";

/** Nobody in particular. */
export const ANONYMOUS: User = { name: "system:anonymous", groups: [UNAUTHENTICATED_GROUP] };

/** The user with the group every authenticated one is in. */
export function authenticated(user: User): User {
  return user.groups.includes(AUTHENTICATED_GROUP) ? user : { ...user, groups: [...user.groups, AUTHENTICATED_GROUP] };
}

/** The user a ServiceAccount is. */
export function serviceAccountUser(namespace: string, name: string, uid: string): User {
  return {
    name: `system:serviceaccount:${namespace}:${name}`,
    uid,
    groups: [SERVICE_ACCOUNTS_GROUP, `${SERVICE_ACCOUNTS_GROUP}:${namespace}`],
  };
}
