// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import { startTestServer, type TestServer } from "@purlin/kube-builtin/testing";
import type { JsonObject } from "@purlin/kube-objects/json";
import { objectsAt } from "@purlin/kube-objects/object";
import { answerValue, definitionsPath, widgetCrd } from "../../test/test-server.ts";

const meta = (object: JsonObject): Record<string, never> => object["metadata"] as unknown as Record<string, never>;
const isGone = ({ code }: { readonly code: number }): boolean => code === 404;

async function withNamespace(server: TestServer, name: string): Promise<string> {
  await server.post("/api/v1/namespaces", { metadata: { name } });
  return `/api/v1/namespaces/${name}`;
}

test("every namespace gets a default account, again after it is deleted", async () => {
  await using server = await startTestServer();
  const account = `${await withNamespace(server, "a")}/serviceaccounts/default`;
  await server.until(account, ({ code }) => code === 200);
  const before = meta(await server.body(account))["uid"];
  await server.delete(account);
  await server.until(
    account,
    (response) => response.code === 200 && meta(answerValue(response) as JsonObject)["uid"] !== before,
  );
});

test("a namespace goes after what is in it, says what holds it, and takes nothing new meanwhile", async () => {
  await using server = await startTestServer();
  const path = await withNamespace(server, "a");
  await server.post(`${path}/configmaps`, { metadata: { name: "plain" } });
  await server.post(`${path}/secrets`, { metadata: { name: "held", finalizers: ["example.org/hold"] } });
  const marked = await server.delete(path);
  assert.deepEqual((marked["status"] as JsonObject)["phase"], "Terminating");
  await server.until(`${path}/configmaps/plain`, isGone);
  const late = await server.send(`${path}/configmaps`, { method: "POST", body: { metadata: { name: "late" } } });
  assert.equal(late.code, 403);
  const { details } = answerValue(late) as unknown as { details: { causes: JsonObject[] } };
  assert.equal(details.causes[0]?.["reason"], "NamespaceTerminating");
  const conditionsOf = (object: JsonObject): JsonObject[] => objectsAt(object, ["status", "conditions"]);
  await server.until(path, (response) => conditionsOf(answerValue(response) as JsonObject).length > 0);
  const conditions = conditionsOf(await server.body(path));
  const remaining = conditions.find(({ type }) => type === "NamespaceFinalizersRemaining");
  assert.deepEqual([remaining?.["status"], remaining?.["reason"]], ["True", "SomeFinalizersRemain"]);
  assert.match(String(remaining?.["message"]), /example.org\/hold in 1 resource instances/);
  await server.patch(`${path}/secrets/held`, { metadata: { finalizers: null } });
  await server.until(path, isGone);
});

test("the phase of a namespace follows from its deletion, and can be left out", async () => {
  await using server = await startTestServer();
  const path = await withNamespace(server, "a");
  const put = async (status?: JsonObject): Promise<[number, unknown]> => {
    const body = { metadata: { name: "a" }, ...(status === undefined ? {} : { status }) };
    const response = await server.send(`${path}/status?dryRun=All`, { method: "PUT", body });
    const answer = answerValue(response) as JsonObject;
    return [response.code, response.code === 200 ? answer["status"] : answer["message"]];
  };
  for (const status of [undefined, {}, { phase: "Active" }]) {
    assert.deepEqual(await put(status), [200, { phase: "Active" }], JSON.stringify(status));
  }
  const [code, message] = await put({ phase: "Terminating" });
  assert.equal(code, 422);
  assert.match(String(message), /status.Phase: Invalid value: "Terminating": may only be 'Active' if/);
});

test("the namespaces every cluster needs cannot be deleted", async () => {
  await using server = await startTestServer();
  const response = await server.send("/api/v1/namespaces/default", { method: "DELETE" });
  assert.equal(response.code, 403);
});

function dependent(owner: JsonObject, name: string, more: JsonObject = {}): JsonObject {
  const reference = {
    apiVersion: "v1",
    kind: "ConfigMap",
    name: meta(owner)["name"] ?? "",
    uid: meta(owner)["uid"] ?? "",
    ...more,
  };
  return { metadata: { name, ownerReferences: [reference] } };
}

test("dependents go with their owner, stay when they are left behind, and hold it when it waits", async () => {
  await using server = await startTestServer();
  const path = `${await withNamespace(server, "a")}/configmaps`;
  const [background, orphaning, waiting] = await Promise.all(
    ["background", "orphaning", "waiting"].map((name) => server.post(path, { metadata: { name } })),
  );
  await server.post(path, dependent(background as JsonObject, "collected"));
  await server.post(path, dependent(orphaning as JsonObject, "left"));
  await server.post(path, dependent(waiting as JsonObject, "blocking", { blockOwnerDeletion: true }));
  await server.patch(`${path}/blocking`, { metadata: { finalizers: ["example.org/hold"] } });
  await server.delete(`${path}/background`);
  await server.delete(`${path}/orphaning`, { propagationPolicy: "Orphan" });
  await server.delete(`${path}/waiting`, { propagationPolicy: "Foreground" });
  await server.until(`${path}/collected`, isGone);
  await server.until(`${path}/orphaning`, isGone);
  assert.equal(meta(await server.body(`${path}/left`))["ownerReferences"], undefined);
  assert.deepEqual(meta(await server.body(`${path}/waiting`))["finalizers"], ["foregroundDeletion"]);
  await server.until(
    `${path}/blocking`,
    (response) => meta(answerValue(response) as JsonObject)["deletionTimestamp"] !== undefined,
  );
  await server.patch(`${path}/blocking`, { metadata: { finalizers: null } });
  await server.until(`${path}/waiting`, isGone);
});

