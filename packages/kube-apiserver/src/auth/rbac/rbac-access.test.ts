// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import type { JsonObject } from "@purlin/kube-objects/json";
import { answerValue, startTestServer, type TestServer } from "../../../test/test-server.ts";
import { openMemoryStore } from "../../server/memory-server.ts";
import type { Store } from "../../store/store.ts";
import type { User } from "../user.ts";
import { RbacAccess } from "./rbac-access.ts";

const group = "rbac.authorization.k8s.io";
const rbac = `/apis/${group}/v1`;
const userNamed = (name: string, ...groups: string[]): User => ({ name, groups: [...groups, "system:authenticated"] });

let server: TestServer;
before(async () => {
  server = await startTestServer({ authorization: "rbac" });
});
after(() => server[Symbol.asyncDispose]());

function rule(groups: string, resources: string, verbs: string): JsonObject {
  return { apiGroups: groups.split(","), resources: resources.split(","), verbs: verbs.split(",") };
}

async function grant(name: string, rules: JsonObject[], subject: JsonObject): Promise<void> {
  await server.post(`${rbac}/clusterroles`, { metadata: { name }, rules });
  const roleRef = { apiGroup: group, kind: "ClusterRole", name };
  await server.post(`${rbac}/clusterrolebindings`, { metadata: { name }, roleRef, subjects: [subject] });
}

const subjectOf = (name: string): JsonObject => ({ apiGroup: group, kind: "User", name });

async function code(user: User, url: string, method = "GET", body?: JsonObject): Promise<number> {
  return (await server.send(url, { method, user, ...(body === undefined ? {} : { body }) })).code;
}

test("a change of roles and bindings takes effect with the next request", async () => {
  const jane = userNamed("jane");
  const url = "/api/v1/namespaces/default/serviceaccounts";
  assert.equal(await code(jane, url), 403);
  await grant("jane", [rule("", "serviceaccounts", "list")], subjectOf("jane"));
  assert.equal(await code(jane, url), 200);
  await server.patch(`${rbac}/clusterroles/jane`, { rules: [rule("", "serviceaccounts", "get")] });
  assert.equal(await code(jane, url), 403);
  await server.patch(`${rbac}/clusterroles/jane`, { rules: [rule("", "*", "*")] });
  assert.equal(await code(jane, url), 200);
  await server.patch(`${rbac}/clusterrolebindings/jane`, { subjects: [subjectOf("someone-else")] });
  assert.equal(await code(jane, url), 403);
  assert.equal(await code(userNamed("someone-else"), url), 200);
  await server.delete(`${rbac}/clusterrolebindings/jane`);
  assert.equal(await code(userNamed("someone-else"), url), 403);
});

test("a ServiceAccount has no rights of its own", async () => {
  const account = userNamed("system:serviceaccount:default:default", "system:serviceaccounts");
  assert.equal(await code(account, "/api/v1/namespaces/default/serviceaccounts"), 403);
});

test("groups that contain separators are not mixed up with several groups", async () => {
  await grant("ops", [rule("", "namespaces", "list")], { apiGroup: group, kind: "Group", name: "ops" });
  assert.equal(await code({ name: "x", groups: ["dev", "ops"] }, "/api/v1/namespaces"), 200);
  assert.equal(await code({ name: "x", groups: ['dev","ops'] }, "/api/v1/namespaces"), 403);
  assert.equal(await code({ name: "x", groups: ["dev\nops"] }, "/api/v1/namespaces"), 403);
});

test("users cannot grant rights that they do not hold", async () => {
  const eve = userNamed("eve");
  await grant("eve", [rule(group, "clusterroles", "create"), rule("", "pods", "get")], subjectOf("eve"));
  const role = (name: string, verbs: string): JsonObject => ({ metadata: { name }, rules: [rule("", "pods", verbs)] });
  assert.equal(await code(eve, `${rbac}/clusterroles`, "POST", role("held", "get")), 201);
  const response = await server.send(`${rbac}/clusterroles`, {
    method: "POST",
    user: eve,
    body: role("more", "get,list"),
  });
  const { message } = answerValue(response) as JsonObject;
  assert.equal(
    message,
    'clusterroles.rbac.authorization.k8s.io "more" is forbidden: user "eve" (groups=["system:authenticated"]) is attempting to grant RBAC permissions not currently held:\n{APIGroups:[""], Resources:["pods"], Verbs:["list"]}',
  );
});

test("rights that could not be read are read again, and outdated ones are not used", async () => {
  const store = openMemoryStore<JsonObject>({
    encode: (value) => Buffer.from(JSON.stringify(value)),
    decode: (bytes) => JSON.parse(Buffer.from(bytes).toString()) as JsonObject,
  });
  const put = (key: string, value: JsonObject): Promise<unknown> => store.write(key, () => ({ action: "put", value }));
  const binding = `/${group}/clusterrolebindings/kim`;
  await put(`/${group}/clusterroles/kim`, { metadata: { name: "kim" }, rules: [rule("", "pods", "list")] });
  const roleRef = { kind: "ClusterRole", name: "kim" };
  await put(binding, { metadata: { name: "kim" }, roleRef, subjects: [subjectOf("kim")] });
  let isBroken = false;
  const failing = <T>(value: () => T): T => {
    if (isBroken) throw new Error("the history is gone");
    return value();
  };
  const access = new RbacAccess({
    get revision() {
      return store.revision;
    },
    list: (options: Parameters<typeof store.list>[0]) => failing(() => store.list(options)),
    watch: (options: Parameters<typeof store.watch>[0]) => {
      const watch = store.watch(options);
      return { take: () => failing(() => watch.take()), close: () => watch.close() };
    },
  } as Store<JsonObject>);
  const pods = { kind: "resource", verb: "list", group: "", version: "v1", resource: "pods", subresource: "" } as const;
  const isAllowed = (): boolean => access.authorize(userNamed("kim"), { ...pods, namespace: "", name: "" }).allowed;
  assert.equal(isAllowed(), true);
  isBroken = true;
  await store.write(binding, () => ({ action: "delete" }));
  assert.throws(isAllowed, /the history is gone/);
  assert.throws(isAllowed, /the history is gone/, "still not answered from what was read before");
  isBroken = false;
  assert.equal(isAllowed(), false);
  access.close();
});
