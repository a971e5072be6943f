// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import { finish } from "@purlin/base";
import type { JsonObject } from "@purlin/kube-objects/json";
import { storeOf } from "../../../test/test-server.ts";
import type { ResourceType } from "../../registry/registry.ts";
import { type PolicyRule, rulesOfRole } from "../authorizer.ts";
import type { User } from "../user.ts";
import { escalationCheck, missingRights } from "./escalation.ts";
import { RbacAccess } from "./rbac-access.ts";
import { RuleIndex } from "./rule-index.ts";
import { MissingRoles } from "./user-grants.ts";

const group = "rbac.authorization.k8s.io";
const rules = (...list: JsonObject[]): readonly PolicyRule[] => rulesOfRole({ rules: list });
const on = (apiGroups: string, resources: string, verbs: string, ...resourceNames: string[]): JsonObject => ({
  apiGroups: apiGroups.split(","),
  resources: resources.split(","),
  verbs: verbs.split(","),
  ...(resourceNames.length > 0 && { resourceNames }),
});
const paths = (nonResourceURLs: string, verbs: string): JsonObject => ({
  nonResourceURLs: nonResourceURLs.split(","),
  verbs: verbs.split(","),
});

/** The missing rights as `verb group/resource[ name]` or `verb /path`. */
function lacking(held: readonly PolicyRule[], wanted: readonly PolicyRule[]): string[] {
  const { rights, isComplete } = finish(missingRights([finish(RuleIndex.indexing(held))], wanted));
  assert.ok(isComplete);
  return rights.map((right) =>
    "path" in right
      ? `${right.verb} ${right.path}`
      : [right.verb, `${right.group}/${right.resource}`, ...(right.name === undefined ? [] : [right.name])].join(" "),
  );
}

const comparisons: readonly (readonly [string, readonly PolicyRule[], readonly PolicyRule[], readonly string[]])[] = [
  ["nothing is wanted", [], [], []],
  ["nothing is held", [], rules(on(",apps", "pods", "get")), ["get /pods", "get apps/pods"]],
  [
    "rights are compared one by one",
    rules(on("", "pods", "get"), on("apps", "deployments", "*")),
    rules(on("", "pods", "get,list"), on("apps", "deployments", "get,delete")),
    ["list /pods"],
  ],
  ["all verbs need the star", rules(on("", "pods", "get,list,create")), rules(on("", "pods", "*")), ["* /pods"]],
  ["all groups need the star", rules(on("", "*", "*")), rules(on("*", "pods", "get")), ["get */pods"]],
  [
    "a resource does not cover its subresource",
    rules(on("", "pods", "get")),
    rules(on("", "pods/log", "get")),
    ["get /pods/log"],
  ],
  ["*/sub covers the subresource of any resource", rules(on("", "*/log", "get")), rules(on("", "pods/log", "get")), []],
  [
    "*/sub covers no deeper path",
    rules(on("", "*/log", "get")),
    rules(on("", "pods/log/x", "get")),
    ["get /pods/log/x"],
  ],
  [
    "a rule for all names covers one name, but not the reverse",
    rules(on("", "pods", "get"), on("", "secrets", "get", "a")),
    rules(on("", "pods", "get", "a"), on("", "secrets", "get")),
    ["get /secrets"],
  ],
  [
    "each name is compared",
    rules(on("", "secrets", "get", "a", "b")),
    rules(on("", "secrets", "get", "b", "c")),
    ["get /secrets c"],
  ],
  [
    "paths need a held path that covers them",
    rules(paths("/api/*", "get")),
    rules(paths("/api/v1,/metrics", "get,post")),
    ["post /api/v1", "get /metrics", "post /metrics"],
  ],
  ["resources cover no paths", rules(on("*", "*", "*")), rules(paths("/metrics", "get")), ["get /metrics"]],
  [
    "one right needs one rule",
    rules(on("", "pods", "get"), on("apps", "pods", "list")),
    rules(on("apps", "pods", "get")),
    ["get apps/pods"],
  ],
];

