// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { NoMatchError } from "@purlin/kube-client";
import type { JsonObject } from "@purlin/kube-objects/json";
import type { KubeObject } from "@purlin/kube-objects/object";
import { entryOf, memoryPass } from "../../test/overlay-stage.ts";
import { app, appType, claimDefinition, definition } from "../../test/scene-objects.ts";
import { identityOf } from "../overlay/live-reads.ts";
import type { OverlayEntry } from "../overlay/overlay-entry.ts";
import { buildPlan } from "./build-plan.ts";
import { Mask } from "./mask.ts";
import type { Plan, PlannedChange, PlannedComposite } from "./plan.ts";

type Inputs = Parameters<typeof buildPlan>[0];
type PassInputs = Parameters<typeof memoryPass>[0];

const definitions = [definition("App", {}), claimDefinition];
const controller = "composite/apps.example.org";
const uidOf = (name: string): string => `uid-${name}`;
const xr = (name: string, spec: JsonObject = {}, metadata: JsonObject = {}): KubeObject => {
  const made = app(name, spec);
  return { ...made, metadata: { ...made.metadata, uid: uidOf(name), ...metadata } };
};
const ownedBy = (name: string, type: { readonly apiVersion: string; readonly kind: string } = appType): JsonObject => ({
  ownerReferences: [{ ...type, name, uid: uidOf(name), controller: true }],
});
function map(name: string, data: JsonObject, { xr: owner = "web", resource = name } = {}): KubeObject {
  const annotations = { "crossplane.io/composition-resource-name": resource };
  return {
    apiVersion: "v1",
    kind: "ConfigMap",
    metadata: { name, namespace: "default", annotations, ...ownedBy(owner) },
    data,
  };
}
const changed = (name: string, more: Parameters<typeof map>[2] = {}): OverlayEntry =>
  entryOf(map(name, { a: "1" }, more), map(name, { a: "2" }, more));

function plan(
  candidate: PassInputs,
  more: Partial<Omit<Inputs, "candidate" | "baseline" | "again">> & {
    readonly baseline?: PassInputs;
    readonly again?: PassInputs;
  } = {},
): Promise<Plan> {
  const { baseline, again, ...rest } = more;
  const passOf = (inputs: PassInputs | undefined) => inputs && memoryPass({ definitions, ...inputs });
  return buildPlan({
    candidate: memoryPass({ definitions, ...candidate }),
    baseline: passOf(baseline),
    again: passOf(again),
    moved: new Set(),
    mask: new Mask(),
    projection: { status: false, owners: false },
    ignores: () => false,
    stepOf: () => undefined,
    findings: [],
    errors: [],
    warnings: [],
    functions: [],
    isStale: false,
    listed: new Set(),
    unlisted: new Set(),
    ...rest,
  });
}
const line = ({ class: kind, resource, name }: PlannedChange): string => `${kind} ${resource ?? name}`;
const outline = ({ composites }: Plan): string[] =>
  composites.map(({ name, changes }: PlannedComposite) => `${name}: ${changes.map(line).join(", ")}`);
const ran = { [`${controller} default/web`]: 1 };

