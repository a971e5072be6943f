// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import type { JsonObject } from "@purlin/kube-objects/json";
import { printYaml } from "@purlin/kube-objects/yaml";
import type { Plan, PlannedChange, PlannedComposite } from "../plan/plan.ts";
import { diffText, lineDiff, planMarkdown } from "./diff-text.ts";
import { planText } from "./plan-text.ts";
import { planReport } from "./report.ts";

const yaml = (value: JsonObject): string => printYaml(value);
const change = (more: Partial<PlannedChange> = {}): PlannedChange => ({
  class: "update",
  apiVersion: "v1",
  kind: "ConfigMap",
  namespace: "default",
  name: "one",
  isNameGenerated: false,
  round: 1,
  approximate: [],
  isDestructive: false,
  fields: [{ path: "data.text", op: "replace", old: "a", new: "b" }],
  digest: "d",
  old: { data: { text: "a" } },
  new: { data: { text: "b" } },
  ...more,
});
const composite = (name: string, changes: readonly PlannedChange[]): PlannedComposite => ({
  apiVersion: "example.org/v1",
  kind: "App",
  namespace: "default",
  name,
  isNameGenerated: false,
  adoption: "unaffected",
  rounds: 1,
  changes,
  pending: [],
  isDeferred: false,
  errors: [],
});
const planOf = (composites: readonly PlannedComposite[], destructive = 0): Plan => ({
  inputs: [],
  composites,
  examined: composites.length,
  findings: [],
  errors: [],
  summary: { added: 0, modified: 1, removed: 0, replaced: 0, recreated: 0, refused: 0, pending: 0, destructive },
  hash: "h",
  isStale: false,
  hasBaseline: true,
  warnings: [],
  functions: [],
});
const shows = { showsUnchanged: false, showsPending: false };

test("a comment keeps its marker, has a fence longer than its backticks, and is cut between composite resources", () => {
  const text = `\`\`\`\`${"x".repeat(20_000)}`;
  const long = Array.from({ length: 8 }, (_, at) => composite(`app-${at}`, [change({ new: { data: { text } } })]));
  const comment = planMarkdown(planOf(long, 1), { isCompact: false, yaml, key: "prod" });
  assert.match(comment, /^<!-- purlin-diff:prod -->\n### Plan: 0 to add, 1 to change/);
  assert.ok(comment.length < 70_000);
  assert.match(comment, /\n\d more XRs, see the job's JSON\n$/);
  assert.match(comment, /\n`````diff\n/);
  assert.equal(comment.match(/<details>/g)?.length, comment.match(/<\/details>/g)?.length);
  assert.match(comment, /\[!WARNING\]/);
});

test("a value of ten MiB is cut in text and whole in JSON", () => {
  const long = "x".repeat(10 * 2 ** 20);
  const plan = planOf([
    composite("big", [
      change({ fields: [{ path: "data.text", op: "add", new: long }], new: { data: { text: long } } }),
    ]),
  ]);
  assert.ok(planText(plan, shows).length < 1000);
  assert.match(planText(plan, shows), /… \(10485762 characters\)/);
  assert.ok(JSON.stringify(planReport(plan)).includes(long));
});

test("the text of crossplane-diff: signs, bodies and a summary", () => {
  const changes = [
    change(),
    change({ class: "create", name: "two", old: undefined }),
    change({ class: "delete", name: "three", new: undefined }),
  ];
  const plan = { ...planOf([composite("app", changes)]), summary: { ...planOf([]).summary, added: 1, removed: 1 } };
  assert.equal(
    diffText(plan, { isCompact: false, yaml }),
    "~~~ ConfigMap/one\n  data:\n-   text: a\n+   text: b\n---\n+++ ConfigMap/two\n+ data:\n+   text: b\n---\n--- ConfigMap/three\n- data:\n-   text: a\n---\n\nSummary: 1 added, 1 modified, 1 removed\n",
  );
});

test("compact diffs show three lines around changes, with dots between chunks", () => {
  const before = Array.from({ length: 30 }, (_, at) => `line ${at}`);
  const after = before.with(5, "five").with(25, "twenty-five");
  const lines = lineDiff(before, after, 3);
  assert.deepEqual(lines.slice(0, 5), ["  line 2", "  line 3", "  line 4", "- line 5", "+ five"]);
  assert.equal(lines.filter((line) => line === "...").length, 1);
  assert.equal(lineDiff(before, before, 3).length, 0);
});

test("every class, note and reason has its words", () => {
  const changes = [
    change({ class: "leave-behind", isDestructive: true, fields: [] }),
    change({ class: "recreate", isDestructive: true, fields: [] }),
    change({ class: "delete", external: "deleted", waitsFor: ["example.org/hold"], fields: [] }),
    change({ class: "refused", refusal: { text: "exceeded quota", isInvalid: false }, fields: [] }),
    change({
      class: "create",
      approximate: ["new-kind"],
      after: "composed resources are ready",
      isNameGenerated: true,
      name: "app-abc",
      fields: [],
    }),
    change({ fields: [{ path: "data.key", op: "replace", sensitive: true }] }),
  ];
  const text = planText(planOf([composite("app", changes)], 3), shows);
  for (const words of [
    "LEFT BEHIND",
    "DELETED and created again",
    "DESTROYS the external resource",
    "waits for example.org/hold",
    "refused: exceeded quota",
    "approximate: new-kind",
    "app-(known after apply)",
    "after composed resources are ready",
    "(sensitive, changed)",
    "Destructive: 3.",
  ]) {
    assert.ok(text.includes(words), `${words}\n${text}`);
  }
});
