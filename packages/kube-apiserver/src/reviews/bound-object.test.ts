// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { startTestServer, type TestServer } from "@purlin/kube-builtin/testing";
import type { JsonObject } from "@purlin/kube-objects/json";
import { answerValue } from "../../test/test-server.ts";

const namespacePath = "/api/v1/namespaces/default";
let server: TestServer;

before(async () => {
  server = await startTestServer();
  await server.until(`${namespacePath}/serviceaccounts/default`, ({ code }) => code === 200);
  await server.post(`${namespacePath}/secrets`, { metadata: { name: "s" } });
  await server.post(`${namespacePath}/pods`, {
    metadata: { name: "p" },
    spec: { containers: [{ name: "c", image: "i" }] },
  });
  await server.post(`${namespacePath}/serviceaccounts`, { metadata: { name: "other" } });
});
after(() => server[Symbol.asyncDispose]());

const ask = async (boundObjectRef: JsonObject, account = "default"): Promise<readonly [number, JsonObject]> => {
  const body = { spec: { boundObjectRef } };
  const response = await server.send(`${namespacePath}/serviceaccounts/${account}/token`, { method: "POST", body });
  return [response.code, answerValue(response) as JsonObject];
};

const claimsOf = (answer: JsonObject): JsonObject => {
  const { token } = answer["status"] as { readonly token: string };
  const claims = JSON.parse(Buffer.from(token.split(".")[1] ?? "", "base64url").toString()) as JsonObject;
  return claims["kubernetes.io"] as JsonObject;
};

const isKnown = async (answer: JsonObject): Promise<boolean> => {
  const { token } = answer["status"] as JsonObject;
  const review = await server.post("/apis/authentication.k8s.io/v1/tokenreviews", { spec: { token: token ?? "" } });
  return (review["status"] as JsonObject)["authenticated"] === true;
};

/** What kube-apiserver 1.36.3 says to the same requests. */
const refusals: Record<
  string,
  { reason: string; reference: JsonObject; account?: string; code: number; text: string }
> = {
  Nothing: {
    reason: "a reference to nothing",
    reference: {},
    code: 400,
    text: "cannot bind token to object of type /, Kind=",
  },
  OtherKind: {
    reason: "a kind that no token ends with",
    reference: { kind: "ConfigMap", apiVersion: "v1", name: "s" },
    code: 400,
    text: "cannot bind token to object of type /v1, Kind=ConfigMap",
  },
  OtherGroup: {
    reason: "a Pod of another group",
    reference: { kind: "Pod", apiVersion: "apps/v1", name: "p" },
    code: 400,
    text: "cannot bind token to object of type apps/v1, Kind=Pod",
  },
  NoName: {
    reason: "some Secret",
    reference: { kind: "Secret", apiVersion: "v1" },
    code: 400,
    text: "Name parameter required.",
  },
  Missing: {
    reason: "a Secret that is not there",
    reference: { kind: "Secret", apiVersion: "v1", name: "nope" },
    code: 404,
    text: 'secrets "nope" not found',
  },
  Node: {
    reason: "a Node that is not there",
    reference: { kind: "Node", apiVersion: "v1", name: "n" },
    code: 404,
    text: 'nodes "n" not found',
  },
  OtherUid: {
    reason: "another Secret of that name",
    reference: { kind: "Secret", apiVersion: "v1", name: "s", uid: "x" },
    code: 409,
    text: 'Operation cannot be fulfilled on Secret "s": the UID in the bound object reference (x) does not match the UID in record. The object might have been deleted and then recreated',
  },
  OtherAccount: {
    reason: "a Pod of another account",
    reference: { kind: "Pod", apiVersion: "v1", name: "p" },
    account: "other",
    code: 400,
    text: 'cannot bind token for serviceaccount "other" to pod running with different serviceaccount name.',
  },
};

for (const [name, { reason, reference, account, code, text }] of Object.entries(refusals)) {
  test(`a token cannot be bound: ${name}: ${reason}`, async () => {
    const [answered, { message }] = await ask(reference, account);
    assert.deepEqual([answered, message], [code, text]);
  });
}

test("a token says what it is bound to, and ends with it", async () => {
  await server.post(`${namespacePath}/secrets`, { metadata: { name: "ending" } });
  const [code, bound] = await ask({ kind: "Secret", apiVersion: "v1", name: "ending" });
  assert.equal(code, 201);
  assert.equal((claimsOf(bound)["secret"] as JsonObject)["name"], "ending");
  assert.equal(await isKnown(bound), true);
  await server.send(`${namespacePath}/secrets/ending`, { method: "DELETE" });
  assert.equal(await isKnown(bound), false, "its Secret has gone");
  await server.post(`${namespacePath}/secrets`, { metadata: { name: "ending" } });
  assert.equal(await isKnown(bound), false, "another one of that name is another one");
});

test("a token is bound to a Node, and ends with it", async () => {
  await server.post("/api/v1/nodes", { metadata: { name: "worker" } });
  const [code, bound] = await ask({ kind: "Node", apiVersion: "v1", name: "worker" });
  assert.equal(code, 201);
  assert.equal((claimsOf(bound)["node"] as JsonObject)["name"], "worker");
  assert.equal(await isKnown(bound), true);
  const pod = { metadata: { name: "placed" }, spec: { nodeName: "worker", containers: [{ name: "c", image: "i" }] } };
  await server.post(`${namespacePath}/pods`, pod);
  const [, placed] = await ask({ kind: "Pod", apiVersion: "v1", name: "placed" });
  assert.deepEqual(claimsOf(placed)["node"], claimsOf(bound)["node"], "a Pod's token names its Node");
  await server.delete("/api/v1/nodes/worker");
  assert.deepEqual([await isKnown(bound), await isKnown(placed)], [false, true]);
});

test("a Pod's token ends with the Pod, and one that is bound to nothing does not", async () => {
  const [, bound] = await ask({ kind: "Pod", apiVersion: "v1", name: "p" });
  const free = await server.post(`${namespacePath}/serviceaccounts/default/token`, {});
  assert.equal((claimsOf(bound)["pod"] as JsonObject)["name"], "p");
  assert.deepEqual(Object.keys(claimsOf(free)), ["namespace", "serviceaccount"]);
  await server.send(`${namespacePath}/pods/p`, { method: "DELETE" });
  assert.deepEqual([await isKnown(bound), await isKnown(free)], [false, true]);
});
