// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { JsonObject } from "@purlin/kube-objects/json";
import { memberAt, objectsAt } from "@purlin/kube-objects/object";
import { plannedChange as change, plannedComposite as composite, noChanges, planOf } from "../../test/overlay-stage.ts";
import type { PlannedChange, PlannedComposite } from "../plan/plan.ts";
import { planReport } from "./report.ts";

const xr = (one: PlannedComposite): JsonObject => (planReport(planOf([one]))["xrs"] as JsonObject[])[0] ?? {};
const reported = (more: Partial<PlannedChange>): JsonObject =>
  (planReport(planOf([], { inputs: [change(more)] }))["changes"] as JsonObject[])[0] ?? {};

test("an empty plan has all lists, and no fields without a value", () => {
  assert.deepEqual(planReport(planOf([])), {
    apiVersion: "cli.purlin.dev/v1",
    kind: "DiffReport",
    hash: "h",
    stale: false,
    baseline: true,
    examined: 0,
    summary: noChanges,
    changes: [],
    xrs: [],
    compositions: [],
    definitions: [],
    functions: [],
    warnings: [],
    errors: [],
  });
});

describe("changes", () => {
  test("an update has both forms and its fields", () => {
    assert.deepEqual(reported({}), {
      type: "modified",
      class: "update",
      apiVersion: "v1",
      kind: "ConfigMap",
      name: "one",
      namespace: "default",
      round: 1,
      exactness: "exact",
      approximate: [],
      destructive: false,
      fields: [{ path: "data.text", op: "replace", old: "a", new: "b" }],
      diff: { old: { data: { text: "a" } }, new: { data: { text: "b" } } },
    });
  });

  test("what is added or removed has its only form as spec", () => {
    const added = reported({ class: "create", old: undefined });
    assert.deepEqual([added["type"], added["diff"]], ["added", { spec: { data: { text: "b" } } }]);
    const removed = reported({ class: "delete", new: undefined });
    assert.deepEqual([removed["type"], removed["diff"]], ["removed", { spec: { data: { text: "a" } } }]);
    assert.equal(reported({ class: "leave-behind", old: undefined, new: undefined })["type"], "removed");
  });

  test("all that is known of a change", () => {
    const more: Partial<PlannedChange> = {
      isNameGenerated: true,
      resource: "map",
      step: "render",
      after: "composed resources are ready",
      approximate: ["new-kind"],
      external: "kept",
      refusal: { text: "no", isInvalid: true },
      waitsFor: ["a/b"],
      unstable: ["data.a"],
      isDestructive: true,
      replaces: "A b",
      replacedBy: "C d",
    };
    const {
      generated,
      resource,
      step,
      after,
      exactness,
      external,
      refusal,
      waitsFor,
      unstable,
      destructive,
      replaces,
      replacedBy,
    } = reported(more);
    assert.deepEqual(
      [
        generated,
        resource,
        step,
        after,
        exactness,
        external,
        refusal,
        waitsFor,
        unstable,
        destructive,
        replaces,
        replacedBy,
      ],
      [
        true,
        "map",
        "render",
        "composed resources are ready",
        "local",
        "kept",
        "no",
        ["a/b"],
        ["data.a"],
        true,
        "A b",
        "C d",
      ],
    );
  });

  test("those that only an owner makes are not among the changes of the plan", () => {
    const report = planReport(
      planOf([composite([change({ name: "now" })]), composite([change({ name: "later" })], { isDeferred: true })], {
        inputs: [change({ name: "file" })],
      }),
    );
    assert.deepEqual(
      (report["changes"] as JsonObject[]).map(({ name }) => name),
      ["file", "now"],
    );
    assert.deepEqual(
      (report["xrs"] as JsonObject[]).map(({ deferred }) => deferred),
      [undefined, true],
    );
  });
});

