// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { finish } from "@purlin/base";
import { create, MatchLabels, ResourceSelector } from "@purlin/function-protocol";
import { type KubeObject, keyText, type ObjectKey } from "@purlin/kube-objects/object";
import fc from "fast-check";
import type { StepRequirement } from "../run/step-results.ts";
import { createDependencyTracker, type DependencyTracker } from "./dependency-tracker.ts";
import { type ObjectReference, sameReference } from "./reference-index.ts";

const one: ObjectKey = { namespace: "ns", name: "one" };
const two: ObjectKey = { name: "two" };

function object(name: string, namespace = "", labels: Record<string, string> = {}, kind = "ConfigMap"): KubeObject {
  return { apiVersion: "v1", kind, metadata: { name, labels, ...(namespace && { namespace }) } };
}

function requirement(
  match: { name?: string; labels?: Record<string, string>; namespace?: string },
  step = "s",
): StepRequirement {
  const selector = create(ResourceSelector, {
    apiVersion: "v1",
    kind: "ConfigMap",
    namespace: match.namespace,
    match: match.name
      ? { case: "matchName", value: match.name }
      : match.labels && {
          case: "matchLabels",
          value: create(MatchLabels, { labels: new Map(Object.entries(match.labels)) }),
        },
  });
  return { step, name: "wanted", selector };
}

const found = (tracker: DependencyTracker, changed: KubeObject): string[] =>
  [...tracker.dependents(changed)].map(keyText).sort();

test("a composed object leads to its XR and to no other", () => {
  const tracker = createDependencyTracker();
  finish(tracker.record(one, { composed: [object("a", "ns")], requirements: [] }));
  finish(tracker.record(two, { composed: [object("b", "ns")], requirements: [] }));
  assert.deepEqual(found(tracker, object("a", "ns")), ["ns/one"]);
  assert.deepEqual(found(tracker, object("a", "other")), []);
  assert.deepEqual(found(tracker, object("a", "ns", {}, "Secret")), []);
});

const crd = (kind: string, versions: readonly string[], group = "x.org"): KubeObject => ({
  apiVersion: "apiextensions.k8s.io/v1",
  kind: "CustomResourceDefinition",
  metadata: { name: `${kind.toLowerCase()}s.${group}` },
  spec: { group, names: { kind }, versions: versions.map((name) => ({ name })) },
});

test("a schema that functions look at leads from its definition to the XR, and to no other", () => {
  const unneeded: string[] = [];
  const tracker = createDependencyTracker(({ kind }) => unneeded.push(kind));
  const schemas = [{ apiVersion: "x.org/v1", kind: "Thing" }];
  finish(tracker.record(one, { composed: [], requirements: [], schemas }));
  finish(tracker.record(two, { composed: [], requirements: [], schemas: [{ apiVersion: "x.org/v2", kind: "Thing" }] }));
  assert.deepEqual(found(tracker, crd("Thing", ["v1"])), ["ns/one"]);
  assert.deepEqual(found(tracker, crd("Thing", ["v1", "v2"])), ["ns/one", "two"]);
  assert.deepEqual(found(tracker, crd("Other", ["v1"])), []);
  assert.deepEqual(found(tracker, crd("Thing", ["v1"], "y.org")), []);
  assert.deepEqual(found(tracker, { ...crd("Thing", []), spec: "nonsense" } as KubeObject), []);
  assert.deepEqual(
    tracker.typesOf(one).map(({ kind }) => kind),
    ["CustomResourceDefinition"],
  );
  finish(tracker.record(one, { composed: [], requirements: [] }));
  assert.deepEqual(found(tracker, crd("Thing", ["v1", "v2"])), ["two"]);
  tracker.forget(two);
  assert.deepEqual(unneeded, ["CustomResourceDefinition"]);
});

const selections: Readonly<
  Record<string, { ask: Parameters<typeof requirement>[0]; hits: KubeObject[]; misses: KubeObject[] }>
