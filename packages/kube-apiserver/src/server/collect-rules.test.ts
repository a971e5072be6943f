// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import { finish } from "@purlin/base";
import type { JsonObject } from "@purlin/kube-objects/json";
import { type CollectedRules, collectingRules } from "./controllers.ts";

const verb = (name: string): JsonObject => ({ apiGroups: [""], resources: ["pods"], verbs: [name] });
const labelled = (label: string | undefined): JsonObject =>
  label === undefined ? {} : { labels: { [label]: "true" } };

/** A role with rules of its own, and the label by which others find it. */
const part = (name: string, verbs: readonly string[], label?: string): JsonObject => ({
  metadata: { name, ...labelled(label) },
  rules: verbs.map(verb),
});

/** A role made of those with any of the labels. */
const whole = (
  name: string,
  from: readonly string[],
  more: { label?: string; has?: readonly string[] } = {},
): JsonObject => ({
  metadata: { name, ...labelled(more.label) },
  rules: more.has === undefined ? null : more.has.map(verb),
  aggregationRule: { clusterRoleSelectors: from.map((label) => ({ matchLabels: { [label]: "true" } })) },
});

const stored = (roles: readonly JsonObject[]): { readonly value: JsonObject }[] => roles.map((value) => ({ value }));

const cases: Record<string, { reason: string; roles: JsonObject[]; want: Record<string, readonly string[]> }> = {
  NobodyIsMadeOfOthers: {
    reason: "roles without selectors keep their rules",
    roles: [part("a", ["get"], "x")],
    want: {},
  },
  RulesOfAllThatMatch: {
    reason: "by name, whatever the order they come in",
    roles: [part("b", ["list"], "x"), whole("all", ["x"]), part("a", ["get"], "x"), part("other", ["watch"], "y")],
    want: { all: ["get", "list"] },
  },
  SelectorBySelector: {
    reason: "the first selector's roles come first",
    roles: [part("a", ["get"], "x"), part("b", ["list"], "y"), whole("all", ["y", "x"])],
    want: { all: ["list", "get"] },
  },
  EachRuleOnce: {
    reason: "two roles with one rule in common, and one that two selectors match",
    roles: [part("a", ["get", "list"], "x"), part("b", ["list", "watch"], "x"), whole("all", ["x", "x"])],
    want: { all: ["get", "list", "watch"] },
  },
  NothingToChange: {
    reason: "a role that has its rules is not written again",
    roles: [part("a", ["get"], "x"), whole("all", ["x"], { has: ["get"] })],
    want: {},
  },
  NothingMatches: { reason: "no rules and none there are the same", roles: [whole("all", ["x"])], want: {} },
  RulesOfItsOwnAreLost: {
    reason: "a role made of others has nothing else",
    roles: [part("a", ["get"], "x"), whole("all", ["x"], { has: ["delete"] })],
    want: { all: ["get"] },
  },
  AllPartsAreGone: {
    reason: "rules go with their roles",
    roles: [whole("all", ["x"], { has: ["get"] })],
    want: { all: [] },
  },
  ARoleMadeOfOneMadeOfOthers: {
    reason: "admin is made of edit, which is made of view: all are settled at once, in whichever order they come",
    roles: [
      whole("admin", ["to-admin"]),
      whole("edit", ["to-edit"], { label: "to-admin" }),
      part("edit-part", ["create"], "to-edit"),
      whole("view", ["to-view"], { label: "to-edit" }),
      part("view-part", ["get"], "to-view"),
    ],
    want: { admin: ["create", "get"], edit: ["create", "get"], view: ["get"] },
  },
  NotMadeOfItself: {
    reason: "a role with its own label keeps nothing by that",
    roles: [whole("all", ["x"], { label: "x", has: ["delete"] }), part("a", ["get"], "x")],
    want: { all: ["get"] },
  },
  InACircle: {
    reason: "two roles made of each other share what either has",
    roles: [whole("one", ["x"], { label: "y" }), whole("two", ["y"], { label: "x" }), part("a", ["get"], "x")],
    want: { one: ["get"], two: ["get"] },
  },
};

for (const [name, { reason, roles, want }] of Object.entries(cases)) {
  test(`the rules of roles made of others: ${name}`, () => {
    const verbsOf = ({ rules }: CollectedRules): unknown[] => rules.map((rule) => (rule["verbs"] as string[])[0]);
    assert.deepEqual(
      Object.fromEntries(finish(collectingRules(stored(roles))).map((one) => [one.name, verbsOf(one)])),
      want,
      reason,
    );
  });
}

test("roles that take each other's rules away in a circle end after as many looks as there are roles", () => {
  const roles = [0, 1, 2].map((at) => whole(`r${at}`, [`l${at}`], { label: `l${(at + 1) % 3}`, has: [`v${at}`] }));
  assert.ok(finish(collectingRules(stored(roles))).length <= 3);
});

test("very many selectors and rules are read in parts", () => {
  const selectors = Array.from({ length: 20_000 }, (_, index) => ({ matchLabels: { [`l${index % 1_000}`]: "true" } }));
  const many = Array.from({ length: 10_000 }, (_, index) => verb(`v${index}`));
  const roles: JsonObject[] = [
    { metadata: { name: "all" }, aggregationRule: { clusterRoleSelectors: [...selectors, {}] } },
    { metadata: { name: "large", ...labelled("l7") }, rules: many },
    ...Array.from({ length: 20 }, (_, index) => part(`p${index}`, ["get"])),
  ];
  const work = collectingRules(stored(roles));
  let parts = 0;
  let step = work.next();
  for (; !step.done; step = work.next()) parts++;
  assert.deepEqual(step.value, [{ name: "all", rules: [...many, verb("get")] }]);
  assert.ok(parts > 1_000, `${parts} parts`);
});
