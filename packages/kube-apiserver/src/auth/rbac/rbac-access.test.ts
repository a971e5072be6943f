// SPDX-License-Identifier: Apache-2.0

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { finish, type Work } from "@purlin/base";
import type { JsonObject } from "@purlin/kube-objects/json";
import { answerValue, startTestServer, storeOf, type TestServer } from "../../../test/test-server.ts";
import { openMemoryStore } from "../../server/memory-server.ts";
import type { Store } from "../../store/store.ts";
import type { PolicyRule, RoleRef } from "../authorizer.ts";
import type { User } from "../user.ts";
import { RbacAccess } from "./rbac-access.ts";
import { printingSubject, RbacIndex, roleRefOf, type UserBinding } from "./rbac-index.ts";
import { SharedGrants } from "./user-grants.ts";

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
  const listed = {
    kind: "resource",
    verb: "list",
    group: "",
    version: "v1",
    resource: "pods",
    subresource: "",
  } as const;
  const isAllowed = (): boolean =>
    finish(access.authorizing(userNamed("kim"), { ...listed, namespace: "", name: "" })).allowed;
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

/** The bindings of a user whose roles exist. */
function bindingsOf(index: RbacIndex, user: User, namespace: string): UserBinding[] {
  return finish(new SharedGrants(index.grantsOf(user, namespace)).making()).all.map(({ by }) => by);
}

async function indexOf(objects: Readonly<Record<string, JsonObject>>): Promise<{
  store: Store<JsonObject>;
  index: RbacIndex;
  bindings(user: User, namespace?: string): string[];
  put(key: string, value: JsonObject | undefined): Promise<void>;
}> {
  const store = await storeOf({ [key.clusterRole("view")]: roleOf("get"), ...objects });
  const index = new RbacIndex(store);
  finish(index.refreshing());
  return {
    store,
    index,
    bindings: (user, namespace = "") => bindingsOf(index, user, namespace).map(({ binding }) => binding.name),
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
  const [found, ...others] = index.grantsOf(named("jane"), "").bindings;
  assert.equal(others.length, 0);
  assert.equal(found && finish(printingSubject(found)), 'User "jane"');
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
  const text = (user: User): string[] => bindingsOf(index, user, "ns").map((by) => finish(printingSubject(by)));
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
  assert.deepEqual(bindingsOf(index, named("user-1999"), ""), [], "another reader completes the same work");
  assert.equal(some.next().done, true);
  await store.close();
});

const asked = { kind: "path", verb: "get", path: "/x" } as const;

test("a decision about a user with many small roles is made in parts", async () => {
  const objects = Array.from({ length: 300 }, (_, i): [string, JsonObject][] => [
    [key.clusterRole(`r${i}`), roleOf("get")],
    [key.clusterBinding(`b${i}`), { ...bindingOf(`b${i}`, [toUser("jane")]), roleRef: clusterRoleRef(`r${i}`) }],
  ]);
  await using store = await storeOf(Object.fromEntries(objects.flat()));
  const access = new RbacAccess(store);
  finish(access.authorizing(named("jane"), asked));
  const work = access.authorizing(named("jane"), asked);
  assert.equal(work.next().done, false, "it takes several parts");
  assert.equal(finish(work).allowed, false);
  access.close();
});

const clusterRoleRef = (name: string): JsonObject => ({ kind: "ClusterRole", name });

/** Bindings of a namespace that refer to a Role each. */
function bindingsTo(subject: JsonObject, roles: readonly string[]): Record<string, JsonObject> {
  return Object.fromEntries(
    roles.map((role) => {
      const object = { metadata: { name: role, namespace: "ns" }, roleRef: { kind: "Role", name: role } };
      return [key.binding("ns", role), { ...object, subjects: [subject] }];
    }),
  );
}

const numbered = (count: number): string[] => Array.from({ length: count }, (_, i) => `r${String(i).padStart(5, "0")}`);
const inNamespace = {
  kind: "resource",
  verb: "get",
  group: "",
  version: "v1",
  resource: "pods",
  subresource: "",
} as const;
const pods = { ...inNamespace, namespace: "ns", name: "" };
const rolesOfPods: JsonObject = { rules: [rule("", "pods", "get")] };

