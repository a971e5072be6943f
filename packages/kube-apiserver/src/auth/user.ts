// SPDX-License-Identifier: Apache-2.0

/** Who makes a request, as authorization and access reviews see them. */
export interface User {
  readonly name: string;
  readonly uid?: string;
  readonly groups: readonly string[];
  readonly extra?: Readonly<Record<string, readonly string[]>>;
}

/** The key of {@link User.extra} that identifies the credential of the user. */
export const credentialId = "authentication.kubernetes.io/credential-id";

/** Whose members may do everything. */
export const mastersGroup = "system:masters";
export const authenticatedGroup = "system:authenticated";
export const unauthenticatedGroup = "system:unauthenticated";
export const serviceAccountsGroup = "system:serviceaccounts";

/** The user of requests without credentials. */
export const anonymous: User = { name: "system:anonymous", groups: [unauthenticatedGroup] };

/** The user with the group every authenticated one is in. */
export function authenticated(user: User): User {
  return user.groups.includes(authenticatedGroup) ? user : { ...user, groups: [...user.groups, authenticatedGroup] };
}

/** The user a ServiceAccount is. */
export function serviceAccountUser(namespace: string, name: string, uid: string): User {
  return {
    name: `system:serviceaccount:${namespace}:${name}`,
    uid,
    groups: [serviceAccountsGroup, `${serviceAccountsGroup}:${namespace}`],
  };
}

/** The server itself, when it makes or changes objects. */
export const systemUser: User = { name: "system:apiserver", groups: [mastersGroup, "system:authenticated"] };