describe("composite resources", () => {
  const error = { text: "no port", isInvalid: false };

  test("have a status and counts by type", () => {
    const changes = [
      change(),
      change({ class: "create", old: undefined }),
      change({ class: "replace", old: undefined }),
      change({ class: "delete", new: undefined }),
    ];
    const { status, summary } = xr(composite(changes));
    assert.deepEqual([status, summary], ["changed", { added: 2, modified: 1, removed: 1 }]);
    assert.equal(xr(composite([]))["status"], "unchanged");
    assert.equal(xr(composite(changes, { errors: [error] }))["status"], "error");
  });

  test("have their Composition, approval and end of the forecast", () => {
    const report = xr(
      composite([], {
        composition: "apps",
        revision: { from: undefined, to: 2 },
        held: { reason: "R", message: "m", hash: undefined },
        incomplete: "why",
        pending: [change({ name: "anyway" })],
      }),
    );
    assert.deepEqual(
      [report["composition"], report["revision"], report["held"], report["incomplete"]],
      ["apps", { to: 2 }, { reason: "R", message: "m" }, "why"],
    );
    assert.equal(memberAt((report["pending"] as JsonObject[])[0] ?? {}, ["name"]), "anyway");
  });

  test("errors are listed with the plan's, each with its object and whether the input is wrong", () => {
    const report = planReport(
      planOf([composite([], { errors: [error] })], { errors: [{ text: "spec.a: Required value", isInvalid: true }] }),
    );
    assert.deepEqual(report["errors"], [
      { message: "spec.a: Required value", validationFailures: ["spec.a: Required value"] },
      { resourceID: "App/web", message: "no port" },
    ]);
    assert.deepEqual((report["xrs"] as JsonObject[])[0]?.["errors"], [{ resourceID: "App/web", message: "no port" }]);
  });
});

describe("changed Compositions", () => {
  const apps = change({ kind: "Composition", namespace: undefined, name: "apps" });
  const using = (
    name: string,
    more: Partial<PlannedComposite>,
    ...changes: readonly PlannedChange[]
  ): PlannedComposite => composite(changes, { name, composition: "apps", ...more });

  test("have the composite resources that use them, or leave", () => {
    const composites = [
      using("changed", { adoption: "adopts" }, change()),
      using("same", {}),
      using("failed", { errors: [{ text: "x", isInvalid: false }] }),
      using("pinned", { adoption: "pinned" }),
      using("selector", { adoption: "selector" }),
      using("deleting", { adoption: "deleting" }),
      using("leaving", { adoption: "leaves", composition: "other" }, change()),
      using("unrelated", { composition: "other" }),
    ];
    const [report] = planReport(planOf(composites, { inputs: [apps, change()] }))["compositions"] as JsonObject[];
    assert.equal(report?.["name"], "apps");
    assert.deepEqual(report?.["affectedResources"], {
      total: 7,
      withChanges: 2,
      unchanged: 4,
      withErrors: 1,
      filteredByPolicy: 1,
      filteredBySelector: 1,
      filteredByDeletion: 1,
    });
    assert.deepEqual(
      objectsAt(report ?? {}, ["impactAnalysis"]).map(({ name, status, filterReason, error }) =>
        [name, status, filterReason, error].filter(Boolean).join(" "),
      ),
      [
        "changed changed",
        "same unchanged",
        "failed error x",
        "pinned filtered manual_policy",
        "selector filtered revision_selector_mismatch",
        "deleting filtered deleting",
        "leaving changed",
      ],
    );
    const [changed, same] = objectsAt(report ?? {}, ["impactAnalysis"]);
    const downstream = changed?.["downstreamChanges"] as JsonObject;
    assert.deepEqual(downstream["summary"], { added: 0, modified: 1, removed: 0 });
    assert.deepEqual(
      objectsAt(downstream, ["changes"]).map(({ name }) => name),
      ["one"],
    );
    assert.equal(same?.["downstreamChanges"], undefined);
  });

  test("one that the server refuses has its words", () => {
    const refused = { ...apps, class: "refused", refusal: { text: "no", isInvalid: true } } as const;
    const [report] = planReport(planOf([], { inputs: [refused] }))["compositions"] as JsonObject[];
    assert.equal(report?.["error"], "no");
  });
});

test("findings are grouped by definition", () => {
  const finding = (definition: string, path: string) =>
    ({ definition, path, level: "risky", text: "t", objects: ["App a"] }) as const;
  const report = planReport(planOf([], { findings: [finding("b", "1"), finding("a", "2"), finding("b", "3")] }));
  assert.deepEqual(
    (report["definitions"] as JsonObject[]).map(({ name, findings }) => [
      name,
      (findings as JsonObject[]).map(({ path }) => path),
    ]),
    [
      ["b", ["1", "3"]],
      ["a", ["2"]],
    ],
  );
});