> = {
  "by name": {
    ask: { name: "a", namespace: "ns" },
    hits: [object("a", "ns")],
    misses: [object("b", "ns"), object("a", "other"), object("a")],
  },
  "by name without namespace is cluster-scoped": {
    ask: { name: "a" },
    hits: [object("a")],
    misses: [object("a", "ns")],
  },
  "by labels": {
    ask: { labels: { app: "web", tier: "x" } },
    hits: [object("a", "ns", { app: "web", tier: "x", more: "y" }), object("b", "other", { tier: "x", app: "web" })],
    misses: [object("a", "ns", { app: "web" }), object("a", "ns", { app: "web", tier: "y" })],
  },
  "by labels in a namespace": {
    ask: { labels: { app: "web" }, namespace: "ns" },
    hits: [object("a", "ns", { app: "web" })],
    misses: [object("a", "other", { app: "web" })],
  },
  "everything of a kind": {
    ask: {},
    hits: [object("a"), object("b", "ns")],
    misses: [object("a", "", {}, "Secret")],
  },
  "empty labels are everything": { ask: { labels: {} }, hits: [object("a", "ns")], misses: [] },
};

for (const [name, { ask, hits, misses }] of Object.entries(selections)) {
  test(`a requirement ${name}`, () => {
    const tracker = createDependencyTracker();
    finish(tracker.record(one, { composed: [], requirements: [requirement(ask)] }));
    for (const hit of hits) assert.deepEqual(found(tracker, hit), ["ns/one"], JSON.stringify(hit));
    for (const miss of misses) assert.deepEqual(found(tracker, miss), [], JSON.stringify(miss));
  });
}

test("an XR that depends by name and by label is found once", () => {
  const tracker = createDependencyTracker();
  const requirements = [
    requirement({ name: "a", namespace: "ns" }),
    requirement({ labels: { app: "web" } }),
    requirement({}),
  ];
  finish(tracker.record(one, { composed: [object("a", "ns")], requirements }));
  assert.deepEqual(found(tracker, object("a", "ns", { app: "web" })), ["ns/one"]);
});

test("a kind is needed until its last dependent is removed, which is reported once", () => {
  const unneeded: string[] = [];
  const tracker = createDependencyTracker(({ kind }) => unneeded.push(kind));
  const type = { apiVersion: "v1", kind: "ConfigMap" };
  finish(tracker.record(one, { composed: [object("a", "ns")], requirements: [] }));
  finish(tracker.record(two, { composed: [object("a", "ns")], requirements: [requirement({})] }));
  finish(tracker.record(one, { composed: [], requirements: [] }));
  assert.deepEqual([tracker.isNeeded(type), unneeded], [true, []]);
  tracker.forget(two);
  assert.deepEqual([tracker.isNeeded(type), tracker.typesOf(two)], [false, []]);
  assert.deepEqual([...new Set(unneeded)], ["ConfigMap"]);
});

test("recording again replaces the kinds, and a kind that stays is never released in between", () => {
  const unneeded: string[] = [];
  const tracker = createDependencyTracker(({ kind }) => unneeded.push(kind));
  finish(tracker.record(one, { composed: [object("a", "ns")], requirements: [] }));
  finish(tracker.record(one, { composed: [object("b", "ns")], requirements: [] }));
  assert.deepEqual([found(tracker, object("a", "ns")), found(tracker, object("b", "ns"))], [[], ["ns/one"]]);
  assert.deepEqual(unneeded, []);
});

test("seeds are what the step asked for last time, by name, the last of a name", () => {
  const tracker = createDependencyTracker();
  const [early, late] = [requirement({ name: "a" }), requirement({ name: "b" })];
  finish(tracker.record(one, { composed: [], requirements: [early, late, requirement({}, "other")] }));
  assert.deepEqual([...tracker.seeds(one, "s")], [["wanted", late.selector]]);
  assert.equal(tracker.seeds(one, "absent").size, 0);
  assert.equal(tracker.seeds(two, "s").size, 0);
});

