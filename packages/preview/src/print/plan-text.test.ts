// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { FieldChange } from "@purlin/kube-objects/difference";
import { plannedChange as change, plannedComposite as composite, noChanges, planOf } from "../../test/overlay-stage.ts";
import type { Adoption, Plan, PlannedChange, PlannedComposite } from "../plan/plan.ts";
import { counted, headline, planText } from "./plan-text.ts";

const hides = { showsUnchanged: false, showsPending: false };
const lines = (plan: Plan, options = hides): string[] => planText(plan, options).split("\n").slice(0, -3);
const ofComposite = (one: PlannedComposite, options = hides): string[] => lines(planOf([one]), options);
const ofChange = (more: Partial<PlannedChange>): string =>
  ofComposite(composite([change({ fields: [], ...more })]))[1] ?? "";

describe("the last line", () => {
  const summary = { ...noChanges, added: 1, modified: 2, removed: 3 };
  const failed = composite([], { errors: [{ text: "x", isInvalid: false }] });
  const cases: Readonly<Record<string, readonly [Plan, string]>> = {
    "nothing changes": [planOf([], { examined: 1 }), "No changes in 1 composite resource."],
    "nothing was looked at": [planOf([]), "No changes in 0 composite resources."],
    "nothing changes, and something failed": [
      planOf([failed], { errors: [{ text: "y", isInvalid: true }], examined: 3 }),
      "No changes in 2 of 3 composite resources. Failed: 2.",
    ],
    "all counts": [
      planOf([composite([change()])], { summary, examined: 5 }),
      "Plan: 1 to add, 2 to change, 3 to destroy in 1 of 5 composite resources.",
    ],
    "files only": [planOf([], { summary, inputs: [change()] }), "Plan: 1 to add, 2 to change, 3 to destroy."],
    "refused, destructive, held and failed": [
      planOf([composite([change()], { held: { reason: "R", message: "m", hash: "h" } }), failed], {
        summary: { ...summary, refused: 4, destructive: 5 },
      }),
      "Plan: 1 to add, 2 to change, 3 to destroy in 1 of 2 composite resources. Refused: 4. Destructive: 5. Held until approved: 1. Failed: 1.",
    ],
    "only refused": [
      planOf([composite([change({ class: "refused" })])], { summary: { ...noChanges, refused: 1 } }),
      "Plan: 0 to add, 0 to change, 0 to destroy in 1 of 1 composite resource. Refused: 1.",
    ],
    "changes that only their owner makes do not count": [
      planOf([composite([change()], { isDeferred: true })], { summary, examined: 2 }),
      "Plan: 1 to add, 2 to change, 3 to destroy in 0 of 2 composite resources.",
    ],
  };
  for (const [title, [plan, text]] of Object.entries(cases)) test(title, () => assert.equal(headline(plan), text));

  test("a blank line separates it from what is above, if there is something", () => {
    assert.equal(planText(planOf([]), hides), "No changes in 0 composite resources.\n");
    assert.equal(
      planText(planOf([], { warnings: ["old"] }), hides),
      "warning: old\nNo changes in 0 composite resources.\n",
    );
    assert.match(planText(planOf([composite([change()])]), hides), /b"\n\nNo changes in 1 composite resource\.\n$/);
  });
});

test("an update of a managed resource has one note: what its provider replaces is not known", () => {
  const update = change({ external: "unknown" });
  const shown = planText(planOf([composite([update, update])]), hides).split("\n");
  assert.equal(shown.filter((line) => /^note: .*provider replaces/.test(line)).length, 1);
  assert.doesNotMatch(planText(planOf([composite([change()])]), hides), /note:/);
});

test("a number and its noun", () => {
  assert.deepEqual(
    [0, 1, 2].map((count) => counted(count, "change")),
    ["0 changes", "1 change", "2 changes"],
  );
});

describe("composite resources", () => {
  test("a title with the sums of its changes, then the changes", () => {
    const changes = [
      change(),
      change({ class: "adopt", name: "two", fields: [] }),
      change({ class: "create", name: "three", fields: [] }),
      change({ class: "delete", name: "four", fields: [] }),
      change({ class: "recreate", name: "five", fields: [] }),
    ];
    assert.deepEqual(ofComposite(composite(changes)), [
      "App default/web  2 to add, 2 to change, 2 to destroy",
      "  ~ ConfigMap default/one",
      '      data.text  "a" -> "b"',
      "  ~ ConfigMap default/two  gets a controller",
      "  + ConfigMap default/three",
      "  - ConfigMap default/four",
      "  -/+ ConfigMap default/five  DELETED and created again",
    ]);
  });

  test("a replacement is one addition and one removal", () => {
    const pair = [
      change({ class: "replace", name: "new", fields: [], replaces: "ConfigMap default/old" }),
      change({ class: "replace", name: "old", fields: [], replacedBy: "ConfigMap default/new" }),
    ];
    assert.deepEqual(ofComposite(composite(pair)), [
      "App default/web  1 to add, 0 to change, 1 to destroy",
      "  -/+ ConfigMap default/new  replaces ConfigMap default/old",
      "  -/+ ConfigMap default/old  replaced by ConfigMap default/new",
    ]);
  });

  test("without changes it is shown only if that is wanted", () => {
    assert.deepEqual(planText(planOf([composite([])]), hides), "No changes in 1 composite resource.\n");
    assert.deepEqual(ofComposite(composite([]), { ...hides, showsUnchanged: true }), ["App default/web  unchanged"]);
  });

  test("approval, errors and the end of the forecast", () => {
    const one = composite([], {
      namespace: undefined,
      isNameGenerated: true,
      held: { reason: "TooMany", message: "approve it", hash: "h" },
      errors: [{ text: "no port", isInvalid: false }],
      incomplete: "a function failed",
    });
    assert.deepEqual(ofComposite(one), [
      "App web (generated)  0 to add, 0 to change, 0 to destroy",
      "  held: approve it",
      "  ! no port",
      "  beyond this point: a function failed",
    ]);
  });

  const revisions: Readonly<Record<string, readonly [PlannedComposite["revision"], string]>> = {
    "no revision": [undefined, "(composition apps)"],
    "the same revision": [{ from: 2, to: 2 }, "(composition apps, revision 2)"],
    "another revision": [{ from: 1, to: 2 }, "(composition apps, revision 1 -> 2)"],
    "its first revision": [{ to: 2 }, "(composition apps, revision 2)"],
    "a revision that it loses": [{ from: 2 }, "(composition apps)"],
  };
  for (const [title, [revision, text]] of Object.entries(revisions)) {
    test(`the Composition with ${title}`, () => {
      const [first] = ofComposite(composite([change()], { composition: "apps", revision }));
      assert.equal(first, `App default/web  ${text}  0 to add, 1 to change, 0 to destroy`);
    });
  }

  const notes: Readonly<Record<Adoption, string | undefined>> = {
    adopts: undefined,
    unaffected: undefined,
    leaves: "leaves its Composition",
    "newly selects": "newly selects the Composition",
    pinned: "pinned to revision 3: nothing happens until it moves (--include-manual)",
    selector: "its compositionRevisionSelector does not select the new revision: nothing happens",
    deleting: "is being deleted: nothing happens",
    paused: "paused: nothing happens until it is resumed",
  };
  for (const [adoption, note] of Object.entries(notes)) {
    test(`the note of "${adoption}"`, () => {
      const one = composite([], { adoption: adoption as Adoption, revision: { from: 3, to: 3 } });
      const text = planText(planOf([one]), hides);
      assert.equal(
        text.split("\n")[0],
        note === undefined ? "No changes in 1 composite resource." : `App default/web  ${note}`,
      );
    });
  }

  test("changes that happen when its revision moves", () => {
    const [first] = ofComposite(composite([change()], { adoption: "pinned", isDeferred: true }));
    assert.equal(first, "App default/web  when its revision moves:  0 to add, 1 to change, 0 to destroy");
  });
});

describe("changes", () => {
  const cases: Readonly<Record<string, readonly [Partial<PlannedChange>, string]>> = {
    "a resource of a step": [{ resource: "map", step: "render" }, '~ ConfigMap map  default/one  step "render"'],
    "a cluster-scoped object": [{ namespace: undefined }, "~ ConfigMap one"],
    "a generated name": [{ isNameGenerated: true, name: "web-map-x1" }, "~ ConfigMap web-map-(known after apply)"],
    "a name that contains a generated one": [
      { isNameGenerated: true, generatedFrom: "web-x1", name: "web-x1-map" },
      "~ ConfigMap default/web-x1-map (generated)",
    ],
    "a generated name without a known part": [{ isNameGenerated: true, name: "x1" }, "~ ConfigMap (known after apply)"],
    "an assumption": [
      { after: "composed resources are ready" },
      "~ ConfigMap default/one  after composed resources are ready",
    ],
    "an object that is left behind": [
      { class: "leave-behind" },
      "< ConfigMap default/one  LEFT BEHIND: no longer referred to, and not deleted",
    ],
    "an external resource that is destroyed": [
      { class: "delete", external: "deleted" },
      "- ConfigMap default/one  DESTROYS the external resource",
    ],
    "one that is kept": [
      { class: "delete", external: "kept" },
      "- ConfigMap default/one  the external resource is kept",
    ],
    "one of which that is not known": [{ class: "delete", external: "unknown" }, "- ConfigMap default/one"],
    "finalizers, refusal, approximations and unstable paths": [
      {
        class: "refused",
        waitsFor: ["a/b", "c/d"],
        refusal: { text: "no", isInvalid: true },
        approximate: ["forbidden", "new-kind"],
        unstable: ["data.a"],
      },
      "! ConfigMap default/one  waits for a/b, c/d  refused: no  approximate: forbidden, new-kind  unstable: data.a",
    ],
  };
  for (const [title, [more, text]] of Object.entries(cases))
    test(title, () => assert.equal(ofChange(more), `  ${text}`));

  const fields: Readonly<Record<string, readonly [FieldChange, string]>> = {
    added: [{ path: "a", op: "add", new: { b: 1 } }, '    + a  {"b":1}'],
    removed: [{ path: "a", op: "remove", old: "x" }, '    - a  "x"'],
    replaced: [{ path: "a", op: "replace", old: 1, new: null }, "      a  1 -> null"],
    "known later": [
      { path: "a", op: "replace", old: "x", new: "uid", unknown: true },
      '      a  "x" -> (known after apply)',
    ],
    "new and known later": [{ path: "a", op: "add", new: "uid", unknown: true }, "    + a  (known after apply)"],
    "sensitive and replaced": [{ path: "a", op: "replace", sensitive: true }, "      a  (sensitive, changed)"],
    "sensitive and new": [{ path: "a", op: "add", sensitive: true }, "    + a  (sensitive)"],
    "sensitive in part": [
      { path: "a", op: "replace", old: { k: "(sensitive)" }, new: {}, sensitive: true },
      '      a  {"k":"(sensitive)"} -> {}',
    ],
    "an integer beyond 2^53": [{ path: "a", op: "add", new: 9007199254740993n }, "    + a  9007199254740993"],
  };
  for (const [title, [field, text]] of Object.entries(fields)) {
    test(`a field that is ${title}`, () => {
      assert.equal(ofComposite(composite([change({ fields: [field] })]))[2], text);
    });
  }

  for (const [length, text] of [
    [118, `"${"x".repeat(118)}"`],
    [119, `"${"x".repeat(119)}… (121 characters)`],
  ] as const) {
    test(`a value of ${length + 2} characters with its quotes`, () => {
      const field: FieldChange = { path: "a", op: "add", new: "x".repeat(length) };
      assert.equal(ofComposite(composite([change({ fields: [field] })]))[2], `    + a  ${text}`);
    });
  }
});

describe("files, findings, warnings and what would happen anyway", () => {
  test("files are shown before composite resources, and Compositions without fields if that is wanted", () => {
    const inputs = [change(), change({ kind: "Composition", namespace: undefined, name: "apps" })];
    const plan = planOf([composite([change()])], { inputs });
    assert.deepEqual(lines(plan).slice(0, 4), [
      "~ ConfigMap default/one",
      '    data.text  "a" -> "b"',
      "~ Composition apps",
      '    data.text  "a" -> "b"',
    ]);
    const short = planText(plan, { ...hides, isCompositionMinimized: true }).split("\n");
    assert.deepEqual(short.slice(2, 4), ["~ Composition apps", "App default/web  0 to add, 1 to change, 0 to destroy"]);
  });

  test("findings name their objects", () => {
    const finding = {
      definition: "apps.example.org",
      path: "v1: spec.a",
      level: "breaking",
      text: "the field is removed",
    } as const;
    const plan = planOf([], {
      findings: [
        { ...finding, objects: ["App default/a", "App default/b"] },
        { ...finding, level: "safe", objects: [] },
      ],
    });
    assert.deepEqual(lines(plan), [
      "breaking: apps.example.org v1: spec.a: the field is removed: App default/a, App default/b",
      "safe: apps.example.org v1: spec.a: the field is removed",
    ]);
  });

  test("what would happen anyway is counted, or shown", () => {
    const one = composite([], { pending: [change({ fields: [] }), change({ name: "two", fields: [] })] });
    assert.deepEqual(ofComposite(one), ["Would happen anyway: 2 changes to App default/web (--show pending)"]);
    assert.deepEqual(ofComposite(one, { ...hides, showsPending: true }), [
      "Would happen anyway: App default/web",
      "  ~ ConfigMap default/one",
      "  ~ ConfigMap default/two",
    ]);
  });
});
