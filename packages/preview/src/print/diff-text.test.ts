// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { JsonObject } from "@purlin/kube-objects/json";
import { printYaml } from "@purlin/kube-objects/yaml";
import { plannedChange as change, plannedComposite as composite, noChanges, planOf } from "../../test/overlay-stage.ts";
import type { Plan } from "../plan/plan.ts";
import { diffText, lineDiff, planMarkdown, planNotes } from "./diff-text.ts";

const options = { isCompact: false, yaml: (value: JsonObject): string => printYaml(value) };
const split = (text: string): string[] => (text === "" ? [] : text.split(" "));

describe("lines of two texts", () => {
  const cases: Readonly<Record<string, readonly [string, string, string[]]>> = {
    "two empty texts": ["", "", []],
    "a new text": ["", "a b", ["+ a", "+ b"]],
    "a text that is gone": ["a b", "", ["- a", "- b"]],
    "equal texts": ["a b", "a b", ["  a", "  b"]],
    "a line in the middle": ["a b c", "a x c", ["  a", "- b", "+ x", "  c"]],
    "a line at the end": ["a", "a b", ["  a", "+ b"]],
    "a line at the beginning": ["b", "a b", ["+ a", "  b"]],
    "lines that move": ["a b c", "c a b", ["+ c", "  a", "  b", "- c"]],
    "repeated lines": ["a a a", "a a", ["  a", "  a", "- a"]],
    "nothing in common": ["a b", "c d", ["- a", "- b", "+ c", "+ d"]],
    "what is common in the middle stays": ["x a y", "p a q", ["- x", "+ p", "  a", "- y", "+ q"]],
  };
  for (const [title, [before, after, expected]] of Object.entries(cases)) {
    test(title, () => assert.deepEqual(lineDiff(split(before), split(after)), expected));
  }

  test("either text can be read from the difference", () => {
    const before = split("k a b c d e a f g");
    const after = split("a x c e d a a g h");
    const lines = lineDiff(before, after);
    const of = (sign: string): string[] =>
      lines.filter((line) => line.startsWith(sign) || line.startsWith(" ")).map((line) => line.slice(2));
    assert.deepEqual(of("-"), before);
    assert.deepEqual(of("+"), after);
  });

  test("with a context: lines around changes, and dots only between them", () => {
    const before = "abcdefghij".split("");
    assert.deepEqual(lineDiff(before, before.with(1, "B").with(8, "I"), 1), [
      "  a",
      "- b",
      "+ B",
      "  c",
      "...",
      "  h",
      "- i",
      "+ I",
      "  j",
    ]);
    assert.deepEqual(lineDiff(before, before.with(4, "E"), 0), ["- e", "+ E"]);
    assert.deepEqual(lineDiff(before, before, 3), []);
  });

  test("changes whose contexts touch are one chunk", () => {
    const before = "abcdefg".split("");
    assert.equal(lineDiff(before, before.with(1, "B").with(4, "E"), 1).includes("..."), false);
  });

  test("more than 2000 changed lines are not compared one by one", () => {
    const lines = (count: number, at: string): string[] => Array.from({ length: count }, (_, index) => `${at}${index}`);
    const common = ["same"];
    const small = lineDiff([...lines(1999, "a"), ...common, "x"], [...lines(5, "b"), ...common, "y"]);
    assert.equal(small.filter((line) => line === "  same").length, 0, "2001 lines");
    const exact = lineDiff([...lines(1998, "a"), ...common, "x"], [...lines(5, "b"), ...common, "y"]);
    assert.equal(exact.filter((line) => line === "  same").length, 1, "2000 lines");
  });
});

describe("the form of crossplane-diff", () => {
  const modified = { summary: { ...noChanges, modified: 1 } };
  const first = (more: Parameters<typeof change>[0], extra: object = {}): string[] =>
    diffText(planOf([composite([change(more)])], modified), { ...options, ...extra }).split("\n");

  test("nothing for a plan without changes", () => {
    assert.equal(diffText(planOf([composite([])]), options), "");
  });

  test("generated names, refusals and sensitive values", () => {
    assert.equal(first({ isNameGenerated: true })[0], "~~~ ConfigMap/one (generated)");
    assert.equal(first({ refusal: { text: "quota", isInvalid: false } })[1], "refused: quota");
    const fields = [{ path: "data.key", op: "replace", sensitive: true } as const];
    assert.equal(first({ fields, new: { data: { text: "a" } } })[3], "~ data.key: (sensitive, changed)");
  });

  test("an object that is left behind has one line", () => {
    assert.deepEqual(first({ class: "leave-behind", new: undefined }).slice(0, 2), [
      "--- ConfigMap/one (left behind: not deleted)",
      "---",
    ]);
  });

  test("Compositions without their bodies, if that is wanted", () => {
    const minimized = first({ kind: "Composition" }, { isCompositionMinimized: true });
    assert.deepEqual(minimized.slice(0, 2), ["~~~ Composition/one", "---"]);
    assert.equal(first({}, { isCompositionMinimized: true })[1], "  data:");
  });

  test("a compact body has three lines around each change", () => {
    const data = (last: string): JsonObject => ({ a: 1, b: 2, c: 3, d: 4, e: last });
    const lines = first({ old: data("old"), new: data("new") }, { isCompact: true });
    assert.deepEqual(lines.slice(1, 6), ["  b: 2", "  c: 3", "  d: 4", "- e: old", "+ e: new"]);
  });

  test("several composite resources have titles and a total; those without changes have none", () => {
    const composites = [
      composite([change()]),
      composite([], { name: "idle" }),
      composite([change({ class: "create", old: undefined })], { name: "db" }),
    ];
    const text = diffText(planOf(composites, { summary: { ...noChanges, added: 1, modified: 1 } }), options);
    assert.deepEqual(
      text.split("\n").filter((line) => /^(===|Total)/.test(line)),
      ["=== App/web ===", "=== App/db ===", "Total: 1 added, 1 modified across 3 XRs (2 changed)"],
    );
  });

  test("files come first and have no title", () => {
    const plan = planOf([composite([change({ name: "two" })])], { ...modified, inputs: [change()] });
    assert.deepEqual(
      diffText(plan, options)
        .split("\n")
        .filter((line) => line.startsWith("~~~")),
      ["~~~ ConfigMap/one", "~~~ ConfigMap/two"],
    );
  });
});

