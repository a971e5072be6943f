// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import { isUnauthorized } from "@purlin/kube-objects/errors";
import { authenticate, type Credentials, serviceAccountUser, staticTokens, type User } from "./user.ts";

const tokens = [
  staticTokens(new Map([["admin-token", { name: "admin", groups: ["system:masters"] }]])),
  staticTokens(new Map([["robot-token", serviceAccountUser("ns", "robot", "uid-1")]])),
];
const jane = { commonName: "jane", organizations: ["devs", "ops"], fingerprint: "ab01", validFrom: 0 };
const extra = { "authentication.kubernetes.io/credential-id": ["X509SHA256=ab01"] };
const none: Credentials = { certificate: undefined, authorization: undefined };

const cases: Record<string, { reason: string; credentials: Partial<Credentials>; want: User | "401" }> = {
  NoCredentials: {
    reason: "no credentials",
    credentials: {},
    want: { name: "system:anonymous", groups: ["system:unauthenticated"] },
  },
  Certificate: {
    reason: "the common name is the user, organizations are groups",
    credentials: { certificate: jane },
    want: { name: "jane", groups: ["devs", "ops", "system:authenticated"], extra },
  },
  CertificateBeforeToken: {
    reason: "a verified certificate decides",
    credentials: { certificate: jane, authorization: "Bearer wrong" },
    want: { name: "jane", groups: ["devs", "ops", "system:authenticated"], extra },
  },
  Token: {
    reason: "a known bearer",
    credentials: { authorization: "Bearer admin-token" },
    want: { name: "admin", groups: ["system:masters", "system:authenticated"] },
  },
  SecondAuthenticator: {
    reason: "each is asked in turn",
    credentials: { authorization: "bearer  robot-token" },
    want: {
      name: "system:serviceaccount:ns:robot",
      uid: "uid-1",
      groups: ["system:serviceaccounts", "system:serviceaccounts:ns", "system:authenticated"],
    },
  },
  TokenBesideRejected: {
    reason: "a certificate of another server does not hurt a token",
    credentials: { certificate: "rejected", authorization: "Bearer admin-token" },
    want: { name: "admin", groups: ["system:masters", "system:authenticated"] },
  },
  WrongToken: { reason: "an unknown token", credentials: { authorization: "Bearer nope" }, want: "401" },
  Rejected: { reason: "a certificate of another authority", credentials: { certificate: "rejected" }, want: "401" },
  NoName: {
    reason: "a certificate without a user name",
    credentials: { certificate: { ...jane, commonName: "" } },
    want: "401",
  },
  EmptyToken: {
    reason: "a scheme without a token",
    credentials: { authorization: "Bearer " },
    want: { name: "system:anonymous", groups: ["system:unauthenticated"] },
  },
  OtherScheme: {
    reason: "a scheme we do not know",
    credentials: { authorization: "Basic eDp5" },
    want: { name: "system:anonymous", groups: ["system:unauthenticated"] },
  },
};

for (const [name, { reason, credentials, want }] of Object.entries(cases)) {
  test(`authenticate: ${name}`, () => {
    const act = (): User => authenticate({ ...none, ...credentials }, tokens);
    if (want === "401") {
      assert.throws(act, isUnauthorized, reason);
    } else {
      assert.deepEqual(act(), want, reason);
    }
  });
}