describe("which composite resource a change belongs to", () => {
  test("its controller", async () => {
    assert.deepEqual(outline(await plan({ runs: ran, entries: [changed("m")], others: [xr("web")] })), [
      "web: update m",
    ]);
  });

  test("the one that wrote it first, if it has no controller", async () => {
    const loose = { ...map("m", {}), metadata: { name: "m", namespace: "default" } };
    const writers = [
      { controller: "definition", key: "apps.example.org", round: 0 },
      { controller, key: "default/web", round: 1 },
    ];
    const entries = [entryOf(undefined, loose, { writers })];
    assert.deepEqual(outline(await plan({ runs: ran, entries, others: [xr("web")] })), ["web: create m"]);
  });

  test("itself", async () => {
    assert.deepEqual(outline(await plan({ entries: [entryOf(xr("web", { a: 1 }), xr("web", { a: 2 }))] })), [
      "web: update web",
    ]);
  });

  test("the composite resource behind a claim", async () => {
    const claim = (a: number): KubeObject => ({
      apiVersion: "example.org/v1",
      kind: "Thing",
      metadata: { name: "c", namespace: "default" },
      spec: { a, resourceRef: { name: "thing-x" } },
    });
    const runs = { "composite/xthings.example.org thing-x": 1 };
    assert.deepEqual(outline(await plan({ runs, entries: [entryOf(claim(1), claim(2))] })), ["thing-x: update c"]);
  });

  test("anything else is a change of the files", async () => {
    const loose = (a: string): KubeObject => ({
      apiVersion: "v1",
      kind: "ConfigMap",
      metadata: { name: "file" },
      data: { a },
    });
    const { inputs, composites } = await plan({ entries: [entryOf(loose("1"), loose("2"))] });
    assert.deepEqual([inputs.map(line), composites], [["update file"], []]);
  });

  test("revisions, CRDs and what only the preview changes are not shown", async () => {
    const revision: KubeObject = {
      apiVersion: "apiextensions.crossplane.io/v1",
      kind: "CompositionRevision",
      metadata: { name: "r" },
    };
    const crd: KubeObject = {
      apiVersion: "apiextensions.k8s.io/v1",
      kind: "CustomResourceDefinition",
      metadata: { name: "c" },
    };
    const fn: KubeObject = { apiVersion: "pkg.crossplane.io/v1", kind: "Function", metadata: { name: "fn" } };
    const entries = [revision, crd, fn].map((one) => entryOf(undefined, one));
    assert.deepEqual((await plan({ entries }, { unlisted: new Set([identityOf(fn)]) })).inputs, []);
  });
});

describe("replacements and what is left behind", () => {
  test("a deleted and a created object of one resource name are a replacement", async () => {
    const entries = [
      entryOf(map("old", {}, { resource: "m" }), undefined),
      entryOf(undefined, map("new", {}, { resource: "m" })),
      entryOf(undefined, map("other", {})),
    ];
    const { composites, summary } = await plan({ runs: ran, entries, others: [xr("web")] });
    assert.deepEqual(
      composites[0]?.changes.map(({ class: kind, name, replaces, replacedBy }) => [kind, name, replaces, replacedBy]),
      [
        ["replace", "new", "ConfigMap default/old", undefined],
        ["replace", "old", undefined, "ConfigMap default/new"],
        ["create", "other", undefined, undefined],
      ],
    );
    assert.deepEqual(summary, {
      added: 2,
      modified: 0,
      removed: 1,
      replaced: 1,
      recreated: 0,
      refused: 0,
      pending: 0,
      destructive: 1,
    });
  });

  const refs = (...names: readonly string[]): JsonObject => ({
    crossplane: { resourceRefs: names.map((name) => ({ apiVersion: "v1", kind: "ConfigMap", name })) },
  });

  test("an object that is no longer referred to, and stays", async () => {
    const entries = [entryOf(xr("web", refs("kept", "left", "gone")), xr("web", refs("kept")))];
    const { composites, summary } = await plan({ runs: ran, entries, others: [map("left", {}, { resource: "l" })] });
    assert.deepEqual(composites[0]?.changes.map(line), ["leave-behind l"]);
    assert.deepEqual([summary.removed, summary.destructive], [0, 1]);
  });

  test("one that cannot be read is an error, unless its kind is gone", async () => {
    const entries = [entryOf(xr("web", refs("kept", "left")), xr("web", refs("kept")))];
    const failing = async (error: Error) => {
      const { composites } = await plan({ runs: ran, entries, unreadable: { left: error } });
      return composites.flatMap(({ errors }) => errors.map(({ text }) => text));
    };
    assert.deepEqual(await failing(new Error("forbidden")), [
      "cannot read ConfigMap default/left, which it no longer refers to: forbidden",
    ]);
    assert.deepEqual(await failing(new NoMatchError({ apiVersion: "v1", kind: "ConfigMap" })), []);
  });

  test("one that is deleted is a deletion", async () => {
    const entries = [entryOf(xr("web", refs("m")), xr("web", refs())), entryOf(map("m", {}), undefined)];
    assert.deepEqual(outline(await plan({ runs: ran, entries })), ["web: delete m"]);
  });

  test("a composite resource that is deleted leaves nothing behind", async () => {
    const deleted = xr("web", refs(), { deletionTimestamp: "t" });
    assert.deepEqual(
      outline(await plan({ entries: [entryOf(xr("web", refs("m")), deleted)], others: [map("m", {})] })),
      ["web: delete web"],
    );
  });
});

