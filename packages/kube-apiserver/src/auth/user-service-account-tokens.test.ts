// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { createHmac, generateKeyPairSync, sign } from "node:crypto";
import { test } from "node:test";
import { type AccountIdentity, apiAudience, ServiceAccountTokens } from "./user.ts";

const { privateKey, publicKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
const account: AccountIdentity = { namespace: "ns", name: "robot", uid: "u-1" };
const start = new Date("2026-11-15T12:00:00Z");
const later = (seconds: number): Date => new Date(start.getTime() + seconds * 1000);

interface Scene {
  readonly now?: Date;
  readonly present?: readonly AccountIdentity[];
}

function tokens({ now = start, present = [account] }: Scene = {}): ServiceAccountTokens {
  const isPresent = (one: AccountIdentity): boolean =>
    present.some(({ namespace, name, uid }) => one.namespace === namespace && one.name === name && one.uid === uid);
  return new ServiceAccountTokens(privateKey, isPresent, () => now);
}

const issue = (audiences: readonly string[] = [apiAudience]): string =>
  tokens().issue(account, { audiences, expiresAt: later(600), now: start });

const part = (token: string, at: number): Record<string, unknown> =>
  JSON.parse(Buffer.from(token.split(".")[at] ?? "", "base64url").toString()) as Record<string, unknown>;

const encode = (value: object): string => Buffer.from(JSON.stringify(value)).toString("base64url");

test("a token says who it is about, for whom, and from when to when", () => {
  const claims = part(issue(["vault", apiAudience]), 1);
  assert.deepEqual(
    { ...claims, jti: typeof claims["jti"] },
    {
      iss: apiAudience,
      sub: "system:serviceaccount:ns:robot",
      aud: ["vault", apiAudience],
      exp: later(600).getTime() / 1000,
      iat: start.getTime() / 1000,
      nbf: start.getTime() / 1000,
      jti: "string",
      "kubernetes.io": { namespace: "ns", serviceaccount: { name: "robot", uid: "u-1" } },
    },
  );
  assert.notEqual(part(issue(), 1)["jti"], claims["jti"], "each token has its own id");
});

test("its bearer is known, with its groups and the token's own id", () => {
  const token = issue();
  const user = tokens().authenticate(token);
  assert.equal(user?.name, "system:serviceaccount:ns:robot");
  assert.deepEqual(user?.groups, ["system:serviceaccounts", "system:serviceaccounts:ns"]);
  assert.deepEqual(Object.values(user?.extra ?? {}), [[`JTI=${String(part(token, 1)["jti"])}`]]);
});

const [header = "", claims = "", signature = ""] = issue().split(".");
const tampered = encode({ ...part(issue(), 1), sub: "system:serviceaccount:kube-system:admin" });
const foreign = sign("sha256", Buffer.from(`${header}.${claims}`), {
  key: generateKeyPairSync("ec", { namedCurve: "P-256" }).privateKey,
  dsaEncoding: "ieee-p1363",
}).toString("base64url");
const none = encode({ alg: "none", typ: "JWT" });
const hs256 = encode({ alg: "HS256", typ: "JWT" });
const hmac = createHmac("sha256", publicKey.export({ type: "spki", format: "pem" }))
  .update(`${hs256}.${claims}`)
  .digest("base64url");

const refused: Record<string, { reason: string; token: string; scene?: Scene }> = {
  Expired: { reason: "from the very second", token: issue(), scene: { now: later(600) } },
  NotYet: { reason: "clocks may differ by ten seconds, not by more", token: issue(), scene: { now: later(-11) } },
  OtherAudience: { reason: "for another audience", token: issue(["vault"]) },
  AccountGone: { reason: "tokens end with their account", token: issue(), scene: { present: [] } },
  AccountAnew: {
    reason: "another account of that name",
    token: issue(),
    scene: { present: [{ ...account, uid: "u-2" }] },
  },
  OtherClaims: { reason: "the signature is of other claims", token: `${header}.${tampered}.${signature}` },
  OtherKey: { reason: "signed with another key", token: `${header}.${claims}.${foreign}` },
  NoSignature: { reason: "not signed", token: `${header}.${claims}.` },
  AlgorithmNone: { reason: "the algorithm of the header is ignored", token: `${none}.${claims}.` },
  AlgorithmHmac: { reason: "the public key is not a secret", token: `${hs256}.${claims}.${hmac}` },
  FourParts: { reason: "not of our form", token: `${issue()}.x` },
  NoToken: { reason: "no token at all", token: "hello" },
  Empty: { reason: "nothing", token: "" },
};

for (const [name, { reason, token, scene }] of Object.entries(refused)) {
  test(`the bearer of a token is not known: ${name}`, () => {
    assert.equal(tokens(scene).authenticate(token), undefined, reason);
  });
}

test("a token is good until just before it expires, and a little before it begins", () => {
  const token = issue();
  assert.ok(tokens({ now: later(599) }).authenticate(token));
  assert.ok(tokens({ now: later(-9) }).authenticate(token));
});