describe("comments", () => {
  const comment = (plan: Plan): string[] => planMarkdown(plan, { ...options, key: "k" }).split("\n");

  test("begin with the mark, then the headline", () => {
    assert.deepEqual(comment(planOf([])), [
      "<!-- purlin-diff:k -->",
      "### No changes in 0 composite resources.",
      "",
      "",
    ]);
  });

  test("warn of destructive changes, with the number", () => {
    const warning = (destructive: number): string | undefined =>
      comment(planOf([], { summary: { ...noChanges, destructive } })).find((line) =>
        line.includes("destructive change"),
      );
    assert.equal(warning(1), "> 1 destructive change: read the diff before you apply it.");
    assert.equal(warning(2), "> 2 destructive changes: read the diff before you apply it.");
    assert.equal(warning(0), undefined);
  });

  test("show errors in one line each, of the plan and of composite resources", () => {
    const errors = [{ text: "first\n  line | two <b>", isInvalid: false }];
    const lines = comment(planOf([composite([], { errors })], { errors }));
    const at = lines.indexOf("> [!CAUTION]");
    assert.deepEqual(lines.slice(at + 1, at + 4), [
      "> first line \\| two &lt;b>",
      "> App default/web: first line \\| two &lt;b>",
      "",
    ]);
  });

  test("show findings about definitions, warnings, and where a forecast ended", () => {
    const plan = planOf([composite([], { incomplete: 'step "s": no', isNameGenerated: true })], {
      findings: [
        { definition: "apps.example.org", path: "spec.size", level: "breaking", text: "removed", objects: ["App a"] },
      ],
      warnings: ["the plan is stale"],
    });
    const notes = [
      "breaking: apps.example.org spec.size: removed: App a",
      "warning: the plan is stale",
      'App default/web (generated): beyond this point: step "s": no',
    ];
    assert.deepEqual(
      comment(plan).filter((line) => line.startsWith("- ")),
      notes.map((note) => `- ${note}`),
    );
    assert.deepEqual(planNotes(plan), notes);
  });

  test("have a table with the counts and a note of each composite resource", () => {
    const classes = ["create", "replace", "recreate", "update", "adopt", "delete", "leave-behind", "refused"] as const;
    const all = classes.map((one) => change({ class: one }));
    const composites = [
      composite(all, { adoption: "adopts" }),
      composite([], { name: "a", held: { reason: "R", message: "m", hash: undefined }, adoption: "pinned" }),
      composite([], {
        name: "b",
        errors: [{ text: "x", isInvalid: false }],
        held: { reason: "R", message: "m", hash: "h" },
      }),
      composite([], { name: "c", namespace: undefined }),
    ];
    assert.deepEqual(
      comment(planOf(composites)).filter((line) => line.startsWith("|")),
      [
        "| XR | + | ~ | - | note |",
        "|---|---|---|---|---|",
        "| App default/web | 3 | 2 | 3 | adopts |",
        "| App default/a | 0 | 0 | 0 | held until approved |",
        "| App default/b | 0 | 0 | 0 | failed |",
        "| App c | 0 | 0 | 0 |  |",
      ],
    );
  });

  test("fold the diffs of files and of changed composite resources away", () => {
    const plan = planOf([composite([change()]), composite([], { name: "idle" })], {
      inputs: [change({ name: "file" })],
    });
    const lines = comment(plan);
    assert.deepEqual(
      lines.filter((line) => line.startsWith("<details>")),
      ["<details><summary>Files</summary>", "<details><summary>App default/web</summary>"],
    );
    assert.equal(lines.filter((line) => line === "```diff").length, 2);
    assert.equal(lines.filter((line) => line === "</details>").length, 2);
  });

  test("a fence is longer than each run of backticks", () => {
    const fenced = (text: string): string[] =>
      comment(planOf([composite([change({ new: { text } })])])).filter((line) => /^`+/.test(line));
    assert.deepEqual(fenced("``"), ["```diff", "```"]);
    assert.deepEqual(fenced("```"), ["````diff", "````"]);
    assert.deepEqual(fenced("``````x```"), ["```````diff", "```````"]);
  });

  test("what is too long is counted", () => {
    const big = (name: string): ReturnType<typeof composite> =>
      composite([change({ old: {}, new: { text: "x".repeat(30_000) } })], { name });
    const tail = (...names: readonly string[]): string | undefined => comment(planOf(names.map(big))).at(-2);
    assert.equal(tail("a", "b"), "1 more XR, see the job's JSON");
    assert.equal(tail("a", "b", "c"), "2 more XRs, see the job's JSON");
    assert.equal(tail("a"), "</details>");
  });
});
