// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import { buildForest, buildTree, type ForestSource, referencesOf } from "@purlin/explain";
import type { JsonObject } from "@purlin/kube-objects/json";
import type { KubeObject } from "@purlin/kube-objects/object";
import { plainStyle } from "../../test/test-io.ts";
import { isOffered, kindsOf } from "./defined-kinds.ts";
import { changedLines, renderForest, stateLines } from "./render-forest.ts";

const apiVersion = "example.org/v1";
const ready = {
  conditions: [
    { type: "Ready", status: "True" },
    { type: "Synced", status: "True" },
  ],
};
const creating = {
  conditions: [
    { type: "Synced", status: "True" },
    { type: "Ready", status: "False", reason: "Creating" },
  ],
};

function object(kind: string, name: string, more: Partial<KubeObject> = {}): KubeObject {
  const [namespace, own] = name.includes("/") ? name.split("/") : [undefined, name];
  return { apiVersion, kind, ...more, metadata: { name: own ?? "", ...(namespace ? { namespace } : {}) } };
}

const ref = (kind: string, name: string): JsonObject => ({ apiVersion, kind, name });

function sourceOf(composites: readonly KubeObject[], others: readonly KubeObject[] = []): ForestSource {
  return {
    composites,
    find: ({ kind, name, namespace }) =>
      [...composites, ...others].find(
        (one) => one.kind === kind && one.metadata.name === name && one.metadata.namespace === namespace,
      ),
  };
}

const forest = sourceOf(
  [
    object("XPart", "part", { spec: {}, status: ready }),
    object("XApp", "app", {
      spec: {
        claimRef: {},
        resourceRefs: [ref("XPart", "part"), { ...ref("Note", "n"), namespace: "team" }, ref("Gone", "g")],
      },
      status: creating,
    }),
    object("App", "team/app", { spec: { resourceRef: ref("XApp", "app") }, status: ready }),
    object("XLone", "ns/lone", { spec: { crossplane: { resourceRefs: [ref("Note", "own")] } }, status: ready }),
  ],
  [object("Note", "team/n"), object("Note", "ns/own")],
);

test("a composite resource that records function revisions is shown with them, each once", () => {
  const record = (step: string, functionRevision: string): JsonObject => ({ step, functionRevision });
  const functionRevisions = [record("a", "fn-1"), record("b", "other-2"), record("c", "fn-1")];
  const status = { ...ready, crossplane: { functionRevisions } };
  const forest = buildForest(sourceOf([object("XApp", "app", { status })]));
  assert.deepEqual(renderForest(forest, plainStyle), ["✓ XApp app  Ready  by fn-1, other-2"]);
  assert.deepEqual([...stateLines(forest).values()], [{ title: "XApp app", text: "Ready, by fn-1, other-2" }]);
  const odd = object("XApp", "app", { status: { ...ready, crossplane: { functionRevisions: ["x", { step: 1 }] } } });
  assert.deepEqual(renderForest(buildForest(sourceOf([odd])), plainStyle), ["✓ XApp app  Ready"]);
});

test("a kind of another group is another kind, and another version of a kind is the same one", () => {
  const other = { ...object("XPart", "part", { status: creating }), apiVersion: "other.org/v1" };
  const part = object("XPart", "part", { status: ready });
  const app = (version: string): KubeObject =>
    object("XApp", "app", {
      spec: { resourceRefs: [{ ...ref("XPart", "part"), apiVersion: version }] },
      status: ready,
    });
  const shown = (version: string): readonly string[] => {
    const composites = [part, other, app(version)];
    const find: ForestSource["find"] = ({ apiVersion: at, kind, name }) =>
      composites.find(
        (one) => one.apiVersion.split("/")[0] === at.split("/")[0] && one.kind === kind && one.metadata.name === name,
      );
    return renderForest(buildForest({ composites, find }), plainStyle);
  };
  const waiting = ["… XPart part  Waiting", "Ready: Creating"];
  const lines = (version: string): readonly string[] => shown(version).map((line) => line.replace(/^[│└─ ]+/, ""));
  assert.deepEqual(lines("example.org/v1"), ["✓ XApp app  Ready", "✓ XPart part  Ready", ...waiting]);
  assert.deepEqual(lines("example.org/v1alpha1"), ["✓ XApp app  Ready", "✓ XPart part  Ready", ...waiting]);
  assert.deepEqual(lines("other.org/v1"), ["✓ XApp app  Ready", ...waiting, "✓ XPart part  Ready"]);
});

test("claims hold composite resources, these hold what they compose, and nothing is shown twice", () => {
  assert.deepEqual(renderForest(buildForest(forest), plainStyle), [
    "✓ App team/app  Ready",
    "└─ … XApp app  Waiting",
    "   │   Ready: Creating",
    "   ├─ ✓ XPart part  Ready",
    "   ├─ · Note team/n",
    "   └─ … Gone g  Missing",
    "          does not exist yet",
    "✓ XLone ns/lone  Ready",
    "└─ · Note ns/own",
  ]);
});

test("trees have the state of each object, and the function revisions that composed it", () => {
  const [claim] = buildForest(forest);
  assert.deepEqual(
    [claim?.object.kind, claim?.object.namespace, claim?.object.name, claim?.state.health, claim?.state.reasons],
    ["App", "team", "app", "ready", []],
  );
  const [composite] = claim?.children ?? [];
  assert.ok(composite !== undefined && !("namespace" in composite.object) && !("madeBy" in composite));
  assert.deepEqual([composite.state.health, composite.state.reasons], ["waiting", ["Ready: Creating"]]);
  assert.deepEqual(
    composite.children.map(({ object: { apiVersion, kind, name }, state }) => [apiVersion, kind, name, state.health]),
    [
      ["example.org/v1", "XPart", "part", "ready"],
      ["example.org/v1", "Note", "n", "none"],
      ["example.org/v1", "Gone", "g", "waiting"],
    ],
  );
  const status = { ...ready, crossplane: { functionRevisions: [{ functionRevision: "fn-1" }] } };
  const [made] = buildForest(sourceOf([object("XApp", "app", { status })]));
  assert.deepEqual(made?.madeBy, ["fn-1"]);
});

