// SPDX-License-Identifier: Apache-2.0
// Roles, bindings and reviews that are as large as a request allows. A role of a few kilobytes can have a hundred million rights: each of
// its verbs on each of its resources. Rights that a user grants are compared with those that the user holds.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { forEachLimited } from "@purlin/base";
import type { JsonObject } from "@purlin/kube-objects/json";
import { send } from "../../conformance/harness/wire.ts";
import { startAttackedServer } from "../harness/server.ts";
import { sendJson } from "./attacked-kind.ts";

const server = await startAttackedServer();
after(() => server[Symbol.asyncDispose]());

const group = "rbac.authorization.k8s.io";
const ofNamespace = `/apis/${group}/v1/namespaces/default`;
const user = "mallory";

function list<T>(count: number, item: (index: number) => T): T[] {
  return Array.from({ length: count }, (_, index) => item(index));
}

const words = (prefix: string, count: number): string[] => list(count, (index) => `${prefix}${index}`);
const rules = (count: number): JsonObject[] =>
  list(count, (index) => ({ apiGroups: ["a"], resources: [`r${index}`], verbs: ["get"] }));
const wideRule = (count: number): JsonObject => ({
  apiGroups: words("g", count),
  resources: words("r", count),
  verbs: words("v", count),
  resourceNames: words("n", count),
});

async function created(path: string, object: JsonObject): Promise<void> {
  const { code, text } = await sendJson(server.target, ["POST", path], object);
  assert.equal(code, 201, text);
}

function binding(name: string, subjects: readonly JsonObject[]): JsonObject {
  return { metadata: { name }, subjects, roleRef: { apiGroup: group, kind: "Role", name } };
}

async function grant(name: string, granted: readonly JsonObject[], to: string = user): Promise<void> {
  await created(`${ofNamespace}/roles`, { metadata: { name }, rules: granted });
  await created(`${ofNamespace}/rolebindings`, binding(name, [{ kind: "User", name: to, apiGroup: group }]));
}

async function as(name: string, [method, path]: readonly [string, string], body?: JsonObject) {
  return send(server.target, {
    method,
    path,
    headers: { "content-type": "application/json", "impersonate-user": name },
    ...(body && { body: JSON.stringify(body) }),
  });
}

before(() => grant("writer", [{ apiGroups: [group], resources: ["roles", "rolebindings"], verbs: ["create"] }]));

test("a role of a hundred million rights is refused to a user who does not hold them", async () => {
  await server.during("100 words in each list of a rule", async () => {
    const role = { metadata: { name: "wide" }, rules: [wideRule(100)] };
    const { code, text } = await as(user, ["POST", `${ofNamespace}/roles`], role);
    assert.equal(code, 403);
    assert.match(text, /RBAC permissions not currently held, among them/);
    assert.ok(text.length < 300_000, `a response of ${text.length} characters`);
  });
});

test("a role of many rules is compared with as many rules that the user holds", async () => {
  await grant("many", rules(14_000));
  await server.during("14,000 rules that are held", async () => {
    const role = { metadata: { name: "same" }, rules: rules(14_000).reverse() };
    const { code, text } = await as(user, ["POST", `${ofNamespace}/roles`], role);
    assert.equal(code, 201, text);
  });
  await server.during("14,000 rules of which none is held", async () => {
    const others = list(14_000, (index) => ({ apiGroups: ["b"], resources: [`r${index}`], verbs: ["get"] }));
    const { code } = await as(user, ["POST", `${ofNamespace}/roles`], { metadata: { name: "others" }, rules: others });
    assert.equal(code, 403);
  });
});

test("rights that are too many to compare one by one are refused", async () => {
  await grant("wide-held", [wideRule(60)]);
  await server.during("13 million rights that are held", async () => {
    const role = { metadata: { name: "wide-again" }, rules: [wideRule(60)] };
    const { code, text } = await as(user, ["POST", `${ofNamespace}/roles`], role);
    assert.equal(code, 403);
    assert.match(text, /too many RBAC permissions to compare them with those held: divide the role/);
  });
});

test("users with many large roles are authorized in parts", async () => {
  // Rules that an index does not list word by word.
  const wide = list(6_000, (index) => ({
    apiGroups: ["a", "b", "c", `g${index}`],
    resources: ["r", "s", "t", "u"],
    verbs: ["get", "list", "watch"],
  }));
  for (let index = 0; index < 12; index++) {
    await grant(`rules-${index}`, rules(14_000), "bob");
    await grant(`wide-${index}`, wide, "bob");
  }
  for (const what of ["the first request", "the next request"]) {
    await server.during(`${what} of a user with 24 large roles`, async () => {
      assert.equal((await as("bob", ["GET", "/api/v1/namespaces/default/pods"])).code, 403);
    });
  }
  await server.during("a review of the rules of a user with 24 large roles", async () => {
    const path = "/apis/authorization.k8s.io/v1/selfsubjectrulesreviews";
    const { code, text } = await as("bob", ["POST", path], { spec: { namespace: "default" } });
    assert.equal(code, 201, text.slice(0, 1000));
    assert.match(text, /only the first 10000 rules are listed/);
  });
});

