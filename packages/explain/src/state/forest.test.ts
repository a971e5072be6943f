// SPDX-License-Identifier: Apache-2.0
// Trees of claims and composite resources, and the state of packages.
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { JsonObject } from "@purlin/kube-objects/json";
import type { KubeObject } from "@purlin/kube-objects/object";
import { app, type ConditionRow, made, secondsAgo, withConditions } from "../../test/memory-inspection.ts";
import {
  buildForest,
  buildTree,
  composedState,
  compositeState,
  type ForestSource,
  isPackage,
  isSound,
  packageState,
  packageTypes,
  type TreeNode,
} from "./object-state.ts";

const refTo = ({ apiVersion, kind, metadata }: KubeObject): JsonObject => ({
  apiVersion,
  kind,
  name: metadata.name ?? "",
});
const composing = (name: string, ...children: readonly KubeObject[]): KubeObject =>
  app(name, { crossplane: { resourceRefs: children.map(refTo) } });
const sourceOf = (composites: readonly KubeObject[], others: readonly KubeObject[] = []): ForestSource => ({
  composites,
  find: ({ kind, name }) => [...composites, ...others].find((one) => one.kind === kind && one.metadata.name === name),
});
const outline = ({ title, state, children }: TreeNode, indent = ""): string[] => [
  `${indent}${title}: ${state.word}`,
  ...children.flatMap((child) => outline(child, `${indent}  `)),
];
const forest = (composites: readonly KubeObject[], others: readonly KubeObject[] = []): string[] =>
  buildForest(sourceOf(composites, others)).flatMap((node) => outline(node));

describe("trees", () => {
  const secret = made("v1/Secret", "default/login");
  const ready = withConditions(made("s3.example.org/v1/Bucket", "default/files"), [["Ready", "True"]]);

  test("roots are in the order of their titles; what is composed is below", () => {
    const inner = composing("inner", ready);
    assert.deepEqual(forest([composing("web", secret, inner), inner, composing("db", secret)], [secret, ready]), [
      "App default/db: Waiting",
      "  Secret default/login: ",
      "App default/web: Waiting",
      "  Secret default/login: ",
      "  App default/inner: Waiting",
      "    Bucket default/files: Ready",
    ]);
  });

  test("an object that does not exist is missing", () => {
    assert.deepEqual(forest([composing("web", secret)]), [
      "App default/web: Waiting",
      "  Secret default/login: Missing",
    ]);
  });

  test("a claim has its composite resource, which is not a root", () => {
    const xshop = made("example.org/v1/XShop", "web-x", {
      spec: { resourceRefs: [{ ...refTo(secret), namespace: "default" }] },
    });
    const claim = made("example.org/v1/Shop", "default/web", { spec: { resourceRef: refTo(xshop) } });
    assert.deepEqual(forest([xshop, claim], [secret]), [
      "Shop default/web: Waiting",
      "  XShop web-x: Waiting",
      "    Secret default/login: ",
    ]);
  });

  test("two that compose each other have no root, and their tree ends at 20 levels", () => {
    const first = composing("first", app("second"));
    const second = composing("second", first);
    assert.deepEqual(forest([first, second]), []);
    const lines = outline(buildTree(first, sourceOf([first, second])));
    assert.equal(lines.length, 21);
    assert.equal(lines.at(-1)?.trim(), "App default/first: Waiting");
  });

  test("function revisions are shown where they are recorded", () => {
    const made = { ...app("web"), status: { crossplane: { functionRevisions: [{ functionRevision: "fn-1" }] } } };
    assert.deepEqual(buildTree(made, sourceOf([made])).madeBy, ["fn-1"]);
    assert.equal("madeBy" in buildTree(app("db"), sourceOf([])), false);
  });
});

describe("packages", () => {
  const fn = (rows: readonly ConditionRow[], metadata: JsonObject = {}): KubeObject =>
    withConditions(made("pkg.crossplane.io/v1/Function", "fn", { metadata }), rows);
  const cases: Readonly<Record<string, readonly [KubeObject, string]>> = {
    "no conditions": [fn([]), "waiting Waiting Installed: not reported yet"],
    "installed only": [fn([["Installed", "True"]]), "waiting Waiting Healthy: not reported yet"],
    "installed and healthy": [
      fn([
        ["Installed", "True"],
        ["Healthy", "True"],
      ]),
      "ready Healthy",
    ],
    "not installed": [
      fn([
        ["Installed", "False", "UnpackingPackage", "404"],
        ["Healthy", "True"],
      ]),
      "failed Failing Installed: UnpackingPackage: 404",
    ],
    "an unknown health": [
      fn([
        ["Installed", "True"],
        ["Healthy", "Unknown", "Starting"],
      ]),
      "waiting Waiting Healthy: Starting",
    ],
    paused: [
      fn([
        ["Synced", "False", "ReconcilePaused"],
        ["Installed", "True"],
      ]),
      "waiting Waiting Synced: ReconcilePaused",
    ],
    "in deletion": [
      fn(
        [
          ["Installed", "True"],
          ["Healthy", "True"],
        ],
        { deletionTimestamp: secondsAgo(1) },
      ),
      "waiting Deleting",
    ],
  };
  for (const [title, [object, expected]] of Object.entries(cases)) {
    test(title, () => {
      const { health, word, reasons } = packageState(object);
      assert.equal([health, word, ...reasons].join(" "), expected);
      assert.deepEqual(composedState(object), packageState(object));
    });
  }

  test("conditions of an older generation are not reported yet", () => {
    const condition = (type: string, observedGeneration: number): JsonObject => ({
      type,
      status: "True",
      observedGeneration,
    });
    const object = (observed: number): KubeObject => ({
      ...fn([], { generation: 2 }),
      status: { conditions: [condition("Installed", 2), condition("Healthy", observed)] },
    });
    assert.equal(packageState(object(1)).reasons[0], "Healthy: not reported yet");
    assert.equal(packageState(object(2)).word, "Healthy");
    assert.equal(packageState(object(3)).word, "Healthy");
  });

  test("the types of packages", () => {
    assert.deepEqual(
      packageTypes.map(({ kind }) => kind),
      ["Configuration", "Function", "Provider"],
    );
    for (const type of packageTypes) assert.equal(isPackage(type), true);
    assert.equal(isPackage({ apiVersion: "pkg.crossplane.io/v1", kind: "FunctionRevision" }), false);
    assert.equal(isPackage({ apiVersion: "example.org/v1", kind: "Function" }), false);
  });
});

test("only waiting and failed objects are not sound", () => {
  for (const [health, expected] of [
    ["ready", true],
    ["troubled", true],
    ["none", true],
    ["waiting", false],
    ["failed", false],
  ] as const) {
    assert.equal(isSound({ health, word: "", reasons: [] }), expected, health);
  }
});

test("an unknown Synced is waiting, not failing", () => {
  const object = withConditions(app("web"), [
    ["Synced", "Unknown", "WaitingForFunction"],
    ["Ready", "True"],
  ]);
  assert.deepEqual(compositeState(object), {
    health: "waiting",
    word: "Waiting",
    reasons: ["Synced: WaitingForFunction"],
  });
});
