// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { KubeObject } from "@purlin/kube-objects/object";
import { app, type ConditionRow, made, now, secondsAgo, withConditions } from "../../test/memory-inspection.ts";
import { traceTable } from "./trace-table.ts";
import { isRevisionObject, type TraceNode } from "./trace-tree.ts";

const leaf = (object: KubeObject, error?: unknown): TraceNode => ({
  object,
  children: [],
  ...(error === undefined ? {} : { error }),
});

describe("tables", () => {
  const table = (nodes: readonly TraceNode[], more: Partial<Parameters<typeof traceTable>[1]> = {}): string =>
    traceTable(nodes, { now, clean: (text) => text, ...more });
  const row = (node: TraceNode, wide = false): string => table([node], { wide }).split("\n")[1] ?? "";

  const statusOf = (node: TraceNode): string => {
    const [header = "", first = ""] = table([node]).split("\n");
    return first.slice(header.indexOf("STATUS"));
  };

  test("nested rows are connected", () => {
    const inner: TraceNode = { object: app("b"), children: [leaf(app("c")), leaf(app("d"))] };
    const names = table([{ object: app("a"), children: [inner, leaf(app("e"))] }])
      .split("\n")
      .map((line) => line.replace(/ {3,}(?:SYNCED|-) .*$/, ""));
    assert.deepEqual(names, [
      "NAME",
      "App/a (default)",
      "├─ App/b (default)",
      "│  ├─ App/c (default)",
      "│  └─ App/d (default)",
      "└─ App/e (default)",
      "",
    ]);
  });

  test("packages have a table of their own, after the others", () => {
    const fn = leaf(made("pkg.crossplane.io/v1/Function", "fn", { spec: { package: "r/fn:v1" } }));
    assert.deepEqual(
      table([fn, leaf(app("a"))])
        .split("\n")
        .map((line) => line.split(" ")[0]),
      ["NAME", "App/a", "", "NAME", "Function/fn", ""],
    );
    assert.equal(table([]), "");
  });

  const versions: Readonly<Record<string, string>> = {
    "r.example.org/fn:v1.2.3": "v1.2.3",
    "localhost:5000/fn:v1": "v1",
    [`r/fn@sha256:${"0a".repeat(32)}`]: `sha256:${"0a".repeat(32)}`,
    [`r/fn:v1@sha256:${"0a".repeat(32)}`]: `sha256:${"0a".repeat(32)}`,
  };
  for (const [image, version] of Object.entries(versions)) {
    test(`the version of ${image}`, () => {
      const object = made("pkg.crossplane.io/v1/Function", "fn", { spec: { package: image } });
      assert.deepEqual(row(leaf(object)).trim().split(/ +/), ["Function/fn", version, "-", "-", "-"]);
    });
  }

  test("an image without a tag has no version", () => {
    const object = made("pkg.crossplane.io/v1/Function", "fn", { spec: { package: "localhost:5000/fn" } });
    assert.deepEqual(row(leaf(object)).trim().split(/ +/), ["Function/fn", "-", "-", "-"]);
  });

  const statuses: Readonly<Record<string, readonly [KubeObject, unknown, string]>> = {
    "deletion comes before an error": [app("a", {}, { deletionTimestamp: secondsAgo(1) }), new Error("x"), "Deleting"],
    "an error of 64 characters is whole": [app("a"), new Error("e".repeat(64)), `Error: ${"e".repeat(64)}`],
    "one of 65 is cut at its beginning": [app("a"), new Error(`s${"e".repeat(64)}`), `Error: ...${"e".repeat(64)}`],
    "no conditions": [app("a"), undefined, ""],
    "Ready if both are fine": [
      withConditions(app("a"), [
        ["Synced", "True", "S", "m"],
        ["Ready", "True", "R", "m"],
      ]),
      undefined,
      "R",
    ],
    "the first bad one": [
      withConditions(app("a"), [
        ["Synced", "False", "S"],
        ["Ready", "False", "R"],
      ]),
      undefined,
      "S",
    ],
    "Ready if it is the bad one": [
      withConditions(app("a"), [
        ["Synced", "True", "S"],
        ["Ready", "Unknown", "R", "why"],
      ]),
      undefined,
      "R: why",
    ],
    "Synced alone": [withConditions(app("a"), [["Synced", "True", "S"]]), undefined, "S"],
  };
  for (const [title, [object, error, expected]] of Object.entries(statuses)) {
    test(`STATUS: ${title}`, () => assert.equal(statusOf(leaf(object, error)), expected));
  }

  test("a wide table has whole messages, ages and the time to ready", () => {
    const rows: readonly ConditionRow[] = [
      ["Synced", "True", "S"],
      ["Ready", "True", "R", undefined, 3570],
    ];
    assert.deepEqual(row(leaf(withConditions(app("a"), rows)), true).split(/ {2,}/), [
      "App/a (default)",
      "True",
      "True",
      "60m",
      "30s",
      "R",
    ]);
    assert.match(row(leaf(app("a"), new Error("e".repeat(70))), true), /Error: e{70}$/);
    const unready = withConditions(app("a"), [["Ready", "False", "R", undefined, 3570]]);
    assert.deepEqual(row(leaf(unready), true).split(/ {2,}/), ["App/a (default)", "-", "False", "60m", "-", "R"]);
  });

  test("the health of a revision is its first part that is not True", () => {
    const object = withConditions(
      made("pkg.crossplane.io/v1/FunctionRevision", "fn-1", { spec: { image: "r/fn:v1", desiredState: "Active" } }),
      [
        ["Installed", "False", "I"],
        ["RevisionHealthy", "True", "H"],
        ["RuntimeHealthy", "False", "U", "exited"],
      ],
    );
    assert.deepEqual(row(leaf(object)).trimEnd().split(/ {2,}/), [
      "FunctionRevision/fn-1",
      "v1",
      "-",
      "False",
      "Active",
      "U: exited",
    ]);
    assert.equal(isRevisionObject(object), true);
    assert.equal(isRevisionObject(made("apiextensions.crossplane.io/v1/CompositionRevision", "c")), false);
  });

  test("every cell with text of objects is cleaned", () => {
    const object = withConditions(app("a"), [["Synced", "False", "bad", "bad"]]);
    const columns = [{ title: "X", value: () => "bad" }];
    const text = table([leaf(object)], { columns, clean: (one) => one.replaceAll("bad", "good") });
    assert.doesNotMatch(text, /bad/);
    assert.match(text, /good +good: good\n$/);
  });
});