/** How many parts some work has, and its result. */
function inSteps<T>(work: Work<T>): { readonly parts: number; readonly value: T } {
  for (let parts = 1; ; parts += 1) {
    const part = work.next();
    if (part.done) return { parts, value: part.value };
  }
}

test("the first 100 roles that do not exist are named, and the others counted", async () => {
  const suffix = "rbac.authorization.k8s.io";
  for (const { count, ends } of [
    { count: 1, ends: `role.${suffix} "r00000" not found` },
    { count: 100, ends: `role.${suffix} "r00099" not found]` },
    { count: 101, ends: `role.${suffix} "r00099" not found, 1 more role not found]` },
    { count: 2000, ends: `role.${suffix} "r00099" not found, 1900 more roles not found]` },
  ]) {
    await using store = await storeOf(bindingsTo(toGroup("all"), numbered(count)));
    const access = new RbacAccess(store);
    const { allowed, reason } = finish(access.authorizing(named("joe", "all"), pods));
    assert.equal(allowed, false);
    assert.ok(reason.endsWith(ends), reason.slice(-200));
    assert.equal(reason.split("not found").length - 1, Math.min(count, 100) + (count > 100 ? 1 : 0));
    access.close();
  }
});

test("missing roles of the cluster come first, and are counted once", async () => {
  const names = numbered(150);
  const ofCluster = names.map((name) => [
    key.clusterBinding(name),
    { ...bindingOf(name, [toUser("joe")]), roleRef: clusterRoleRef(name) },
  ]);
  const again = names.map((name) => [
    key.binding("ns", name),
    { ...bindingOf(name, [toUser("joe")], "ns"), roleRef: clusterRoleRef(name) },
  ]);
  const own = bindingsTo(toUser("joe"), ["z1", "z2"]);
  await using store = await storeOf({ ...Object.fromEntries([...ofCluster, ...again]), ...own });
  const access = new RbacAccess(store);
  assert.match(finish(access.authorizing(named("joe"), pods)).reason, /"r00099" not found, 52 more roles not found\]$/);
  assert.match(
    finish(access.authorizing(named("joe"), asked)).reason,
    /"r00099" not found, 50 more roles not found\]$/,
  );
  const { missing } = finish(access.rulesFor(named("joe"), "ns"));
  assert.equal(missing.length, 100, "reviews name as many");
  access.close();
});

test("names of missing roles that are very long are not listed", async () => {
  const names = ["a", "b", "c"].map((one) => one.repeat(60_000));
  await using store = await storeOf(bindingsTo(toUser("joe"), names));
  const access = new RbacAccess(store);
  const { reason } = finish(access.authorizing(named("joe"), pods));
  assert.ok(reason.length < 61_000);
  assert.match(reason, /a" not found, 2 more roles not found\]$/);
  access.close();
});

test("the bindings of a user are sorted in parts, and then known", async () => {
  await using store = await storeOf(bindingsTo(toGroup("all"), numbered(3000)));
  const access = new RbacAccess(store);
  finish(access.readingRole({ kind: "ClusterRole", name: "none", namespace: "" }));
  const first = inSteps(access.authorizing(named("joe", "all"), pods));
  assert.ok(first.parts > 10, `${first.parts} parts`);
  const next = inSteps(access.authorizing(named("joe", "all"), pods));
  assert.deepEqual(next, { parts: 1, value: first.value });
  access.close();
});

test("requests of one user share the work on its bindings", async () => {
  await using store = await storeOf(bindingsTo(toGroup("all"), numbered(3000)));
  const access = new RbacAccess(store);
  finish(access.readingRole({ kind: "ClusterRole", name: "none", namespace: "" }));
  const alone = inSteps(access.authorizing(named("joe", "all"), pods)).parts;
  const works = Array.from({ length: 10 }, () => access.authorizing(named("jim", "all"), pods));
  let parts = 0;
  let open = works;
  while (open.length > 0) {
    parts += open.length;
    open = open.filter((work) => work.next().done !== true);
  }
  assert.ok(parts < 2 * alone, `${parts} parts of ten requests, ${alone} of one`);
  access.close();
});

test("a decision about many bindings is that of the state in which it began, whatever is written meanwhile", async () => {
  const names = numbered(3000);
  const last = names.at(-1) ?? "";
  await using store = await storeOf({
    ...bindingsTo(toGroup("all"), names),
    [key.role("ns", last)]: rolesOfPods,
  });
  const access = new RbacAccess(store);
  finish(access.readingRole({ kind: "ClusterRole", name: "none", namespace: "" }));
  const joe = named("joe", "all");
  const begun = access.authorizing(joe, pods);
  assert.equal(begun.next().done, false);
  // The right moves to another role, through a state in which no role has it: its place in the index is used again.
  await store.write(key.role("ns", last), () => ({ action: "delete" }));
  await store.write(key.binding("ns", last), () => ({ action: "delete" }));
  await store.write(key.role("ns", "other"), () => ({ action: "put", value: rolesOfPods }));
  const afterwards = finish(access.authorizing(joe, pods));
  assert.equal(afterwards.allowed, false);
  assert.match(afterwards.reason, /, 2899 more roles not found\]$/);
  const { value } = inSteps(begun);
  assert.equal(value.allowed, true);
  assert.match(value.reason, /allowed by RoleBinding "r02999\/ns" of Role "r02999" to Group "all"/);
  await store.write(key.role("ns", "r00000"), () => ({ action: "put", value: rolesOfPods }));
  assert.equal(finish(access.authorizing(joe, pods)).allowed, true);
  access.close();
});

