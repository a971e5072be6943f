// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
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
  tracker.record(one, { composed: [object("a", "ns")], requirements: [] });
  tracker.record(two, { composed: [object("b", "ns")], requirements: [] });
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
  tracker.record(one, { composed: [], requirements: [], schemas });
  tracker.record(two, { composed: [], requirements: [], schemas: [{ apiVersion: "x.org/v2", kind: "Thing" }] });
  assert.deepEqual(found(tracker, crd("Thing", ["v1"])), ["ns/one"]);
  assert.deepEqual(found(tracker, crd("Thing", ["v1", "v2"])), ["ns/one", "two"]);
  assert.deepEqual(found(tracker, crd("Other", ["v1"])), []);
  assert.deepEqual(found(tracker, crd("Thing", ["v1"], "y.org")), []);
  assert.deepEqual(found(tracker, { ...crd("Thing", []), spec: "nonsense" } as KubeObject), []);
  assert.deepEqual(
    tracker.typesOf(one).map(({ kind }) => kind),
    ["CustomResourceDefinition"],
  );
  tracker.record(one, { composed: [], requirements: [] });
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
    tracker.record(one, { composed: [], requirements: [requirement(ask)] });
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
  tracker.record(one, { composed: [object("a", "ns")], requirements });
  assert.deepEqual(found(tracker, object("a", "ns", { app: "web" })), ["ns/one"]);
});

test("a kind is needed until its last dependent is removed, which is reported once", () => {
  const unneeded: string[] = [];
  const tracker = createDependencyTracker(({ kind }) => unneeded.push(kind));
  const type = { apiVersion: "v1", kind: "ConfigMap" };
  tracker.record(one, { composed: [object("a", "ns")], requirements: [] });
  tracker.record(two, { composed: [object("a", "ns")], requirements: [requirement({})] });
  tracker.record(one, { composed: [], requirements: [] });
  assert.deepEqual([tracker.isNeeded(type), unneeded], [true, []]);
  tracker.forget(two);
  assert.deepEqual([tracker.isNeeded(type), tracker.typesOf(two)], [false, []]);
  assert.deepEqual([...new Set(unneeded)], ["ConfigMap"]);
});

test("recording again replaces the kinds, and a kind that stays is never released in between", () => {
  const unneeded: string[] = [];
  const tracker = createDependencyTracker(({ kind }) => unneeded.push(kind));
  tracker.record(one, { composed: [object("a", "ns")], requirements: [] });
  tracker.record(one, { composed: [object("b", "ns")], requirements: [] });
  assert.deepEqual([found(tracker, object("a", "ns")), found(tracker, object("b", "ns"))], [[], ["ns/one"]]);
  assert.deepEqual(unneeded, []);
});

test("seeds are what the step asked for last time, by name, the last of a name", () => {
  const tracker = createDependencyTracker();
  const [early, late] = [requirement({ name: "a" }), requirement({ name: "b" })];
  tracker.record(one, { composed: [], requirements: [early, late, requirement({}, "other")] });
  assert.deepEqual([...tracker.seeds(one, "s")], [["wanted", late.selector]]);
  assert.equal(tracker.seeds(one, "absent").size, 0);
  assert.equal(tracker.seeds(two, "s").size, 0);
});

test("what depends on the same as before, under another name, is seeded under that name", () => {
  const tracker = createDependencyTracker();
  const before = requirement({ name: "a", namespace: "ns" });
  const after = { ...before, name: "renamed", step: "t" };
  tracker.record(one, { composed: [object("a", "ns")], requirements: [before] });
  tracker.record(one, { composed: [object("a", "ns")], requirements: [after] });
  assert.deepEqual([tracker.seeds(one, "s").size, [...tracker.seeds(one, "t").keys()]], [0, ["renamed"]]);
  tracker.forget(one);
  assert.deepEqual([found(tracker, object("a", "ns")), tracker.typesOf(one)], [[], []]);
});

test("the kinds of an XR are its own, each once", () => {
  const tracker = createDependencyTracker();
  const kindsOf = (xr: ObjectKey): string[] => tracker.typesOf(xr).map(({ kind }) => kind);
  const composed = [object("a", "ns"), object("b", "ns"), object("c", "ns", {}, "Secret")];
  tracker.record(one, { composed, requirements: [requirement({ name: "x" })] });
  tracker.record(two, { composed: [object("d", "ns", {}, "Widget")], requirements: [] });
  assert.deepEqual([kindsOf(one), kindsOf(two)], [["ConfigMap", "Secret"], ["Widget"]]);
  tracker.record(one, { composed: [object("c", "ns", {}, "Secret")], requirements: [] });
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
          tracker.record(xr, { composed: [], requirements: asks.map((wanted) => requirement(wanted)) });
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