test("what depends on the same as before, under another name, is seeded under that name", () => {
  const tracker = createDependencyTracker();
  const before = requirement({ name: "a", namespace: "ns" });
  const after = { ...before, name: "renamed", step: "t" };
  finish(tracker.record(one, { composed: [object("a", "ns")], requirements: [before] }));
  finish(tracker.record(one, { composed: [object("a", "ns")], requirements: [after] }));
  assert.deepEqual([tracker.seeds(one, "s").size, [...tracker.seeds(one, "t").keys()]], [0, ["renamed"]]);
  tracker.forget(one);
  assert.deepEqual([found(tracker, object("a", "ns")), tracker.typesOf(one)], [[], []]);
});

test("the kinds of an XR are its own, each once", () => {
  const tracker = createDependencyTracker();
  const kindsOf = (xr: ObjectKey): string[] => tracker.typesOf(xr).map(({ kind }) => kind);
  const composed = [object("a", "ns"), object("b", "ns"), object("c", "ns", {}, "Secret")];
  finish(tracker.record(one, { composed, requirements: [requirement({ name: "x" })] }));
  finish(tracker.record(two, { composed: [object("d", "ns", {}, "Widget")], requirements: [] }));
  assert.deepEqual([kindsOf(one), kindsOf(two)], [["ConfigMap", "Secret"], ["Widget"]]);
  finish(tracker.record(one, { composed: [object("c", "ns", {}, "Secret")], requirements: [] }));
  assert.deepEqual(kindsOf(one), ["Secret"]);
});

const configMaps = { apiVersion: "v1", kind: "ConfigMap" };
const reference = (match: ObjectReference["match"], change: Partial<ObjectReference> = {}): ObjectReference => ({
  type: configMaps,
  namespace: "ns",
  match,
  ...change,
});
const labels = (entries: Record<string, string>): ObjectReference["match"] => ({
  labels: new Map(Object.entries(entries)),
});
const distinct: Readonly<Record<string, ObjectReference>> = {
  Name: reference({ name: "a" }),
  OtherName: reference({ name: "b" }),
  OtherNamespace: reference({ name: "a" }, { namespace: "" }),
  OtherKind: reference({ name: "a" }, { type: { apiVersion: "v1", kind: "Secret" } }),
  OtherVersion: reference({ name: "a" }, { type: { apiVersion: "v2", kind: "ConfigMap" } }),
  Defines: reference({ defines: "a" }),
  OtherDefines: reference({ defines: "b" }),
  Everything: reference(labels({})),
  Label: reference(labels({ k: "1" })),
  OtherLabel: reference(labels({ k: "2" })),
  OtherKey: reference(labels({ l: "1" })),
  Labels: reference(labels({ k: "1", l: "1" })),
};

test("references are the same as their copies, whatever the order of labels, and as no other", () => {
  for (const [name, a] of Object.entries(distinct)) {
    for (const [other, b] of Object.entries(distinct)) {
      assert.equal(sameReference(a, structuredClone(b)), name === other, `${name} and ${other}`);
    }
  }
  assert.equal(sameReference(reference(labels({ l: "1", k: "1" })), reference(labels({ k: "1", l: "1" }))), true);
});

test("whatever is recorded and forgotten, the index finds what a plain search finds", () => {
  const name = fc.constantFrom("a", "b");
  const namespace = fc.constantFrom("", "n1", "n2");
  const labels = fc.dictionary(fc.constantFrom("k", "l"), fc.constantFrom("1", "2"), { maxKeys: 2 });
  const ask = fc.oneof(fc.record({ name, namespace }), fc.record({ labels, namespace }));
  const action = fc.record({ xr: fc.constantFrom(one, two), asks: fc.option(fc.array(ask, { maxLength: 3 })) });
  const seen = fc.tuple(name, namespace, labels);
  fc.assert(
    fc.property(fc.array(action, { maxLength: 8 }), fc.array(seen, { maxLength: 6 }), (actions, objects) => {
      const tracker = createDependencyTracker();
      const known = new Map<string, readonly { name?: string; labels?: Record<string, string>; namespace: string }[]>();
      for (const { xr, asks } of actions) {
        known.delete(keyText(xr));
        if (asks === null) tracker.forget(xr);
        else {
          finish(tracker.record(xr, { composed: [], requirements: asks.map((wanted) => requirement(wanted)) }));
          known.set(keyText(xr), asks);
        }
      }
      for (const [n, ns, l] of objects) {
        const want = [...known].filter(([, asks]) => asks.some((a) => plainMatch(a, n, ns, l))).map(([key]) => key);
        assert.deepEqual(found(tracker, object(n, ns, l)), want.sort());
      }
    }),
  );
});

