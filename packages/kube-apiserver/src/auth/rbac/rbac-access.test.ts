// SPDX-License-Identifier: Apache-2.0

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { finish } from "@purlin/base";
import type { JsonObject } from "@purlin/kube-objects/json";
import { answerValue, startTestServer, storeOf, type TestServer } from "../../../test/test-server.ts";
import { openMemoryStore } from "../../server/memory-server.ts";
import type { Store } from "../../store/store.ts";
import type { PolicyRule, RoleRef } from "../authorizer.ts";
import type { User } from "../user.ts";
import { RbacAccess } from "./rbac-access.ts";
import { RbacIndex, roleRefOf, subjectText } from "./rbac-index.ts";

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
  const isAllowed = (): boolean =>
    finish(access.authorizing(userNamed("kim"), { ...pods, namespace: "", name: "" })).allowed;
  assert.equal(isAllowed(), true);
  isBroken = true;
  await store.write(binding, () => ({ action: "delete" }));
  assert.throws(isAllowed, /the history is gone/);
  assert.throws(isAllowed, /the history is gone/, "still not answered from what was read before");
  isBroken = false;
  assert.equal(isAllowed(), false);
  access.close();
});

const prefix = "/rbac.authorization.k8s.io";
const key = {
  clusterRole: (name: string): string => `${prefix}/clusterroles/${name}`,
  role: (namespace: string, name: string): string => `${prefix}/roles/${namespace}/${name}`,
  clusterBinding: (name: string): string => `${prefix}/clusterrolebindings/${name}`,
  binding: (namespace: string, name: string): string => `${prefix}/rolebindings/${namespace}/${name}`,
};
const roleOf = (...verbs: string[]): JsonObject => ({ rules: [{ verbs }] });

function bindingOf(name: string, subjects: JsonObject[], namespace?: string): JsonObject {
  const metadata = { name, ...(namespace !== undefined && { namespace }) };
  return { metadata, roleRef: { kind: "ClusterRole", name: "view" }, subjects };
}
const toUser = (name: string): JsonObject => ({ kind: "User", name });
const toGroup = (name: string): JsonObject => ({ kind: "Group", name });
const named = (name: string, ...groups: string[]): User => ({ name, groups });

async function indexOf(objects: Readonly<Record<string, JsonObject>>): Promise<{
  store: Store<JsonObject>;
  index: RbacIndex;
  bindings(user: User, namespace?: string): string[];
  put(key: string, value: JsonObject | undefined): Promise<void>;
}> {
  const store = await storeOf(objects);
  const index = new RbacIndex(store);
  finish(index.refreshing());
  return {
    store,
    index,
    bindings: (user, namespace = "") => index.bindingsOf(user, namespace).map(({ binding }) => binding.name),
    async put(at, value) {
      await store.write(at, () => (value === undefined ? { action: "delete" } : { action: "put", value }));
      finish(index.refreshing());
    },
  };
}

function rulesOf(index: RbacIndex, ref: RoleRef): readonly PolicyRule[] | undefined {
  const role = index.roleOf(ref);
  return role && finish(role.indexing()).rules;
}

test("roles are found by kind, namespace and name", async () => {
  const { store, index } = await indexOf({
    [key.clusterRole("view")]: roleOf("get"),
    [key.role("a", "view")]: roleOf("list"),
    [key.role("b", "edit")]: roleOf("update"),
  });
  const verbs = (kind: string, name: string, namespace = ""): readonly string[] | undefined =>
    rulesOf(index, { kind, name, namespace })?.[0]?.verbs;
  assert.deepEqual(verbs("ClusterRole", "view"), ["get"]);
  assert.deepEqual(verbs("ClusterRole", "view", "a"), ["get"], "a ClusterRole has no namespace");
  assert.deepEqual(verbs("Role", "view", "a"), ["list"]);
  assert.equal(verbs("Role", "view", "b"), undefined);
  assert.equal(verbs("ClusterRole", "edit"), undefined);
  index.close();
  await store.close();
});

