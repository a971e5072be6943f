// SPDX-License-Identifier: Apache-2.0
// The audiences of token reviews, answered as kube-apiserver does.

import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import { generateKeyPairSync } from "node:crypto";
import { test } from "node:test";
import { finish } from "@purlin/base";
import type { JsonObject } from "@purlin/kube-objects/json";
import { ServiceAccountTokens, staticTokens } from "../auth/user.ts";
import { authenticationReviews } from "./access-reviews.ts";

const jane = { name: "jane", groups: ["dev"] };
const account = { namespace: "default", name: "robot", uid: "u-1" };
const { privateKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
const accounts = new ServiceAccountTokens(
  privateKey,
  () => true,
  () => new Date(0),
);
const issued = (...audiences: readonly string[]): string =>
  accounts.issue(account, { audiences, expiresAt: new Date(600_000), now: new Date(0) });
const fixed = staticTokens(new Map([["fixed", { name: "admin", groups: [] }]]));
const status = (text: string, audiences?: readonly string[]): JsonObject => {
  const review = { spec: { token: text, ...(audiences && { audiences: [...audiences] }) } };
  const reviews = authenticationReviews(() => [fixed, accounts.authenticate]);
  const answer = reviews["tokenreviews"] ?? assert.fail();
  const answered = finish(answer({ review, user: jane, namespace: "", now: new Date(0) }));
  return (answered["status"] ?? assert.fail()) as JsonObject;
};
const mismatch = (own: string, target: string): JsonObject => ({
  user: {},
  error: `[invalid bearer token, token audiences [${own}] is invalid for the target audiences [${target}]]`,
});
const api = "https://kubernetes.default.svc";

test("without audiences, a token must be for the API server", () => {
  for (const audiences of [undefined, []]) {
    assert.deepEqual(status(issued(api), audiences)["audiences"], [api]);
    assert.deepEqual(status(issued("vault"), audiences), mismatch('"vault"', `"${api}"`));
  }
});

test("the answer has those audiences that are asked for and that the token has, in the order of the question", () => {
  const { authenticated, user, audiences } = status(issued("a", api, "b"), ["c", "b", "a"]);
  assert.deepEqual([authenticated, audiences], [true, ["b", "a"]]);
  assert.equal((user as JsonObject)["username"], "system:serviceaccount:default:robot");
});

test("a token for other audiences is not authenticated, and both lists are quoted", () => {
  assert.deepEqual(status(issued(api, "x"), ["vault", 'a"b']), mismatch(`"${api}" "x"`, '"vault" "a\\"b"'));
});

test("a fixed token is for the API server only", () => {
  assert.deepEqual(status("fixed", ["vault", api])["audiences"], [api]);
  assert.deepEqual(status("fixed", ["vault"]), { user: {}, error: "invalid bearer token" });
});

test("the audiences of a token with another signature are not reported", () => {
  const [header, body] = issued("vault").split(".");
  const [, , signature] = issued("vault").split(".");
  assert.deepEqual(status(`${header}.${body}.${signature}`), { user: {}, error: "invalid bearer token" });
});

for (const [name, body] of Object.entries({
  "not JSON": "x",
  null: "null",
  "of another issuer": '{"iss":"x","aud":["vault"]}',
})) {
  test(`a token whose claims are ${name} is invalid`, () => {
    const [header] = issued().split(".");
    const text = `${header}.${Buffer.from(body).toString("base64url")}.x`;
    assert.deepEqual(status(text, ["vault"]), { user: {}, error: "invalid bearer token" });
  });
}