function plainMatch(
  ask: { name?: string; labels?: Record<string, string>; namespace: string },
  name: string,
  namespace: string,
  labels: Record<string, string>,
): boolean {
  if (ask.name !== undefined) return ask.name === name && ask.namespace === namespace;
  if (ask.namespace !== "" && ask.namespace !== namespace) return false;
  return Object.entries(ask.labels ?? {}).every(([key, value]) => labels[key] === value);
}

test("while new dependencies are recorded, no change is missed of those before", () => {
  const tracker = createDependencyTracker();
  const named = (prefix: string): StepRequirement[] =>
    Array.from({ length: 3000 }, (_, i) => requirement({ name: `${prefix}${i}`, namespace: "ns" }));
  finish(tracker.record(one, { composed: [], requirements: named("a") }));
  const recording = tracker.record(one, { composed: [], requirements: named("b") });
  let parts = 0;
  const oldest = object("a2999", "ns");
  for (let part = recording.next(); !part.done; part = recording.next()) {
    if (++parts === 3) assert.deepEqual(found(tracker, oldest), ["ns/one"]);
  }
  assert.ok(parts > 10, `${parts} parts`);
  assert.deepEqual(found(tracker, oldest), []);
  assert.deepEqual(found(tracker, object("b0", "ns")), ["ns/one"]);
});

test("an XR that selects by ten thousand labels of a kind depends on the objects with these, one with more on all", () => {
  const tracker = createDependencyTracker();
  const select = (count: number): StepRequirement[] =>
    Array.from({ length: count }, (_, i) => requirement({ labels: { [`l${i}`]: "x" } }));
  const other = requirement({ name: "named", namespace: "ns" });
  finish(
    tracker.record(one, { composed: [object("w", "ns", {}, "Widget")], requirements: [...select(10_000), other] }),
  );
  assert.deepEqual(found(tracker, object("a", "ns")), []);
  assert.deepEqual(found(tracker, object("a", "ns", { l9999: "x" })), ["ns/one"]);
  finish(
    tracker.record(one, { composed: [object("w", "ns", {}, "Widget")], requirements: [...select(10_001), other] }),
  );
  assert.deepEqual(found(tracker, object("a", "ns")), ["ns/one"]);
  assert.deepEqual(found(tracker, object("v", "ns", {}, "Widget")), []);
  assert.deepEqual(found(tracker, object("w", "ns", {}, "Widget")), ["ns/one"]);
  tracker.forget(one);
  assert.deepEqual(found(tracker, object("a", "ns")), []);
});

test("selectors with thousands of labels are recorded in many parts, and an object is compared with few of them", () => {
  const tracker = createDependencyTracker();
  const labels = Object.fromEntries(Array.from({ length: 1000 }, (_, i) => [`l${i}`, "x"]));
  const requirements = (seed: string): StepRequirement[] =>
    Array.from({ length: 500 }, (_, i) => requirement({ labels: { ...labels, [`z${seed}${i}`]: "y" } }));
  for (const seed of ["a", "b"]) finish(tracker.record(one, { composed: [], requirements: requirements(seed) }));
  const before = process.threadCpuUsage();
  for (let i = 0; i < 100; i++) assert.deepEqual(found(tracker, object("a", "ns", labels)), ["ns/one"]);
  const ms = process.threadCpuUsage(before).user / 1000;
  // 50 million labels are compared otherwise.
  assert.ok(ms < 1000, `${ms} ms`);
});