test("a group of all users with 25,000 bindings to roles that do not exist", async () => {
  const bindings = `/apis/${group}/v1/namespaces/crowded/rolebindings`;
  const pods = "/api/v1/namespaces/crowded/pods";
  await created("/api/v1/namespaces", { metadata: { name: "crowded" } });
  const subjects = [{ kind: "Group", name: "system:authenticated", apiGroup: group }];
  const bound = (index: number): JsonObject => ({
    metadata: { name: `b${(index * 7919) % 25_000}` },
    subjects,
    roleRef: { apiGroup: group, kind: "Role", name: `missing-${index}` },
  });
  await server.during("25,000 bindings", () =>
    forEachLimited(list(25_000, bound), 50, (one) => created(bindings, one)),
  );
  const denied = async (name: string): Promise<void> => {
    const { code, text } = await as(name, ["GET", pods]);
    assert.equal(code, 403);
    assert.match(text, /, 24900 more roles not found\]/);
    assert.ok(text.length < 30_000, `a response of ${text.length} characters`);
  };
  await server.during("requests that are denied", async () => {
    for (let round = 0; round < 10; round++) await Promise.all(words("user", 20).map(denied));
  });
  await server.during("requests that are denied, and roles that are written", async () => {
    await created(`${ofNamespace}/roles`, { metadata: { name: "busy" }, rules: [] });
    for (let round = 0; round < 20; round++) {
      const path = `${ofNamespace}/roles/busy`;
      const written = sendJson(server.target, ["PUT", path], { metadata: { name: "busy" }, rules: rules(round) });
      const requests = words("user", 3).map(denied);
      assert.equal((await written).code, 200);
      await Promise.all(requests);
    }
  });
  await server.during("a review of the rules of such a user", async () => {
    const path = "/apis/authorization.k8s.io/v1/selfsubjectrulesreviews";
    const { code, text } = await as("user0", ["POST", path], { spec: { namespace: "crowded" } });
    assert.equal(code, 201, text.slice(0, 1000));
    assert.ok(text.length < 50_000, `a response of ${text.length} characters`);
  });
});

test("bindings and reviews with many subjects", async () => {
  const subjects = list(20_000, (index) => ({ kind: "Group", name: `other${index}`, apiGroup: group }));
  await server.during("a binding of 20,000 groups, and its end", async () => {
    await created(`${ofNamespace}/rolebindings`, {
      ...binding("writer", subjects),
      metadata: { name: "groups" },
    });
    assert.equal((await as("other", ["GET", "/api/v1/namespaces/default/pods"])).code, 403);
    const { code } = await sendJson(server.target, ["DELETE", `${ofNamespace}/rolebindings/groups`]);
    assert.equal(code, 200);
    assert.equal((await as("other", ["GET", "/api/v1/namespaces/default/pods"])).code, 403);
  });
  await created(`${ofNamespace}/rolebindings`, { ...binding("writer", subjects), metadata: { name: "groups-2" } });
  await server.during("a review of a user with 90,000 groups", async () => {
    const spec = {
      user: "u",
      groups: words("g", 90_000),
      resourceAttributes: { verb: "get", resource: "pods", namespace: "default" },
    };
    const path = "/apis/authorization.k8s.io/v1/subjectaccessreviews";
    assert.equal((await sendJson(server.target, ["POST", path], { spec })).code, 201);
  });
});

test("reviews with selectors as long as a request", async () => {
  const path = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews";
  const review = (selector: JsonObject): JsonObject => ({
    spec: { resourceAttributes: { verb: "list", resource: "pods", labelSelector: selector } },
  });
  for (const [what, rawSelector] of [
    ["700,000 requirements", "a=b,".repeat(700_000)],
    ["400,000 values", `a in (${words("v", 400_000).join()})`],
    ["brackets", "(".repeat(2_900_000)],
  ] as const) {
    await server.during(`a selector of ${what}`, async () => {
      const { code, text } = await sendJson(server.target, ["POST", path], review({ rawSelector }));
      assert.equal(code, 422);
      assert.match(text, /rawSelector: Too long: may not be more than 65536 bytes/);
    });
  }
  for (const [what, requirements, code] of [
    ["requirements", list(15_000, (index) => ({ key: `k${index}`, operator: "In", values: ["v"] })), 201],
    ["wrong requirements", list(15_000, () => ({ key: "/", operator: "In", values: ["/"] })), 422],
    ["requirement with many values", [{ key: "k", operator: "In", values: words("v", 95_000) }], 201],
    ["requirement with many wrong values", [{ key: "k", operator: "In", values: words("/", 95_000) }], 422],
  ] as const) {
    await server.during(`a selector of ${what}`, async () => {
      const response = await sendJson(server.target, ["POST", path], review({ requirements: [...requirements] }));
      assert.equal(response.code, code, response.text.slice(0, 1000));
    });
  }
});

test("80 bindings of 24,000 users each", async () => {
  const bindings = `/apis/${group}/v1/namespaces/many/rolebindings`;
  await created("/api/v1/namespaces", { metadata: { name: "many" } });
  const users = (index: number): JsonObject[] => list(24_000, (i) => ({ kind: "User", name: `u${index}-${i}` }));
  const roleRef = { apiGroup: group, kind: "ClusterRole", name: "view" };
  await server.during("80 bindings", async () => {
    for (const index of list(80, (i) => i)) {
      await created(bindings, { metadata: { name: `b${index}` }, roleRef, subjects: users(index) });
    }
  });
  const pods = "/api/v1/namespaces/many/pods";
  await server.during("requests of users with and without a binding", async () => {
    assert.equal((await as("other", ["GET", pods])).code, 403);
    assert.equal((await as("u79-23999", ["GET", pods])).code, 200);
  });
  await server.during("a request after a change", async () => {
    assert.equal((await sendJson(server.target, ["DELETE", `${bindings}/b79`])).code, 200);
    assert.equal((await as("u79-23999", ["GET", pods])).code, 403);
    assert.equal((await as("u0-0", ["GET", pods])).code, 200);
  });
});

test("memory stays bounded", () => {
  server.requireBoundedMemory();
});