test("a role made of others has their rules, and loses them with them", async () => {
  await using server = await startTestServer();
  const roles = "/apis/rbac.authorization.k8s.io/v1/clusterroles";
  const rule = (verb: string): JsonObject => ({ apiGroups: [""], resources: ["pods"], verbs: [verb] });
  await server.post(roles, {
    metadata: { name: "sum" },
    aggregationRule: { clusterRoleSelectors: [{ matchLabels: { part: "yes" } }] },
    rules: [],
  });
  await server.post(roles, { metadata: { name: "b", labels: { part: "yes" } }, rules: [rule("list"), rule("get")] });
  await server.post(roles, { metadata: { name: "a", labels: { part: "yes" } }, rules: [rule("get")] });
  const rulesOf = (object: JsonObject): string =>
    JSON.stringify(objectsAt(object, ["rules"]).map((one) => one["verbs"]));
  await server.until(
    `${roles}/sum`,
    (response) => rulesOf(answerValue(response) as JsonObject) === '[["get"],["list"]]',
  );
  await server.delete(`${roles}/b`);
  await server.until(`${roles}/sum`, (response) => rulesOf(answerValue(response) as JsonObject) === '[["get"]]');
});

test("a custom kind is served once it is established, scaled, and gone with its definition", async () => {
  await using server = await startTestServer();
  const widgets = "/apis/example.org/v1/namespaces/default/widgets";
  await server.post(definitionsPath, widgetCrd);
  const isEstablished = (response: Parameters<Parameters<TestServer["until"]>[1]>[0]): boolean => {
    const { status } = answerValue(response) as unknown as { status?: { conditions?: JsonObject[] } };
    return status?.conditions?.some(({ type, status: value }) => type === "Established" && value === "True") ?? false;
  };
  await server.until(`${definitionsPath}/widgets.example.org`, isEstablished);
  const created = await server.post(widgets, {
    apiVersion: "example.org/v1",
    kind: "Widget",
    metadata: { name: "a" },
    spec: { replicas: 1, nope: 1 },
  });
  assert.deepEqual([created["spec"], meta(created)["generation"]], [{ replicas: 1, color: "red" }, 1]);
  const scaled = await server.patch(`${widgets}/a/scale`, { spec: { replicas: 3 } });
  assert.deepEqual([scaled["kind"], scaled["spec"]], ["Scale", { replicas: 3 }]);
  const after = await server.body(`${widgets}/a`);
  assert.deepEqual([after["spec"], meta(after)["generation"]], [{ replicas: 3, color: "red" }, 2]);
  const watch = await server.watch(`${widgets}?watch=true&resourceVersion=${String(meta(after)["resourceVersion"])}`);
  await server.delete(`${definitionsPath}/widgets.example.org`);
  assert.deepEqual(await watch.names(2), ["DELETED a", "end"]);
  await server.until(widgets, isGone);
  await server.until(`${definitionsPath}/widgets.example.org`, isGone);
});

test("a token of an account is valid until the account is gone, and only here", async () => {
  await using server = await startTestServer();
  await using other = await startTestServer();
  const account = "/api/v1/namespaces/default/serviceaccounts";
  await server.post(account, { metadata: { name: "robot" } });
  const { status } = (await server.post(`${account}/robot/token`, { spec: { expirationSeconds: 600 } })) as unknown as {
    status: { token: string };
  };
  const review = async (target: TestServer, token: string): Promise<unknown> => {
    const answer = await target.post("/apis/authentication.k8s.io/v1/tokenreviews", { spec: { token } });
    return ((answer["status"] as JsonObject)["user"] as JsonObject)["username"];
  };
  assert.equal(await review(server, status.token), "system:serviceaccount:default:robot");
  assert.equal(await review(other, status.token), undefined, "another key");
  const [header = "", claims = "", signature = ""] = status.token.split(".");
  const none = Buffer.from('{"alg":"none","typ":"JWT"}').toString("base64url");
  assert.equal(await review(server, `${none}.${claims}.`), undefined, "an algorithm of the caller's choice");
  assert.equal(await review(server, `${header}.${claims.slice(0, -2)}AA.${signature}`), undefined, "other claims");
  assert.equal(
    (await server.send(`${account}/robot/token`, { method: "POST", body: { spec: { expirationSeconds: 5 } } })).code,
    422,
  );
  assert.equal((await server.send(`${account}/none/token`, { method: "POST", body: {} })).code, 404);
  await server.delete(`${account}/robot`);
  assert.equal(await review(server, status.token), undefined, "the account is gone");
});

test("reviews and requests get the same answer", async () => {
  await using server = await startTestServer();
  const ask = async (resource: string, spec: JsonObject): Promise<JsonObject> =>
    (await server.post(`/apis/authorization.k8s.io/v1/${resource}`, { spec }))["status"] as JsonObject;
  const attributes = { resourceAttributes: { verb: "get", resource: "secrets", namespace: "default" } };
  assert.equal((await ask("selfsubjectaccessreviews", attributes))["allowed"], true);
  assert.equal((await ask("subjectaccessreviews", { ...attributes, user: "jane" }))["allowed"], false);
  const version = { nonResourceAttributes: { verb: "get", path: "/version" }, user: "jane" };
  assert.equal(
    (await ask("subjectaccessreviews", version))["allowed"],
    false,
    "a user without groups is not authenticated",
  );
  const known = { ...version, groups: ["system:authenticated"] };
  assert.equal((await ask("subjectaccessreviews", known))["allowed"], true);
});
