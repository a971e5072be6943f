// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import type { JsonObject } from "@purlin/kube-objects/json";
import { deepFreeze, stringAt } from "@purlin/kube-objects/object";
import { metaOf } from "../objects/object-members.ts";
import {
  bootstrapClusterRoleBindings,
  bootstrapClusterRoles,
  bootstrapRoleBindings,
  bootstrapRoles,
  reconciledBinding,
  reconciledRole,
} from "./bootstrap-roles.ts";

const group = "rbac.authorization.k8s.io";
const autoupdate = "rbac.authorization.kubernetes.io/autoupdate";
const labels = { "kubernetes.io/bootstrapping": "rbac-defaults" };
const find = (objects: readonly JsonObject[], name: string): JsonObject | undefined =>
  objects.find((object) => metaOf(object).name === name);

test("every bootstrap object is complete and has a name of its own", () => {
  const kinds: readonly (readonly [string, readonly JsonObject[], boolean])[] = [
    ["ClusterRole", bootstrapClusterRoles(), false],
    ["Role", bootstrapRoles(), true],
    ["ClusterRoleBinding", bootstrapClusterRoleBindings(), false],
    ["RoleBinding", bootstrapRoleBindings(), true],
  ];
  for (const [kind, objects, isNamespaced] of kinds) {
    const names = objects.map((object) => `${metaOf(object).namespace ?? ""}/${metaOf(object).name}`);
    assert.ok(objects.length > 0, kind);
    assert.equal(new Set(names).size, objects.length, kind);
    for (const object of objects) {
      assert.equal(object["kind"], kind);
      assert.equal(object["apiVersion"], `${group}/v1`);
      assert.equal(metaOf(object).namespace !== undefined, isNamespaced, names.join());
      assert.equal(metaOf(object).annotations?.[autoupdate], "true");
    }
  }
});

test("every bootstrap binding refers to a bootstrap role of its namespace", () => {
  const roles = new Set([
    ...bootstrapClusterRoles().map((role) => `ClusterRole/${metaOf(role).name}`),
    ...bootstrapRoles().map((role) => `Role/${metaOf(role).namespace}/${metaOf(role).name}`),
  ]);
  for (const binding of [...bootstrapClusterRoleBindings(), ...bootstrapRoleBindings()]) {
    const { kind, name } = binding["roleRef"] as { kind: string; name: string };
    const at = kind === "Role" ? `Role/${metaOf(binding).namespace}/${name}` : `${kind}/${name}`;
    assert.ok(roles.has(at), at);
  }
});

test("cluster-admin may do everything and is bound to the masters", () => {
  const metadata = { name: "cluster-admin", labels, annotations: { [autoupdate]: "true" } };
  assert.deepEqual(find(bootstrapClusterRoles(), "cluster-admin"), {
    apiVersion: `${group}/v1`,
    kind: "ClusterRole",
    metadata,
    rules: [
      { verbs: ["*"], apiGroups: ["*"], resources: ["*"] },
      { verbs: ["*"], nonResourceURLs: ["*"] },
    ],
  });
  assert.deepEqual(find(bootstrapClusterRoleBindings(), "cluster-admin"), {
    apiVersion: `${group}/v1`,
    kind: "ClusterRoleBinding",
    metadata,
    roleRef: { apiGroup: group, kind: "ClusterRole", name: "cluster-admin" },
    subjects: [{ apiGroup: group, kind: "Group", name: "system:masters" }],
  });
});

test("admin, edit and view are aggregated, each with the ones below it", () => {
  const roles = bootstrapClusterRoles();
  const selectors = (name: string): unknown => find(roles, name)?.["aggregationRule"];
  for (const [name, partOf] of [
    ["admin", undefined],
    ["edit", "admin"],
    ["view", "edit"],
  ] as const) {
    const own = { [`${group}/aggregate-to-${name}`]: "true" };
    assert.deepEqual(selectors(name), { clusterRoleSelectors: [{ matchLabels: own }] });
    assert.equal(find(roles, name)?.["rules"], null);
    const expected = partOf === undefined ? labels : { ...labels, [`${group}/aggregate-to-${partOf}`]: "true" };
    assert.deepEqual(metaOf(find(roles, name) ?? {}).labels, expected);
    const part = find(roles, `system:aggregate-to-${name}`) ?? {};
    assert.deepEqual(metaOf(part).labels, { ...labels, ...own });
  }
});