test("an object with very many labels is found by them, and costs no more than one with few", () => {
  const tracker = createDependencyTracker();
  const labels = Object.fromEntries(Array.from({ length: 90_000 }, (_, i) => [`l${i}`, "x"]));
  const large = object("a", "ns", labels);
  const select = (...keys: string[]): StepRequirement[] => keys.map((key) => requirement({ labels: { [key]: "x" } }));
  finish(tracker.record(one, { composed: [], requirements: select("l89999", "absent", "__proto__") }));
  finish(tracker.record(two, { composed: [], requirements: select("other") }));
  const before = process.threadCpuUsage();
  for (let i = 0; i < 100; i++) assert.deepEqual(found(tracker, large), ["ns/one"]);
  const ms = process.threadCpuUsage(before).user / 1000;
  // 9 million labels are looked up otherwise.
  assert.ok(ms < 500, `${ms} ms`);
});

test("with many labels to select by, an object is found by each of its own, until its dependents forget it", () => {
  const tracker = createDependencyTracker();
  const requirements = Array.from({ length: 1000 }, (_, i) => requirement({ labels: { [`l${i}`]: "x" } }));
  finish(tracker.record(one, { composed: [], requirements }));
  finish(tracker.record(two, { composed: [], requirements: requirements.slice(990) }));
  assert.deepEqual(found(tracker, object("a", "ns", { l3: "x", l999: "y" })), ["ns/one"]);
  assert.deepEqual(found(tracker, object("a", "ns", { l990: "x" })), ["ns/one", "two"]);
  assert.deepEqual(found(tracker, object("a", "ns", { l3: "y" })), []);
  finish(tracker.record(one, { composed: [], requirements: requirements.slice(0, 5) }));
  assert.deepEqual(found(tracker, object("a", "ns", { l990: "x" })), ["two"]);
  assert.deepEqual(found(tracker, object("a", "ns", { l4: "x" })), ["ns/one"]);
});

describe("selectors of many XRs that differ in their last label only", () => {
  const shared = Object.fromEntries(Array.from({ length: 999 }, (_, i) => [`l${i}`, "x"]));
  const changed = object("a", "ns", { ...shared, z: "7" });

  /** XRs by their number, with as many selectors each. */
  function recorded(xrs: number, selectors: number): DependencyTracker {
    const tracker = createDependencyTracker();
    for (let xr = 0; xr < xrs; xr++) {
      const own = (i: number): string => String(xr + i * xrs);
      const requirements = Array.from({ length: selectors }, (_, i) =>
        requirement({ labels: { ...shared, z: own(i) } }),
      );
      finish(tracker.record({ name: String(xr) }, { composed: [], requirements }));
    }
    return tracker;
  }

  test("are compared with an object in many parts", () => {
    const search = recorded(20, 10).findDependents(changed);
    let parts = 1;
    let part = search.next();
    for (; !part.done; part = search.next()) parts++;
    assert.deepEqual([...part.value].map(keyText), ["7"]);
    assert.ok(parts >= 40, `${parts} parts`);
  });

  test("are compared by that label from the second time on", () => {
    const tracker = recorded(20, 10);
    assert.deepEqual(found(tracker, changed), ["7"]);
    const before = process.threadCpuUsage();
    for (let i = 0; i < 100; i++) assert.deepEqual(found(tracker, changed), ["7"]);
    const ms = process.threadCpuUsage(before).user / 1000;
    // 20 million labels are compared otherwise.
    assert.ok(ms < 300, `${ms} ms`);
    assert.deepEqual(found(tracker, object("a", "ns", { ...shared, z: "8" })), ["8"]);
    assert.deepEqual(found(tracker, object("a", "ns", { ...shared, z: "8", l500: "y" })), []);
  });

  test("and an XR that selects by others in between, always with the object among them, are all found", () => {
    const tracker = recorded(20, 1);
    const late: ObjectKey = { name: "late" };
    // Labels that are compared last and first.
    finish(tracker.record(late, { composed: [], requirements: [requirement({ labels: { z: "7" } })] }));
    const search = tracker.findDependents(changed);
    assert.equal(search.next().done, false);
    finish(tracker.record(late, { composed: [], requirements: [requirement({ labels: { l0: "x" } })] }));
    let part = search.next();
    while (!part.done) part = search.next();
    assert.deepEqual([...part.value].map(keyText).sort(), ["7", "late"]);
  });
});