test("names of roles may contain what separates keys", async () => {
  const { store, index } = await indexOf({ [key.clusterRole("system:a:b")]: roleOf("get") });
  assert.ok(rulesOf(index, { kind: "ClusterRole", name: "system:a:b", namespace: "" }));
  await store.close();
});

test("bindings are found by user and groups, each once, sorted by name", async () => {
  const { store, bindings } = await indexOf({
    [key.clusterBinding("c")]: bindingOf("c", [toUser("jane"), toGroup("dev"), toGroup("ops")]),
    [key.clusterBinding("a")]: bindingOf("a", [toGroup("ops")]),
    [key.clusterBinding("b")]: bindingOf("b", [toUser("dev")]),
    [key.clusterBinding("d")]: bindingOf("d", []),
    [key.binding("ns", "own")]: bindingOf("own", [toUser("jane")], "ns"),
  });
  assert.deepEqual(bindings(named("jane", "dev", "ops")), ["a", "c"]);
  assert.deepEqual(bindings(named("jane")), ["c"]);
  assert.deepEqual(bindings(named("dev")), ["b"], "a user is not a group of the same name");
  assert.deepEqual(bindings(named("joe", "none")), []);
  assert.deepEqual(bindings(named("jane", "dev"), "ns"), ["own"]);
  assert.deepEqual(bindings(named("jane"), "other"), []);
  await store.close();
});

test("a ServiceAccount without a namespace is that of the binding", async () => {
  const { store, bindings } = await indexOf({
    [key.binding("ns", "own")]: bindingOf("own", [{ kind: "ServiceAccount", name: "robot" }], "ns"),
    [key.binding("ns", "of")]: bindingOf("of", [{ kind: "ServiceAccount", name: "robot", namespace: "other" }], "ns"),
  });
  assert.deepEqual(bindings(named("system:serviceaccount:ns:robot"), "ns"), ["own"]);
  assert.deepEqual(bindings(named("system:serviceaccount:other:robot"), "ns"), ["of"]);
  assert.deepEqual(bindings(named("robot"), "ns"), []);
  await store.close();
});

test("a changed binding loses its former subjects, a deleted one all", async () => {
  const { store, bindings, put } = await indexOf({
    [key.clusterBinding("a")]: bindingOf("a", [toUser("jane"), toUser("joe")]),
    [key.clusterBinding("b")]: bindingOf("b", [toUser("jane")]),
  });
  await put(key.clusterBinding("a"), bindingOf("a", [toUser("joe"), toGroup("dev")]));
  assert.deepEqual(
    [bindings(named("jane")), bindings(named("joe")), bindings(named("x", "dev"))],
    [["b"], ["a"], ["a"]],
  );
  await put(key.clusterBinding("a"), undefined);
  assert.deepEqual([bindings(named("jane")), bindings(named("joe", "dev"))], [["b"], []]);
  await put(key.clusterBinding("b"), undefined);
  assert.deepEqual(bindings(named("jane")), []);
  await store.close();
});

test("a change of a role replaces its rules", async () => {
  const { store, index, put } = await indexOf({ [key.role("ns", "r")]: roleOf("get") });
  const role = { kind: "Role", name: "r", namespace: "ns" };
  await put(key.role("ns", "r"), roleOf("list"));
  assert.deepEqual(rulesOf(index, role)?.[0]?.verbs, ["list"]);
  await put(key.role("ns", "r"), undefined);
  assert.equal(rulesOf(index, role), undefined);
  await store.close();
});

test("the version changes with roles and bindings only", async () => {
  const { store, index, put } = await indexOf({});
  const first = index.version;
  finish(index.refreshing());
  await put("//configmaps/ns/a", { metadata: { name: "a" } });
  assert.equal(index.version, first);
  await put(key.clusterRole("a"), roleOf("get"));
  assert.ok(index.version > first);
  await store.close();
});