describe("what would happen anyway", () => {
  const withFields = (data: JsonObject): OverlayEntry => entryOf(map("m", { a: "1", b: "1" }), map("m", data));

  test("an equal change of the baseline is pending", async () => {
    const both = { runs: ran, entries: [changed("m")], others: [xr("web")] };
    const { composites, summary, hasBaseline } = await plan(both, { baseline: both });
    assert.deepEqual([composites[0]?.changes, composites[0]?.pending.map(line)], [[], ["update m"]]);
    assert.deepEqual([summary.modified, summary.pending, hasBaseline], [0, 1, true]);
  });

  test("an update is split by its fields", async () => {
    const others = [xr("web")];
    const { composites } = await plan(
      { runs: ran, entries: [withFields({ a: "2", b: "2" })], others },
      { baseline: { runs: ran, entries: [withFields({ a: "2", b: "1" })], others } },
    );
    assert.deepEqual(
      composites[0]?.changes[0]?.fields.map(({ path }) => path),
      ["data.b"],
    );
    assert.deepEqual(
      composites[0]?.pending[0]?.fields.map(({ path }) => path),
      ["data.a"],
    );
  });

  test("another class of change is not the same", async () => {
    const others = [xr("web")];
    const { composites } = await plan(
      { runs: ran, entries: [entryOf(map("m", {}), undefined)], others },
      { baseline: { runs: ran, entries: [changed("m")], others } },
    );
    assert.deepEqual([composites[0]?.changes.map(line), composites[0]?.pending], [["delete m"], []]);
  });
});

describe("composite resources that are shown", () => {
  test("destructive ones first, then failed, then changed ones, by name", async () => {
    const failure = {
      controller,
      key: { namespace: "default", name: "broken" },
      text: "no port",
      error: undefined,
      round: 1,
      isUnsettled: false,
    };
    const names = ["zebra", "apple", "broken", "risky"];
    const runs = Object.fromEntries(names.map((name) => [`${controller} default/${name}`, 1]));
    const entries = [
      changed("m1", { xr: "zebra" }),
      changed("m2", { xr: "apple" }),
      entryOf(map("m3", {}, { xr: "risky" }), undefined),
    ];
    const { composites, examined } = await plan({
      runs,
      entries,
      failures: [failure],
      others: names.map((name) => xr(name)),
    });
    assert.deepEqual(
      composites.map(({ name }) => name),
      ["risky", "broken", "apple", "zebra"],
    );
    assert.deepEqual(composites[1]?.errors, [{ text: "no port", isInvalid: false }]);
    assert.equal(examined, 4);
  });

  test("those without findings are counted, and shown only if the change set names them", async () => {
    const inputs = { runs: ran, others: [xr("web")] };
    assert.deepEqual([(await plan(inputs)).composites, (await plan(inputs)).examined], [[], 1]);
    const named = await plan(inputs, { listed: new Set([identityOf(xr("web"))]) });
    assert.deepEqual(outline(named), ["web: "]);
  });

  test("one that is looked at and not reconciled is examined", async () => {
    assert.equal((await plan({ skipped: [xr("going")] })).examined, 1);
  });

  test("changes name the step that made them", async () => {
    const { composites } = await plan(
      { runs: ran, entries: [changed("m")], others: [xr("web")] },
      {
        stepOf: (composite, resource) =>
          composite === identityOf(xr("web")) && resource === "m" ? "render" : undefined,
      },
    );
    assert.equal(composites[0]?.changes[0]?.step, "render");
  });

  test("failures of other controllers are errors of the plan, without sensitive values", async () => {
    const mask = new Mask();
    mask.object({ apiVersion: "v1", kind: "Secret", data: { k: "canary-value" } });
    const failures = [
      {
        controller: "claim/xthings.example.org",
        key: { namespace: "default", name: "c" },
        text: "bad canary-value",
        error: undefined,
        round: 1,
        isUnsettled: false,
      },
    ];
    const { errors } = await plan({ failures }, { mask, errors: [{ text: "first", isInvalid: true }] });
    assert.deepEqual(errors, [
      { text: "first", isInvalid: true },
      { text: "claim default/c: bad (sensitive)", isInvalid: false },
    ]);
  });
});