test("the binding of the authentication reader has a name of its own", () => {
  const binding = find(bootstrapRoleBindings(), "system::extension-apiserver-authentication-reader");
  assert.equal(stringAt(binding ?? {}, ["roleRef", "name"]), "extension-apiserver-authentication-reader");
});

const wanted = deepFreeze({
  metadata: { name: "r", labels: { a: "1", b: "1" }, annotations: { [autoupdate]: "true" } },
  rules: [{ verbs: ["get", "list"], apiGroups: [""], resources: ["pods"] }],
}) as JsonObject;

test("a role that has everything is returned as it is, with what was added to it", () => {
  const more = { ...wanted, rules: [{ verbs: ["*"], apiGroups: ["*"], resources: ["*"] }] };
  assert.equal(reconciledRole(wanted, wanted), wanted);
  assert.equal(reconciledRole(more, wanted), more);
});

test("a role gets all rights that it lacks, however many", () => {
  const resources = Array.from({ length: 3_000 }, (_, index) => `a-resource-with-a-long-name-${index}`);
  const wanted = { metadata: { name: "r" }, rules: [{ apiGroups: [""], resources, verbs: ["get"] }] };
  const held = { metadata: { name: "r" }, rules: [] };
  const rules = reconciledRole(held, wanted)["rules"];
  assert.equal(Array.isArray(rules) && rules.length, resources.length);
});

test("missing rights are added after the rules of a role, one rule for each right", () => {
  const rules = [{ verbs: ["get"], apiGroups: [""], resources: ["pods"] }];
  assert.deepEqual(reconciledRole({ ...wanted, rules }, wanted)["rules"], [
    ...rules,
    { verbs: ["list"], apiGroups: [""], resources: ["pods"] },
  ]);
  assert.deepEqual(reconciledRole({ ...wanted, rules: null }, wanted)["rules"], [
    { verbs: ["get"], apiGroups: [""], resources: ["pods"] },
    { verbs: ["list"], apiGroups: [""], resources: ["pods"] },
  ]);
});

test("missing labels and annotations are added, changed ones stay", () => {
  const metadata = { name: "r", labels: { b: "mine", c: "2" } };
  assert.deepEqual(reconciledRole({ ...wanted, metadata }, wanted)["metadata"], {
    name: "r",
    labels: { a: "1", b: "mine", c: "2" },
    annotations: { [autoupdate]: "true" },
  });
});

test("missing selectors are added to an aggregation rule", () => {
  const selector = (value: string): JsonObject => ({ matchLabels: { part: value } });
  const aggregating = (...clusterRoleSelectors: JsonObject[]): JsonObject => ({
    ...wanted,
    aggregationRule: { clusterRoleSelectors },
  });
  const result = reconciledRole(aggregating(selector("mine")), aggregating(selector("a"), selector("mine")));
  assert.deepEqual(result["aggregationRule"], { clusterRoleSelectors: [selector("mine"), selector("a")] });
});

test("an object whose annotation turns updates off is left as it is", () => {
  const metadata = { name: "r", annotations: { [autoupdate]: "false" } };
  const role = { metadata, rules: [] };
  assert.equal(reconciledRole(role, wanted), role);
  const binding = { metadata, roleRef: { name: "other" } };
  assert.equal(reconciledBinding(binding, { ...wanted, roleRef: { name: "r" } }), binding);
});

test("a binding gets the subjects that it lacks; one to another role has to be created again", () => {
  const subject = (name: string): JsonObject => ({ apiGroup: group, kind: "User", name });
  const bound = (name: string, ...subjects: JsonObject[]): JsonObject => ({ ...wanted, roleRef: { name }, subjects });
  const full = bound("r", subject("a"), subject("b"));
  assert.equal(reconciledBinding(full, bound("r", subject("b"))), full);
  assert.deepEqual(reconciledBinding(bound("r", subject("x")), full)?.["subjects"], [
    subject("x"),
    subject("a"),
    subject("b"),
  ]);
  assert.equal(reconciledBinding(bound("other", subject("a")), full), undefined);
});
