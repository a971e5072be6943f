// SPDX-License-Identifier: Apache-2.0
import { createPublicKey, type KeyObject, randomUUID, sign, verify } from "node:crypto";
import { credentialId, serviceAccountUser, type TokenAuthenticator } from "./user.ts";

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