describe("composite resources that were moved to a new revision", () => {
  const moved = new Set([identityOf(xr("web"))]);

  test("are not counted", async () => {
    const { composites, summary } = await plan({ runs: ran, entries: [changed("m")], others: [xr("web")] }, { moved });
    assert.deepEqual([composites[0]?.isDeferred, composites[0]?.adoption, summary.modified], [true, "pinned", 0]);
  });

  test("and neither are those that they compose", async () => {
    const inner = (a: number): KubeObject => xr("inner", { a }, ownedBy("web"));
    const { composites } = await plan({ entries: [entryOf(inner(1), inner(2))] }, { moved });
    assert.deepEqual(
      composites.map(({ name, isDeferred }) => [name, isDeferred]),
      [["inner", true]],
    );
  });

  test("also a namespaced one of a cluster-scoped one", async () => {
    const thing = { apiVersion: "example.org/v1", kind: "XThing" };
    const inner = (a: number): KubeObject => xr("inner", { a }, ownedBy("t", thing));
    const root = identityOf({ ...thing, metadata: { name: "t" } });
    const { composites } = await plan({ entries: [entryOf(inner(1), inner(2))] }, { moved: new Set([root]) });
    assert.equal(composites[0]?.isDeferred, true);
  });

  test("others are not deferred", async () => {
    const { composites } = await plan({ entries: [entryOf(xr("db", { a: 1 }), xr("db", { a: 2 }))] }, { moved });
    assert.equal(composites[0]?.isDeferred, false);
  });
});

test("one warning for each reason why the live server did not judge changes that are shown", async () => {
  const approximate = (...why: readonly ("forbidden" | "no-dry-run")[]): Partial<OverlayEntry> => ({
    approximate: new Set(why),
  });
  const mask = new Mask();
  mask.object({ apiVersion: "v1", kind: "Secret", data: { k: "canary-value" } });
  const entries = [
    entryOf(map("a", { a: "1" }), map("a", { a: "2" }), approximate("forbidden")),
    entryOf(map("b", { a: "1" }), map("b", { a: "2" }), approximate("forbidden", "no-dry-run")),
    entryOf(map("c", { a: "1" }), map("c", { a: "1" }), approximate("no-dry-run")),
  ];
  const unjudged = new Map([
    ["forbidden", "no rights: canary-value"],
    ["no-dry-run", "a webhook has side effects"],
    ["quota-unread", "not among the changes"],
  ] as const);
  const { warnings } = await plan({ runs: ran, entries, others: [xr("web")], unjudged }, { mask });
  assert.deepEqual(warnings, [
    "forbidden: 2 changes are computed here, not by the API server: no rights: (sensitive)",
    "no-dry-run: 1 change is computed here, not by the API server: a webhook has side effects",
  ]);
});

describe("the hash of a plan", () => {
  const hash = async (entries: readonly OverlayEntry[], again?: readonly OverlayEntry[]): Promise<string> =>
    (
      await plan(
        { runs: ran, entries, others: [xr("web")] },
        again === undefined ? {} : { again: { runs: ran, entries: again, others: [xr("web")] } },
      )
    ).hash;

  test("does not depend on the order, and does on the values", async () => {
    assert.equal(await hash([changed("a"), changed("b")]), await hash([changed("b"), changed("a")]));
    const other = entryOf(map("a", { a: "1" }), map("a", { a: "3" }));
    assert.notEqual(await hash([changed("a")]), await hash([other]));
    assert.notEqual(await hash([changed("a")]), await hash([]));
  });

  test("does not depend on what differs from run to run, which is a warning", async () => {
    const random = (value: string): OverlayEntry => entryOf(undefined, map("a", { time: value, fixed: "x" }));
    assert.equal(await hash([random("1")], [random("2")]), await hash([random("3")], [random("4")]));
    const { warnings } = await plan(
      { runs: ran, entries: [random("1")], others: [xr("web")] },
      { again: { runs: ran, entries: [random("2")], others: [xr("web")] }, warnings: ["first"] },
    );
    assert.deepEqual(warnings, [
      "first",
      "unstable: two previews differ in ConfigMap a data.time: these values change with every run and are not part of the hash",
    ]);
  });
});
