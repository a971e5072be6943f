// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { startTestServer, type TestServer } from "@purlin/kube-builtin/testing";
import type { JsonObject } from "@purlin/kube-objects/json";
import { answerValue } from "../../test/test-server.ts";
import type { User } from "../auth/user.ts";

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

const whoami = "authentication.k8s.io SelfSubjectReview selfsubjectreviews";
const rules = "authorization.k8s.io SelfSubjectRulesReview selfsubjectrulesreviews";
const access = "authorization.k8s.io SelfSubjectAccessReview selfsubjectaccessreviews";
const tokenReview = "authentication.k8s.io TokenReview tokenreviews";

test("an authenticated user may review itself", async () => {
  const [code, { metadata, status }] = await ask(whoami, undefined, eve);
  assert.equal(code, 201);
  assert.deepEqual(Object.keys(metadata as JsonObject), ["creationTimestamp"], "an answer has no managed fields");
  assert.deepEqual(status, { userInfo: { username: "eve", groups: ["system:authenticated"], extra: { x: ["y"] } } });
});

test("the anonymous user cannot review itself", async () => {
  const [code] = await ask(whoami, undefined, { name: "system:anonymous", groups: ["system:unauthenticated"] });
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

test("the rules of an authenticated user are those of every cluster", async () => {
  const [code, answer] = await ask(rules, { namespace: "default" }, eve);
  assert.equal(code, 201);
  assert.deepEqual([answer["metadata"], answer["spec"]], [{}, {}], "the answer is not the question");
  const { resourceRules, nonResourceRules, incomplete } = answer["status"] as JsonObject;
  assert.deepEqual([resourceRules, incomplete], [basics, false]);
  assert.deepEqual(nonResourceRules, [
    {
      verbs: ["get"],
      nonResourceURLs: [
        ...["/api", "/api/*", "/apis", "/apis/*", "/healthz", "/livez", "/openapi", "/openapi/*"],
        ...["/readyz", "/version", "/version/"],
      ],
    },
    { verbs: ["get"], nonResourceURLs: ["/healthz", "/livez", "/readyz", "/version", "/version/"] },
  ]);
});

test("the administrator's rules begin with everything", async () => {
  const [, { status }] = await ask(rules, { namespace: "default" });
  const { resourceRules, nonResourceRules } = status as Record<string, readonly JsonObject[]>;
  assert.deepEqual(resourceRules, [{ verbs: ["*"], apiGroups: ["*"], resources: ["*"] }, ...basics]);
  assert.deepEqual(nonResourceRules?.[0], { verbs: ["*"], nonResourceURLs: ["*"] });
});

test("rules are those of a namespace", async () => {
  const [code, { message }] = await ask(rules, {});
  assert.deepEqual([code, message], [400, "no namespace on request"]);
});

const accesses: readonly (readonly [reason: string, spec: JsonObject, allowed: boolean])[] = [
  ["no objects", { resourceAttributes: { verb: "list", resource: "pods" } }, false],
  ["a document", { nonResourceAttributes: { verb: "get", path: "/openapi/v3/api/v1" } }, true],
  ["no metrics", { nonResourceAttributes: { verb: "get", path: "/metrics" } }, false],
];

for (const [reason, spec, allowed] of accesses) {
  test(`an authenticated user may ask what they may: ${reason}`, async () => {
    const [code, { status }] = await ask(access, spec, eve);
    assert.equal(code, 201);
    assert.equal((status as JsonObject)["allowed"], allowed);
  });
}

const subject = "authorization.k8s.io SubjectAccessReview subjectaccessreviews";
const local = "authorization.k8s.io LocalSubjectAccessReview namespaces/default/localsubjectaccessreviews";
const pods = { verb: "get", resource: "pods", namespace: "default" };
const document = { verb: "get", path: "/x" };
const one =
  "spec.resourceAttributes: Invalid value: null: exactly one of nonResourceAttributes or resourceAttributes must be specified";
const noSubject = 'spec.user: Invalid value: "": at least one of user or group must be specified';
const printed = 'spec.nonResourceAttributes: Invalid value: {"Path":"/x","Verb":"get"}';

// Answers of kube-apiserver 1.36.3.
const refused: readonly (readonly [reason: string, resource: string, spec: JsonObject, problem: string])[] = [
  ["nothing is asked", access, {}, one],
  [
    "an object and a path",
    access,
    { resourceAttributes: pods, nonResourceAttributes: document },
    `${printed}: cannot be specified in combination with resourceAttributes`,
  ],
  ["without a user", subject, { resourceAttributes: pods }, noSubject],
  ["without a group", subject, { resourceAttributes: pods, groups: [] }, noSubject],
  ["a uid is not a user", subject, { resourceAttributes: pods, uid: "x" }, noSubject],
  ["nothing at all", subject, {}, `[${one}, ${noSubject}]`],
  ["nothing at all in a namespace", local, {}, `[${one}, ${noSubject}]`],
  [
    "elsewhere",
    local,
    { resourceAttributes: { ...pods, namespace: "other" }, user: "eve" },
    'spec.resourceAttributes.namespace: Invalid value: "other": must match metadata.namespace',
  ],
  [
    "everywhere",
    local,
    { resourceAttributes: { verb: "get", resource: "pods" }, user: "eve" },
    'spec.resourceAttributes.namespace: Invalid value: "": must match metadata.namespace',
  ],
  [
    "nowhere",
    local,
    { nonResourceAttributes: document, user: "eve" },
    `${printed}: disallowed on this kind of request`,
  ],
];

for (const [reason, resource, spec, problem] of refused) {
  test(`what cannot be answered is refused: ${resource.split(" ")[1]}: ${reason}`, async () => {
    const [code, { message }] = await ask(resource, spec);
    assert.deepEqual([code, message], [422, `.authorization.k8s.io "" is invalid: ${problem}`]);
  });
}

test("others are judged by their names and groups", async () => {
  for (const resource of [subject, local]) {
    const allowed = async (who: JsonObject): Promise<unknown> => {
      const [code, { status }] = await ask(resource, { resourceAttributes: pods, ...who });
      assert.equal(code, 201);
      return (status as JsonObject)["allowed"];
    };
    assert.equal(await allowed({ user: "eve" }), false);
    assert.equal(await allowed({ user: "eve", groups: ["system:masters"] }), true);
    assert.equal(await allowed({ groups: ["system:masters"] }), true);
  }
});

test("a token is known by its id", async () => {
  await server.until("/api/v1/namespaces/default/serviceaccounts/default", ({ code }) => code === 200);
  const made = await server.post("/api/v1/namespaces/default/serviceaccounts/default/token", {});
  const { token } = made["status"] as { readonly token: string };
  const [, { status }] = await ask(tokenReview, { token });
  const { user, authenticated } = status as { readonly user: JsonObject; readonly authenticated: boolean };
  assert.equal(authenticated, true);
  const [id] = (user["extra"] as Record<string, string[]>)["authentication.kubernetes.io/credential-id"] ?? [];
  assert.match(String(id), /^JTI=[0-9a-f-]{36}$/);
});

test("an invalid token is not authenticated", async () => {
  const [, { status }] = await ask(tokenReview, { token: "x" });
  assert.deepEqual(status, { user: {}, error: "invalid bearer token" });
});

const question = { resourceAttributes: { verb: "get", resource: "pods", namespace: "default" } };
const asked = '{"f:spec":{"f:resourceAttributes":{".":{},"f:namespace":{},"f:resource":{},"f:verb":{}}}}';
const managed = `"managedFields":[{"manager":"unknown","operation":"Update","apiVersion":"authorization.k8s.io/v1","time":"T","fieldsType":"FieldsV1","fieldsV1":${asked}}]`;

// Answers of kube-apiserver 1.36.3.
const metadataRows: readonly (readonly [path: string, metadata: JsonObject, want: string])[] = [
  ["selfsubjectaccessreviews", { name: "x" }, `{"name":"x",${managed}}: must be empty`],
  [
    "selfsubjectaccessreviews",
    { creationTimestamp: "2020-01-01T00:00:00Z", uid: "1", resourceVersion: "1", generation: 2 },
    `{"resourceVersion":"1","generation":2,${managed}}: must be empty`,
  ],
  ["selfsubjectaccessreviews", { namespace: "default", creationTimestamp: null }, ""],
  [
    "namespaces/default/localsubjectaccessreviews",
    { namespace: "default", name: "x" },
    `{"name":"x","namespace":"default",${managed.replace('"f:verb":{}}', '"f:verb":{}},"f:user":{}')}}: must be empty except for namespace`,
  ],
];

for (const [path, metadata, want] of metadataRows) {
  test(`${path} with the metadata ${JSON.stringify(metadata)}`, async () => {
    const isLocal = path.includes("local");
    const kind = isLocal ? "LocalSubjectAccessReview" : "SelfSubjectAccessReview";
    const spec = { ...question, ...(isLocal && { user: "a" }) };
    const body = { apiVersion: "authorization.k8s.io/v1", kind, metadata, spec };
    const response = await server.send(`/apis/authorization.k8s.io/v1/${path}`, { method: "POST", body });
    const { message = "" } = answerValue(response) as { readonly message?: string };
    const shown = message.replaceAll(/"time":"[^"]*"/g, '"time":"T"');
    const text = `.authorization.k8s.io "" is invalid: metadata: Invalid value: ${want}`;
    assert.deepEqual([response.code, shown], want === "" ? [201, ""] : [422, text]);
  });
}

test("a token that should live for more than 2^32 seconds is refused, also beyond 2^53", async () => {
  const url = "/api/v1/namespaces/default/serviceaccounts/default";
  await server.until(url, ({ code }) => code === 200);
  const body = {
    apiVersion: "authentication.k8s.io/v1",
    kind: "TokenRequest",
    spec: { audiences: [], expirationSeconds: 9223372036854775807n },
  };
  const response = await server.send(`${url}/token`, { method: "POST", body });
  assert.match(
    String((answerValue(response) as JsonObject)["message"]),
    /Invalid value: 9223372036854775807: may not specify a duration larger than 2\^32 seconds/,
  );
});
