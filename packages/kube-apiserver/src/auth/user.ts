// SPDX-License-Identifier: Apache-2.0
import { createHash } from "node:crypto";
import { unauthorized } from "@purlin/kube-objects/errors";

/** The user of a request, for authorization and access reviews. */
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

/** What a caller shows to prove who they are. */
export interface Credentials {
  /** The subject of a client certificate that was verified; "rejected" when one was sent that cannot be. */
  readonly certificate: CertificateSubject | "rejected" | undefined;
  /** The Authorization header. */
  readonly authorization: string | undefined;
}

/** The common name is the user, organizations are the groups. */
export interface CertificateSubject {
  readonly commonName: string;
  readonly organizations: readonly string[];
  /** SHA-256 of the certificate, in hexadecimal digits. */
  readonly fingerprint: string;
  /** When it begins to be valid, in milliseconds since 1970. */
  readonly validFrom: number;
}

/**
 * Knows the bearer of a token, or not. A token that names its audiences must be for one of those given, which is the one of the API
 * server by default.
 */
export type TokenAuthenticator = (token: string, audiences?: readonly string[]) => User | undefined;

/**
 * The user of a request: the holder of a client certificate, else the bearer of a token, else anonymous. Throws 401 for an invalid
 * or revoked certificate and for an invalid token: a client that presents one expects to be authenticated.
 */
export function authenticate(
  credentials: Credentials,
  tokens: readonly TokenAuthenticator[],
  isRevoked: (certificate: CertificateSubject) => boolean = () => false,
): User {
  const { certificate, authorization } = credentials;
  if (certificate !== undefined && certificate !== "rejected" && certificate.commonName !== "") {
    if (isRevoked(certificate)) throw unauthorized();
    const { commonName, organizations, fingerprint } = certificate;
    const extra = { [credentialId]: [`X509SHA256=${fingerprint}`] };
    return authenticated({ name: commonName, groups: organizations, extra });
  }
  const token = bearerToken(authorization);
  if (token !== undefined) return bearer(token, tokens);
  if (certificate !== undefined) throw unauthorized();
  return anonymous;
}

function bearer(token: string, tokens: readonly TokenAuthenticator[]): User {
  for (const authenticateToken of tokens) {
    const user = authenticateToken(token);
    if (user !== undefined) return authenticated(user);
  }
  throw unauthorized();
}

/** The bearer token; another scheme, or no header, is not an attempt to authenticate. */
function bearerToken(authorization: string | undefined): string | undefined {
  const [scheme = "", token = ""] = (authorization ?? "").trim().split(/ +/, 2);
  return scheme.toLowerCase() === "bearer" && token !== "" ? token : undefined;
}

/** Authenticates the bearers of fixed tokens. Looks them up by digest, so its duration does not depend on the token. */
export function staticTokens(users: ReadonlyMap<string, User>): TokenAuthenticator {
  const byDigest = new Map([...users].map(([token, user]) => [digest(token), user]));
  return (token) => byDigest.get(digest(token));
}

function digest(token: string): string {
  return createHash("sha256").update(token).digest("base64");
}