test("a decision ends although roles are written all the time", async () => {
  await using store = await storeOf(bindingsTo(toGroup("all"), numbered(3000)));
  const access = new RbacAccess(store);
  const work = access.authorizing(named("joe", "all"), pods);
  let parts = 1;
  for (let part = work.next(); !part.done; part = work.next(), parts += 1) {
    await store.write(key.role("ns", "busy"), () => ({ action: "put", value: { ...rolesOfPods, parts } }));
  }
  assert.ok(parts > 10 && parts < 500, `${parts} parts`);
  access.close();
});

test("what bindings and roles leave behind in the index", async () => {
  const { store, index, put } = await indexOf(bindingsTo(toUser("joe"), ["a", "b"]));
  const names = (): string[] => bindingsOf(index, named("joe"), "ns").map(({ binding }) => binding.name);
  await put(key.role("ns", "b"), rolesOfPods);
  assert.deepEqual(names(), ["b"], "a role that comes after its binding");
  await put(key.binding("ns", "a"), undefined);
  await put(key.role("ns", "c"), rolesOfPods);
  assert.deepEqual(names(), ["b"], "a new role where a missing one was");
  await put(key.role("ns", "b"), undefined);
  assert.deepEqual(names(), []);
  await put(key.role("ns", "a"), rolesOfPods);
  await put(key.role("ns", "b"), rolesOfPods);
  assert.deepEqual(names(), ["b"]);
  await put(key.binding("ns", "b"), undefined);
  await put(key.role("ns", "b"), undefined);
  assert.equal(index.grantsOf(named("joe"), "ns").roles.filter(Boolean).length, 3, "view, a and c");
  await store.close();
});

test("a group that a review names many times is looked up once", async () => {
  const { store, index } = await indexOf({ [key.clusterBinding("a")]: bindingOf("a", [toGroup("ops")]) });
  const groups = Array.from({ length: 100 }, () => "ops");
  assert.equal(index.grantsOf(named("joe", ...groups), "").bindings.length, 1);
  index.close();
  await store.close();
});

test("an error while grants are made is not taken for no grants by the next request", () => {
  let fails = true;
  const broken = {
    get bindings(): never[] {
      if (fails) throw new RangeError("broken");
      return [];
    },
    roles: [],
  };
  // Bindings are read when the work begins.
  const shared = new SharedGrants(broken);
  for (let i = 0; i < 2; i++) assert.throws(() => finish(shared.making()), /broken/);
  fails = false;
  assert.deepEqual(finish(shared.making()).all, []);
});
