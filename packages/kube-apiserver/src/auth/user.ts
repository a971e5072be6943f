// SPDX-License-Identifier: Apache-2.0
// Users, and the tokens and certificates by which they authenticate.
import { createHash, createPublicKey, type KeyObject, randomUUID, sign, verify } from "node:crypto";
import { unauthorized } from "@purlin/kube-objects/errors";

/** The user of a request, for authorization and access reviews. */
export interface User {
  readonly name: string;
  readonly uid?: string;
  readonly groups: readonly string[];
  readonly extra?: Readonly<Record<string, readonly string[]>>;
}

/** The key of {@link User.extra} that identifies the credential of the user. */
const credentialId = "authentication.kubernetes.io/credential-id";

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

/** The default audience of the tokens of this server. */
export const apiAudience = "https://kubernetes.default.svc";

/** A ServiceAccount a token is about. */
export interface AccountIdentity {
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
}

/** An object that a token ends with: one in the namespace of the account, or a Node. */
export interface BoundObject {
  readonly kind: "pod" | "secret" | "node";
  readonly name: string;
  readonly uid: string;
}

/** Whether a ServiceAccount with this uid still exists, and so does the object that a token of it is bound to. */
type IsPresent = (account: AccountIdentity, bound: BoundObject | undefined) => boolean;

interface Claims {
  readonly iss: string;
  readonly aud: readonly string[];
  readonly exp: number;
  readonly nbf: number;
  readonly jti?: string;
  readonly "kubernetes.io": {
    readonly namespace: string;
    readonly serviceaccount: { readonly name: string; readonly uid: string };
    readonly pod?: { readonly name: string; readonly uid: string };
    readonly secret?: { readonly name: string; readonly uid: string };
    readonly node?: { readonly name: string; readonly uid: string };
  };
}

interface TokenOptions {
  readonly audiences: readonly string[];
  readonly expiresAt: Date;
  readonly now: Date;
  readonly bound?: BoundObject | undefined;
  /** The Node that the bound Pod runs on. */
  readonly node?: { readonly name: string; readonly uid?: string } | undefined;
}

const tokenHeader = encode({ alg: "ES256", typ: "JWT" });

/** Issues and knows the tokens of ServiceAccounts: JSON Web Tokens signed with a key of the server. */
export class ServiceAccountTokens {
  readonly #key: KeyObject;
  readonly #publicKey: KeyObject;
  readonly #isPresent: IsPresent;
  readonly #now: () => Date;

  constructor(key: KeyObject, isPresent: IsPresent, now: () => Date) {
    this.#key = key;
    this.#publicKey = createPublicKey(key);
    this.#isPresent = isPresent;
    this.#now = now;
  }

  issue({ namespace, name, uid }: AccountIdentity, { audiences, expiresAt, now, bound, node }: TokenOptions): string {
    const seconds = (date: Date): number => Math.floor(date.getTime() / 1000);
    const claims = encode({
      iss: apiAudience,
      sub: `system:serviceaccount:${namespace}:${name}`,
      aud: audiences,
      exp: seconds(expiresAt),
      iat: seconds(now),
      nbf: seconds(now),
      jti: randomUUID(),
      "kubernetes.io": {
        namespace,
        ...(node && { node }),
        ...(bound && { [bound.kind]: { name: bound.name, uid: bound.uid } }),
        serviceaccount: { name, uid },
      },
    });
    const signature = sign("sha256", Buffer.from(`${tokenHeader}.${claims}`), {
      key: this.#key,
      dsaEncoding: "ieee-p1363",
    });
    return `${tokenHeader}.${claims}.${signature.toString("base64url")}`;
  }

  /** Knows the bearer of a token that was issued here, for here, has not expired, and whose account and bound object still exist. */
  readonly authenticate: TokenAuthenticator = (token, audiences = [apiAudience]) => {
    const claims = this.#verified(token);
    if (claims === undefined || !claims.aud.some((one) => audiences.includes(one))) return undefined;
    const seconds = this.#now().getTime() / 1000;
    const { namespace, serviceaccount } = claims["kubernetes.io"];
    const account = { namespace, ...serviceaccount };
    const bound = boundBy(claims["kubernetes.io"]);
    if (seconds >= claims.exp || seconds < claims.nbf - 10 || !this.#isPresent(account, bound)) return undefined;
    const user = serviceAccountUser(namespace, account.name, account.uid);
    return claims.jti === undefined ? user : { ...user, extra: { [credentialId]: [`JTI=${claims.jti}`] } };
  };

  #verified(token: string): Claims | undefined {
    const [header, body = "", signature = "", ...rest] = token.split(".");
    // Only tokens of this form are parsed: a token must not choose the algorithm that verifies it.
    if (header !== tokenHeader || rest.length > 0) return undefined;
    const key = { key: this.#publicKey, dsaEncoding: "ieee-p1363" as const };
    if (!verify("sha256", Buffer.from(`${header}.${body}`), key, Buffer.from(signature, "base64url"))) return undefined;
    return JSON.parse(Buffer.from(body, "base64url").toString()) as Claims;
  }
}

/** The audiences that the token of a ServiceAccount names; undefined for another token. The signature is not verified. */
export function namedAudiences(token: string): readonly string[] | undefined {
  const [header, body = ""] = token.split(".", 2);
  if (header !== tokenHeader) return undefined;
  try {
    const { iss, aud } = JSON.parse(Buffer.from(body, "base64url").toString()) as Partial<Claims>;
    return iss === apiAudience && Array.isArray(aud) ? aud : undefined;
  } catch {
    return undefined;
  }
}

/** The object that a token ends with. The Node of a Pod is only reported: the token ends with the Pod. */
function boundBy({ pod, secret, node }: Claims["kubernetes.io"]): BoundObject | undefined {
  if (pod !== undefined) return { kind: "pod", ...pod };
  if (secret !== undefined) return { kind: "secret", ...secret };
  return node && { kind: "node", ...node };
}

function encode(value: object): string {
  return Buffer.from(JSON.stringify(value)).toString("base64url");
}
