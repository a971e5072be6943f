// SPDX-License-Identifier: Apache-2.0

import assert from "node:assert/strict";
import { test } from "node:test";
import { finish } from "@purlin/base";
import { type AccessAttributes, missingRolesText, type PolicyRule, type RoleRef, rulesOfRole } from "./authorizer.ts";
import { RuleIndex, sought, soughtAccess } from "./rbac/rule-index.ts";

/** A rule in one line: `verbs | groups | resources | names`, or `verbs | paths`. */
function rule(text: string): PolicyRule {
  const [verbs = [], ...rest] = text.split("|").map((part) => part.trim().split(" "));
  if (rest.length === 1) return { ...noRule, verbs, nonResourceURLs: rest[0] ?? [] };
  const [apiGroups = [], resources = [], resourceNames = []] = rest;
  return { ...noRule, verbs, apiGroups: apiGroups.map((one) => (one === "core" ? "" : one)), resources, resourceNames };
}
const noRule: PolicyRule = { verbs: [], apiGroups: [], resources: [], resourceNames: [], nonResourceURLs: [] };

/** An access in one line: `verb group resource[/subresource] name`, or `verb /path`. */
function access(text: string): AccessAttributes {
  const [verb = "", group = "", what = "", name = ""] = text.split(" ");
  if (group.startsWith("/")) return { kind: "path", verb, path: group };
  const [resource = "", subresource = ""] = what.split("/");
  const at = { version: "v1", namespace: "ns", name };
  return { kind: "resource", verb, group: group === "core" ? "" : group, resource, subresource, ...at };
}

const decisions: readonly (readonly [string, string, readonly string[], readonly string[]])[] = [
  [
    "verbs, groups and resources must all be listed",
    "get list | core apps | pods deployments",
    ["get core pods", "list apps deployments", "get core deployments x"],
    ["watch core pods", "get batch pods", "get core services", "* core pods"],
  ],
  [
    "a star stands for every verb",
    "* | core | pods",
    ["get core pods", "made-up core pods"],
    ["get apps pods", "get core secrets"],
  ],
  [
    "a star stands for every group and every resource with its subresources",
    "get | * | *",
    ["get core pods", "get example.org widgets", "get core pods/log"],
    ["list core pods"],
  ],
  ["a resource does not include its subresources", "get | core | pods", ["get core pods"], ["get core pods/log"]],
  [
    "a subresource does not include its resource",
    "get | core | pods/log",
    ["get core pods/log"],
    ["get core pods", "get core pods/exec", "get core services/log"],
  ],
  [
    "*/sub is the subresource of every resource, and of no resource itself",
    "update | * | */scale",
    ["update apps deployments/scale", "update example.org widgets/scale"],
    ["update apps deployments", "update apps deployments/status", "update apps scale"],
  ],
  ["pods/* is not a wildcard", "get | core | pods/*", [], ["get core pods/log", "get core pods"]],
  [
    "names restrict a rule to these objects, so requests without a name are not allowed",
    "get list | core | secrets | a b",
    ["get core secrets a", "list core secrets b"],
    ["get core secrets c", "list core secrets", "get core secrets *"],
  ],
  ["a rule about resources allows no path", "* | * | *", ["get core pods"], ["get /healthz"]],
  [
    "a rule about paths allows no resource",
    "get | /healthz /version",
    ["get /healthz", "get /version"],
    ["get /healthz/etcd", "post /healthz", "get core pods"],
  ],
  ["a path may end with a star", "get | /healthz/*", ["get /healthz/", "get /healthz/etcd/x"], ["get /healthz"]],
  ["a star alone is every path", "get | *", ["get /", "get /metrics"], ["get core pods"]],
];

for (const [name, text, allowed, refused] of decisions) {
  test(`a rule: ${name}`, () => {
    for (const [how, index] of [
      ["", indexOf(rule(text))],
      [" with many words", indexOf(withManyWords(rule(text)))],
    ] as const) {
      for (const one of allowed) assert.ok(index.has(soughtAccess(access(one))), `allows ${one}${how}`);
      for (const one of refused) assert.ok(!index.has(soughtAccess(access(one))), `refuses ${one}${how}`);
    }
  });
}

const indexOf = (...rules: PolicyRule[]): RuleIndex => finish(RuleIndex.indexing(rules));

