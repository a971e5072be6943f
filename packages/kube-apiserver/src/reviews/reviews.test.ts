// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import type { JsonObject } from "@purlin/kube-objects";
import type { User } from "../auth/user.ts";
import { answerValue } from "../testing/test-request.ts";
import { startTestServer, type TestServer } from "../testing/test-server.ts";

let server: TestServer;

before(async () => {
  server = await startTestServer();
});
after(() => server[Symbol.asyncDispose]());

const eve: User = { name: "eve", groups: ["system:authenticated"], extra: { x: ["y"] } };

async function ask(resource: string, spec: JsonObject | undefined, user?: User): Promise<[number, JsonObject]> {
  const [group, kind, path] = resource.split(" ") as [string, string, string];
  const body = { apiVersion: `${group}/v1`, kind, ...(spec === undefined ? {} : { spec }) };
  const options = { method: "POST", body, ...(user === undefined ? {} : { user }) };
  const response = await server.send(`/apis/${group}/v1/${path}`, options);
  return [response.code, answerValue(response) as JsonObject];
}

const WHOAMI = "authentication.k8s.io SelfSubjectReview selfsubjectreviews";
const RULES = "authorization.k8s.io SelfSubjectRulesReview selfsubjectrulesreviews";
const ACCESS = "authorization.k8s.io SelfSubjectAccessReview selfsubjectaccessreviews";
const TOKEN = "authentication.k8s.io TokenReview tokenreviews";

test("whoever is known may ask who they are", async () => {
  const [code, { metadata, status }] = await ask(WHOAMI, undefined, eve);
  assert.equal(code, 201);
  assert.deepEqual(Object.keys(metadata as JsonObject), ["creationTimestamp"], "nobody manages an answer");
  assert.deepEqual(status, { userInfo: { username: "eve", groups: ["system:authenticated"], extra: { x: ["y"] } } });
});

test("nobody has no self", async () => {
  const [code] = await ask(WHOAMI, undefined, { name: "system:anonymous", groups: ["system:unauthenticated"] });
  assert.equal(code, 403);
});

const basics = [
  {
    verbs: ["create"],
    apiGroups: ["authorization.k8s.io"],
    resources: ["selfsubjectaccessreviews", "selfsubjectrulesreviews"],
  },
  { verbs: ["create"], apiGroups: ["authentication.k8s.io"], resources: ["selfsubjectreviews"] },
];

test("the rules of whoever is known are those of every cluster", async () => {
  const [code, answer] = await ask(RULES, { namespace: "default" }, eve);
  assert.equal(code, 201);
  assert.deepEqual([answer["metadata"], answer["spec"]], [{}, {}], "the answer is not the question");
  const { resourceRules, nonResourceRules, incomplete } = answer["status"] as JsonObject;
  assert.deepEqual([resourceRules, incomplete], [basics, false]);
  assert.deepEqual(nonResourceRules, [
    { verbs: ["get"], nonResourceURLs: ["/healthz", "/livez", "/readyz", "/version", "/version/"] },
    {
      verbs: ["get"],
      nonResourceURLs: [
        ...["/api", "/api/*", "/apis", "/apis/*", "/healthz", "/livez", "/openapi", "/openapi/*"],
        ...["/readyz", "/version", "/version/"],
      ],
    },
  ]);
});

test("the administrator's rules end with everything", async () => {
  const [, { status }] = await ask(RULES, { namespace: "default" });
  const { resourceRules, nonResourceRules } = status as Record<string, readonly JsonObject[]>;
  assert.deepEqual(resourceRules, [...basics, { verbs: ["*"], apiGroups: ["*"], resources: ["*"] }]);
  assert.deepEqual(nonResourceRules?.at(-1), { verbs: ["*"], nonResourceURLs: ["*"] });
});

test("rules are those of a namespace", async () => {
  const [code, { message }] = await ask(RULES, {});
  assert.deepEqual([code, message], [400, "no namespace on request"]);
});

const accesses: readonly (readonly [reason: string, spec: JsonObject, allowed: boolean])[] = [
  ["no objects", { resourceAttributes: { verb: "list", resource: "pods" } }, false],
  ["a document", { nonResourceAttributes: { verb: "get", path: "/openapi/v3/api/v1" } }, true],
  ["no metrics", { nonResourceAttributes: { verb: "get", path: "/metrics" } }, false],
];

for (const [reason, spec, allowed] of accesses) {
  test(`whoever is known may ask what they may: ${reason}`, async () => {
    const [code, { status }] = await ask(ACCESS, spec, eve);
    assert.equal(code, 201);
    assert.equal((status as JsonObject)["allowed"], allowed);
  });
}

test("a token is known by its id", async () => {
  await server.until("/api/v1/namespaces/default/serviceaccounts/default", ({ code }) => code === 200);
  const made = await server.post("/api/v1/namespaces/default/serviceaccounts/default/token", {});
  const { token } = made["status"] as { readonly token: string };
  const [, { status }] = await ask(TOKEN, { token });
  const { user, authenticated } = status as { readonly user: JsonObject; readonly authenticated: boolean };
  assert.equal(authenticated, true);
  const [id] = (user["extra"] as Record<string, string[]>)["authentication.kubernetes.io/credential-id"] ?? [];
  assert.match(String(id), /^JTI=[0-9a-f-]{36}$/);
});

test("what is no token proves nothing", async () => {
  const [, { status }] = await ask(TOKEN, { token: "x" });
  assert.deepEqual(status, { user: {}, error: "invalid bearer token" });
});