for (const [name, held, wanted, expected] of comparisons) {
  test(`missing rights: ${name}`, () => {
    assert.deepEqual(lacking(held, wanted), expected);
  });
}

const user: User = { name: "eve", groups: ["dev", "system:authenticated"] };

/** The message of the error for a write by `eve` who holds these rules everywhere; undefined when it is allowed. */
async function writeError(
  held: readonly JsonObject[],
  resource: string,
  object: JsonObject,
  more: { readonly old?: JsonObject; readonly by?: User; readonly objects?: Readonly<Record<string, JsonObject>> } = {},
): Promise<string | undefined> {
  const subjects = [{ apiGroup: group, kind: "User", name: "eve" }];
  await using store = await storeOf({
    [`/${group}/clusterroles/held`]: { metadata: { name: "held" }, rules: held },
    [`/${group}/clusterrolebindings/held`]: {
      metadata: { name: "held" },
      roleRef: { kind: "ClusterRole", name: "held" },
      subjects,
    },
    ...more.objects,
  });
  const access = new RbacAccess(store);
  const namespace = resource.startsWith("cluster") ? "" : "ns";
  const { name = "" } = object["metadata"] as { readonly name?: string };
  const target = {
    kind: "resource",
    verb: "create",
    group,
    version: "v1",
    resource,
    subresource: "",
    namespace,
    name,
  } as const;
  try {
    const type = { group, version: "v1", resource } as ResourceType;
    finish(escalationCheck(access)({ user: more.by ?? user, type, target, object, old: more.old }));
    return undefined;
  } catch (error) {
    return (error as Error).message;
  } finally {
    access.close();
  }
}

const role = (name: string, ...list: JsonObject[]): JsonObject => ({ metadata: { name }, rules: list });
const who =
  'user "eve" (groups=["dev" "system:authenticated"]) is attempting to grant RBAC permissions not currently held';

test("a role of held rights may be written", async () => {
  assert.equal(await writeError([on("", "pods", "*")], "roles", role("r", on("", "pods", "get,list"))), undefined);
});

test("rights that are not held are listed by resource, sorted, with the verbs of one resource together", async () => {
  const wanted = role(
    "r",
    on(",apps", "pods,secrets", "get,list"),
    paths("/x", "get,post"),
    on("", "pods", "watch", "a"),
  );
  assert.equal(
    await writeError([on("", "pods", "list")], "clusterroles", wanted),
    `clusterroles.${group} "r" is forbidden: ${who}:\n${[
      '{APIGroups:[""], Resources:["pods"], ResourceNames:["a"], Verbs:["watch"]}',
      '{APIGroups:[""], Resources:["pods"], Verbs:["get"]}',
      '{APIGroups:[""], Resources:["secrets"], Verbs:["get" "list"]}',
      '{APIGroups:["apps"], Resources:["pods"], Verbs:["get" "list"]}',
      '{APIGroups:["apps"], Resources:["secrets"], Verbs:["get" "list"]}',
      '{NonResourceURLs:["/x"], Verbs:["get"]}',
      '{NonResourceURLs:["/x"], Verbs:["post"]}',
    ].join("\n")}`,
  );
});

test("masters and users who may escalate write any role", async () => {
  const wanted = role("r", on("*", "*", "*"));
  assert.equal(await writeError([], "roles", wanted, { by: { name: "x", groups: ["system:masters"] } }), undefined);
  assert.equal(await writeError([on(group, "roles", "escalate")], "roles", wanted), undefined);
  assert.equal(await writeError([on(group, "roles", "escalate", "r")], "roles", wanted), undefined);
  assert.match(
    (await writeError([on(group, "roles", "escalate", "other")], "roles", wanted)) ?? "",
    /not currently held/,
  );
  assert.match(
    (await writeError([on(group, "clusterroles", "escalate")], "roles", wanted)) ?? "",
    /not currently held/,
  );
});