/** A rule with more combinations of words than its index lists, and the same meaning for the words of the tests. */
function withManyWords(one: PolicyRule): PolicyRule {
  const words = (list: readonly string[]): string[] =>
    list.length === 0 ? [] : [...list, ...Array.from({ length: 50 }, (_, i) => `other-${i}`)];
  return {
    verbs: words(one.verbs),
    apiGroups: words(one.apiGroups),
    resources: words(one.resources),
    resourceNames: words(one.resourceNames),
    nonResourceURLs: words(one.nonResourceURLs),
  };
}

test("words of several rules are not mixed, whatever characters they contain", () => {
  const index = indexOf(rule("get | a | b/c"), rule("list | a | pods | x"), rule("get | core | pods | y"));
  assert.ok(index.has(sought({ verb: "get", group: "a", resource: "b/c", name: undefined })));
  assert.ok(!index.has(sought({ verb: "get", group: "a/b", resource: "c", name: undefined })));
  assert.ok(!index.has(sought({ verb: "geta", group: "", resource: "b/c", name: undefined })));
  assert.ok(!index.has(sought({ verb: "list", group: "a", resource: "pods", name: "y" })));
  assert.ok(!index.has(sought({ verb: "list", group: "a", resource: "pods", name: undefined })));
  assert.ok(index.has(sought({ verb: "list", group: "a", resource: "pods", name: "x" })));
});

test("names of several rules add up, and a rule without names is for all", () => {
  const some = indexOf(rule("get | a | b | x"), rule("get | a | b | y"));
  const on = (name: string | undefined) => sought({ verb: "get", group: "a", resource: "b", name });
  assert.deepEqual(
    [some.has(on("x")), some.has(on("y")), some.has(on("z")), some.has(on(undefined))],
    [true, true, false, false],
  );
  const all = indexOf(rule("get | a | b | x"), { ...rule("get | a | b"), resourceNames: [] }, rule("get | a | b | y"));
  assert.ok(all.has(on(undefined)));
  assert.ok(all.has(on("z")));
});

const coversPath = (url: string, path: string): boolean =>
  [["get"], ["get", ...Array.from({ length: 50 }, (_, i) => `other-${i}`)]].every((verbs) =>
    indexOf({ ...noRule, verbs, nonResourceURLs: [url, "/x/y/z", "/x/z"] }).has(sought({ verb: "get", path })),
  );

test("a URL with a star covers paths and other such URLs below it", () => {
  assert.ok(coversPath("/api/*", "/api/v1/*"));
  assert.ok(coversPath("/api**", "/api/v1"), "several stars at the end are one");
  assert.ok(coversPath("*", "/anything"));
  assert.ok(coversPath("/a*b", "/a*b"), "a star in the middle stands for itself");
  assert.ok(!coversPath("/a*b", "/axb"));
  assert.ok(!coversPath("/api/v1/*", "/api/*"));
  assert.ok(!coversPath("/api", "/api/v1"));
});

test("the rules of a role have empty lists for what is not set, and no rules for what is not a rule", () => {
  const verbs = ["get"];
  assert.deepEqual(rulesOfRole({ rules: [{ verbs }, "rule", null, { apiGroups: null, resources: "pods" }] }), [
    { ...noRule, verbs },
    noRule,
  ]);
  assert.deepEqual(rulesOfRole({ rules: null }), []);
  assert.deepEqual(rulesOfRole({}), []);
});

const role = (kind: string, name: string, namespace = ""): RoleRef => ({ kind, name, namespace });

test("the text about missing roles names each role once", () => {
  const suffix = "rbac.authorization.k8s.io";
  assert.equal(missingRolesText([]), "");
  assert.equal(missingRolesText([role("ClusterRole", "a")]), `clusterrole.${suffix} "a" not found`);
  assert.equal(
    missingRolesText([role("ClusterRole", "a"), role("Role", 'b"', "ns"), role("ClusterRole", "a")]),
    `[clusterrole.${suffix} "a" not found, role.${suffix} "b\\"" not found]`,
  );
  assert.equal(
    missingRolesText([role("Role", "a", "ns")], () => "roles"),
    `roles.${suffix} "a" not found`,
  );
});

test("URLs of many lengths are many steps", () => {
  const urls = Array.from({ length: 500 }, (_, i) => `/${"x".repeat(i)}*`);
  assert.ok(indexOf({ ...noRule, verbs: ["get"], nonResourceURLs: urls }).steps > 500);
  assert.ok(indexOf({ ...noRule, verbs: ["get"], nonResourceURLs: ["/a*", "/b*", "/c*"] }).steps < 20);
});