test("malformed subjects are ignored", async () => {
  const { store, index } = await indexOf({
    [key.clusterBinding("a")]: { metadata: { name: "a" }, roleRef: {}, subjects: [null, "x", toUser("jane")] },
    [key.clusterBinding("b")]: { metadata: { name: "b" }, subjects: "jane" },
  });
  const [found, ...others] = index.bindingsOf(named("jane"), "");
  assert.equal(others.length, 0);
  assert.deepEqual(found?.binding.subjects, [{ kind: "User", name: "jane", namespace: "" }]);
  assert.deepEqual(found?.binding.role, { kind: "", name: "", namespace: "" });
  await store.close();
});

test("a reference to a Role is in the namespace of the binding, one to a ClusterRole in none", () => {
  const ref = (kind: string): JsonObject => ({ roleRef: { kind, name: "r" } });
  assert.deepEqual(roleRefOf(ref("Role"), "ns"), { kind: "Role", name: "r", namespace: "ns" });
  assert.deepEqual(roleRefOf(ref("ClusterRole"), "ns"), { kind: "ClusterRole", name: "r", namespace: "" });
});

test("the first subject of a binding that names the user is printed", async () => {
  const subjects = [
    toGroup("dev"),
    toUser("jane"),
    { kind: "ServiceAccount", name: "robot" },
    { kind: "ServiceAccount", name: "robot", namespace: "other" },
    toUser("jane"),
  ];
  const { store, index } = await indexOf({ [key.binding("ns", "b")]: bindingOf("b", subjects, "ns") });
  const text = (user: User): string[] => index.bindingsOf(user, "ns").map(subjectText);
  assert.deepEqual(text(named("jane", "dev")), ['Group "dev"']);
  assert.deepEqual(text(named("jane", "ops")), ['User "jane"']);
  assert.deepEqual(text(named("system:serviceaccount:ns:robot")), ['ServiceAccount "robot/ns"']);
  assert.deepEqual(text(named("system:serviceaccount:other:robot")), ['ServiceAccount "robot/other"']);
  assert.deepEqual(text(named("joe")), []);
  await store.close();
});

test("a decision that is made in parts does not mix two states", async () => {
  const subjects = Array.from({ length: 2000 }, (_, i) => toUser(`user-${i}`));
  const place = key.clusterBinding("all");
  const { store, index } = await indexOf({ [place]: bindingOf("all", subjects) });
  await store.write(place, () => ({ action: "delete" }));
  const some = index.refreshing();
  assert.equal(some.next().done, false, "it takes several parts");
  assert.ok(index.isStale, "nothing is read between the parts");
  finish(index.refreshing());
  assert.deepEqual(index.bindingsOf(named("user-1999"), ""), [], "another reader completes the same work");
  assert.equal(some.next().done, true);
  await store.close();
});

test("a decision about a user with many small roles is made in parts", async () => {
  const names = Array.from({ length: 300 }, (_, i) => `b${i}`);
  const bindings = names.map((name) => [key.clusterBinding(name), bindingOf(name, [toUser("jane")])]);
  await using store = await storeOf({ [key.clusterRole("view")]: roleOf("get"), ...Object.fromEntries(bindings) });
  const access = new RbacAccess(store);
  const asked = { kind: "path", verb: "get", path: "/x" } as const;
  finish(access.authorizing(named("jane"), asked));
  const work = access.authorizing(named("jane"), asked);
  assert.equal(work.next().done, false, "it takes several parts");
  assert.equal(finish(work).allowed, false);
  access.close();
});

test("a group that a review names many times is looked up once", async () => {
  const { store, index } = await indexOf({ [key.clusterBinding("a")]: bindingOf("a", [toGroup("ops")]) });
  let lookups = 0;
  const group = {
    toString: () => {
      lookups += 1;
      return "ops";
    },
  } as unknown as string;
  assert.equal(index.bindingsOf(named("joe", ...Array.from({ length: 100 }, () => group)), "").length, 1);
  assert.equal(lookups, 1);
  index.close();
  await store.close();
});