test("a change of owners, finalizers and managers only needs no rights", async () => {
  const old = { ...role("r", on("*", "*", "*")), aggregationRule: {} };
  const managedFields = [{ manager: "m" }];
  const cleaned = { ...old, metadata: { name: "r", finalizers: ["x"], ownerReferences: [], managedFields } };
  assert.equal(await writeError([], "clusterroles", cleaned as JsonObject, { old }), undefined);
  const labelled = { ...old, metadata: { name: "r", labels: { a: "b" } } };
  assert.match((await writeError([], "clusterroles", labelled, { old })) ?? "", /not currently held/);
});

test("an aggregation rule needs the rights of cluster-admin", async () => {
  const aggregating = { ...role("r"), aggregationRule: { clusterRoleSelectors: [] } };
  const refused = `clusterroles.${group} "r" is forbidden: must have cluster-admin privileges to use the aggregationRule`;
  const many = [on("*", "*", "get,list,create,update"), paths("*", "*")];
  assert.equal(await writeError(many, "clusterroles", aggregating), refused);
  assert.equal(await writeError([on("*", "*", "*")], "clusterroles", aggregating), undefined);
  assert.equal(await writeError([], "clusterroles", role("r"), { old: aggregating }), refused, "to remove one, too");
});

const binding = (kind: string): JsonObject => ({ metadata: { name: "b" }, roleRef: { kind, name: "target" } });
const secrets = role("target", on("", "secrets", "get"));
const clusterTarget = { objects: { [`/${group}/clusterroles/target`]: secrets } };
const namespacedTarget = { objects: { [`/${group}/roles/ns/target`]: secrets } };

test("a binding needs the rights of its role", async () => {
  const missing = '{APIGroups:[""], Resources:["secrets"], Verbs:["get"]}';
  assert.equal(
    await writeError([], "rolebindings", binding("Role"), namespacedTarget),
    `rolebindings.${group} "b" is forbidden: ${who}:\n${missing}`,
  );
  assert.equal(
    await writeError([on("", "secrets", "*")], "rolebindings", binding("Role"), namespacedTarget),
    undefined,
  );
  assert.equal(
    await writeError([], "clusterrolebindings", binding("ClusterRole"), clusterTarget),
    `clusterrolebindings.${group} "b" is forbidden: ${who}:\n${missing}`,
  );
});

test("a user who may bind the role needs none of its rights", async () => {
  const bind = (resource: string, ...names: string[]): JsonObject[] => [on(group, resource, "bind", ...names)];
  assert.equal(await writeError(bind("roles"), "rolebindings", binding("Role"), namespacedTarget), undefined);
  assert.equal(
    await writeError(bind("clusterroles", "target"), "rolebindings", binding("ClusterRole"), clusterTarget),
    undefined,
  );
  const refused = await writeError(bind("roles"), "rolebindings", binding("ClusterRole"), clusterTarget);
  assert.match(refused ?? "", /not currently held/);
  assert.equal(
    await writeError(bind("roles"), "rolebindings", binding("Role")),
    undefined,
    "a role that does not exist",
  );
});

test("a binding to a role that does not exist is not written by a user who may not bind it", async () => {
  assert.equal(await writeError([], "rolebindings", binding("Role")), `rolebindings.${group} "target" not found`);
});

test("roles that could not be found when the held rights were read are part of the error", async () => {
  const objects = {
    [`/${group}/clusterrolebindings/lost`]: {
      metadata: { name: "lost" },
      roleRef: { kind: "ClusterRole", name: "gone" },
      subjects: [{ kind: "Group", name: "dev" }],
    },
  };
  assert.equal(
    await writeError([], "roles", role("r", on("", "pods", "get")), { objects }),
    `roles.${group} "r" is forbidden: ${who}:\n{APIGroups:[""], Resources:["pods"], Verbs:["get"]}; resolution errors: [roles.${group} "gone" not found]`,
  );
});