test("texts of objects are safe for a terminal", () => {
  const conditions = [
    ...ready.conditions,
    { type: "A\u001b[2J", status: "True" },
    { type: "B", status: "False", reason: "\u0007C", message: "one\n  two\u001b]0;x\u0007" },
  ];
  const lines = renderForest(buildForest(sourceOf([object("XApp", "app", { status: { conditions } })])), plainStyle);
  assert.deepEqual(lines, ["! XApp app  Ready, A\\x1b[2J", "    B: \\x07C: one two\\x1b]0;x\\x07"]);
});

test("a tree can begin anywhere", () => {
  const part = forest.composites[0] ?? assert.fail();
  assert.deepEqual(renderForest([buildTree(part, forest)], plainStyle), ["✓ XPart part  Ready"]);
});

test("composite resources that compose each other do not grow for ever", () => {
  const loop = sourceOf([
    object("XA", "a", { spec: { resourceRefs: [ref("XB", "b")] } }),
    object("XB", "b", { spec: { resourceRefs: [ref("XA", "a")] } }),
  ]);
  assert.deepEqual(buildForest(loop), [], "neither is at the top");
  const first = loop.composites[0] ?? assert.fail();
  assert.ok(renderForest([buildTree(first, loop)], plainStyle).length < 100);
});

test("without a terminal, changes are printed as lines", () => {
  const before = stateLines(buildForest(forest));
  const [key = "", line] = [...before].find(([, { title }]) => title === "XApp app") ?? [];
  assert.equal(line?.text, "Waiting: Ready: Creating");
  assert.equal(before.get("example.org/Note team/n")?.text, "exists");
  const now = new Map(before).set(key, { title: "XApp app", text: "Ready" });
  now.delete("example.org/Note team/n");
  assert.deepEqual(changedLines(before, now), ["XApp app: Ready", "Note team/n: gone"]);
  assert.deepEqual(changedLines(now, now), []);
});

test("objects of the same kind and name in different groups have a line each, with their groups", () => {
  const of = (version: string, status: JsonObject): KubeObject => ({
    ...object("XPart", "part", { status }),
    apiVersion: version,
  });
  const lines = (...parts: readonly KubeObject[]) =>
    stateLines(buildForest(sourceOf([object("XApp", "app"), ...parts])));
  const one = lines(of("example.org/v1", ready));
  const both = lines(of("example.org/v1", ready), of("other.org/v1", creating));
  assert.deepEqual(changedLines(new Map(), one).slice(1), ["XPart part: Ready"]);
  assert.deepEqual(changedLines(one, both), ["XPart.other.org part: Waiting: Ready: Creating"]);
  assert.deepEqual(changedLines(both, lines(of("example.org/v1", creating), of("other.org/v1", ready))), [
    "XPart.example.org part: Waiting: Ready: Creating",
    "XPart.other.org part: Ready",
  ]);
  assert.deepEqual(changedLines(both, one), ["XPart.other.org part: gone"]);
  assert.deepEqual(changedLines(lines(of("v1", ready), of("other.org/v1", ready)), new Map()).slice(1), [
    "XPart part: gone",
    "XPart.other.org part: gone",
  ]);
});

test("references are read from both places, and malformed ones are ignored", () => {
  const odd = object("XA", "ns/a", {
    spec: { resourceRefs: [ref("A", "a"), null, { kind: "B" }], crossplane: { resourceRefs: [ref("C", "c")] } },
  });
  assert.deepEqual(
    referencesOf(odd).map(({ kind, namespace }) => [kind, namespace]),
    [
      ["C", "ns"],
      ["A", "ns"],
    ],
  );
  assert.deepEqual(referencesOf(object("App", "ns/a", { spec: { resourceRef: ref("XA", "a") } })), [ref("XA", "a")]);
  assert.deepEqual(referencesOf(object("XA", "a")), []);
});

const definition = (spec: JsonObject, conditions: readonly string[] = []): KubeObject =>
  object("CompositeResourceDefinition", "d", {
    spec,
    status: { conditions: conditions.map((type) => ({ type, status: "True" })) },
  });
const versions = [{ name: "v1" }, { name: "v2", referenceable: true }];
const names = { group: "example.org", names: { kind: "XA" }, versions };

test("a definition makes composite resources and perhaps claims, in its referenceable version", () => {
  const composite = { apiVersion: "example.org/v2", kind: "XA" };
  assert.deepEqual(kindsOf(definition(names)), { composite, claim: undefined });
  assert.deepEqual(kindsOf(definition({ ...names, claimNames: { kind: "A" } }))?.claim, { ...composite, kind: "A" });
  for (const spec of [{}, { ...names, versions: [{ name: "v1" }] }, { ...names, names: {} }]) {
    assert.equal(kindsOf(definition(spec)), undefined);
  }
});

test("a definition with claims is there when both kinds are", () => {
  const claims = { ...names, claimNames: { kind: "A" } };
  assert.equal(isOffered(definition(names)), false);
  assert.equal(isOffered(definition(names, ["Established"])), true);
  assert.equal(isOffered(definition(claims, ["Established"])), false);
  assert.equal(isOffered(definition(claims, ["Established", "Offered"])), true);
});