test("objects of other groups are not checked", async () => {
  await using store = await storeOf({});
  const access = new RbacAccess(store);
  const type = { group: "apps", version: "v1", resource: "roles" } as ResourceType;
  const target = {
    kind: "resource",
    verb: "create",
    group: "apps",
    version: "v1",
    resource: "roles",
    subresource: "",
    namespace: "",
    name: "",
  } as const;
  escalationCheck(access)({ user, type, target, object: role("r", on("*", "*", "*")), old: undefined });
  access.close();
});

const words = (prefix: string, count: number): string[] => Array.from({ length: count }, (_, i) => `${prefix}${i}`);
const wideRule = (count: number): JsonObject => ({
  apiGroups: words("g", count),
  resources: words("r", count),
  verbs: words("v", count),
  resourceNames: words("n", count),
});
const roleWith = (...list: JsonObject[]): JsonObject => ({ metadata: { name: "r" }, rules: list });

test("a role of a hundred million rights is refused, and the text names a thousand of them", async () => {
  const text = (await writeError([on("", "pods", "get")], "roles", roleWith(wideRule(100)))) ?? "";
  assert.match(text, /is attempting to grant RBAC permissions not currently held, among them:\n\{APIGroups:\["g0"\]/);
  assert.ok(text.length < 200_000, `${text.length} characters`);
});

test("long words do not make the text longer", async () => {
  const long = { ...wideRule(30), apiGroups: ["g".repeat(50_000)] };
  const text = (await writeError([on("", "pods", "get")], "roles", roleWith(long))) ?? "";
  assert.ok(text.length < 500_000, `${text.length} characters`);
});

test("a user who holds everything on resources may grant a role of a hundred million rights", async () => {
  assert.equal(await writeError([on("*", "*", "*")], "roles", roleWith(wideRule(100))), undefined);
});

test("rights that are too many to compare are refused", async () => {
  const held = Array.from({ length: 2 }, () => wideRule(40));
  assert.match(
    (await writeError(held, "roles", roleWith(wideRule(40)))) ?? "",
    /too many RBAC permissions to compare them with those held: divide the role$/,
  );
});

test("a user whose rights are too many to compare may not write aggregated roles", async () => {
  await using store = await storeOf({});
  const rules = finish(RuleIndex.indexing([]));
  Object.defineProperty(rules, "steps", { value: 30_000_000 });
  class ManyRights extends RbacAccess {
    override *holding(): ReturnType<RbacAccess["holding"]> {
      yield;
      return { rules: [rules], missing: new MissingRoles() };
    }
  }
  const access = new ManyRights(store);
  const type = { group, version: "v1", resource: "clusterroles" } as ResourceType;
  const place = { kind: "resource", verb: "create", subresource: "", namespace: "", name: "r" } as const;
  const target = { ...place, group, version: "v1", resource: "clusterroles" };
  const object = { metadata: { name: "r" }, rules: [], aggregationRule: { clusterRoleSelectors: [{}] } };
  const check = escalationCheck(access)({ user, type, target, object, old: undefined });
  assert.throws(() => finish(check), /must have cluster-admin privileges to use the aggregationRule/);
  access.close();
});

test("one right is compared in parts with the many rules of a user, and a role that many bindings give only once", () => {
  const wide = rules(...Array.from({ length: 600 }, () => wideRule(4)));
  const indexes = Array.from({ length: 20 }, () => finish(RuleIndex.indexing(wide)));
  const wanted = rules(on("", "pods", "get"));
  const partsOf = (held: readonly RuleIndex[]): number => {
    const work = missingRights(held, wanted);
    for (let parts = 1; ; parts++) {
      const part = work.next();
      if (!part.done) continue;
      assert.deepEqual([part.value.rights.length, part.value.isComplete], [1, true]);
      return parts;
    }
  };
  assert.ok(partsOf(indexes) >= 10, `${partsOf(indexes)} parts`);
  const [first] = indexes;
  assert.ok(partsOf(Array.from({ length: 20 }, () => first ?? assert.fail())) < 5);
});
