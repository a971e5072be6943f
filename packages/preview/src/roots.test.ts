// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { definitionFacts } from "@purlin/composition";
import { NoMatchError } from "@purlin/kube-client";
import type { JsonObject } from "@purlin/kube-objects/json";
import type { KubeObject, ObjectKey, TypeRef } from "@purlin/kube-objects/object";
import { parseLabelSelector } from "@purlin/kube-objects/selector";
import { app, claimDefinition, composition, definition, functionAt } from "../test/scene-objects.ts";
import type { ChangeSet } from "./change-set.ts";
import { identityOf } from "./overlay/live-reads.ts";
import { movePinned, type RootOptions, rootsOf } from "./roots.ts";
import type { ApplyStage, Pass } from "./settle/run-pass.ts";

const part = (name: string): KubeObject => ({ ...app(name, {}), kind: "Part" });
const labeled = (object: KubeObject, labels: Readonly<Record<string, string>>): KubeObject => ({
  ...object,
  metadata: { ...object.metadata, labels: { ...labels } },
});
const map = (name: string): KubeObject => ({ apiVersion: "v1", kind: "ConfigMap", metadata: { name } });
const definitions = [definition("App", {}), definition("Part", {}), claimDefinition];
const changesOf = (...objects: readonly KubeObject[]): ChangeSet => ({
  stages: [objects],
  deletes: [],
  applyAs: { mode: "auto" },
  namespace: "default",
});

function passOf(objects: readonly KubeObject[], unserved: readonly string[] = []) {
  const updated: KubeObject[] = [];
  const client = {
    get: async ({ kind }: TypeRef, { name, namespace }: ObjectKey) =>
      objects.find(
        (one) => one.kind === kind && one.metadata.name === name && (one.metadata.namespace ?? namespace) === namespace,
      ),
    list: async (type: TypeRef, { labels = {} }: { readonly labels?: Readonly<Record<string, string>> } = {}) => {
      if (unserved.includes(type.kind)) throw new NoMatchError(type);
      return objects.filter(
        (one) =>
          one.kind === type.kind &&
          Object.entries(labels).every(([key, value]) => one.metadata.labels?.[key] === value),
      );
    },
    update: async (object: KubeObject) => updated.push(object),
  };
  const skipped: KubeObject[] = [];
  const overlay = { entries: new Map() };
  const facts = async () => definitions.map(definitionFacts);
  const pass = { client, overlay, definitions: facts, skipped } as unknown as Pass;
  return { pass, skipped, updated, client: client as unknown as Parameters<ApplyStage>[0] };
}

const live = [app("a", {}), app("b", {}), part("p"), composition("App", "first")];
const names = async (
  changes: ChangeSet,
  options: Partial<RootOptions> = {},
  objects = live,
): Promise<(string | undefined)[]> =>
  (await rootsOf(passOf(objects).pass, changes, { functions: [], only: [], namespace: "default", ...options })).map(
    ({ metadata }) => metadata.name,
  );

describe("composite resources that a change set may concern", () => {
  const cases: Readonly<Record<string, readonly [ChangeSet, readonly string[]]>> = {
    "those it names": [changesOf(app("b", { size: 1 })), ["b"]],
    "not those that do not exist, or have no name yet": [
      changesOf(app("new", {}), { ...app("", {}), metadata: { generateName: "x-" } }),
      [],
    ],
    "all of the kind of a Composition": [changesOf(composition("App", "second")), ["a", "b"]],
    "all of a definition": [changesOf(definition("Part", { a: { type: "string" } })), ["p"]],
    "those whose pipelines run a Function": [changesOf(functionAt("localhost:1")), ["a", "b"]],
    "none of a Function that no pipeline runs": [changesOf(functionAt("localhost:1", "other")), []],
    "all, for anything else that functions may read": [changesOf(map("m")), ["a", "b", "p"]],
    "all, without changes": [changesOf(), ["a", "b", "p"]],
  };
  for (const [title, [changes, expected]] of Object.entries(cases)) {
    test(title, async () => assert.deepEqual(await names(changes), expected));
  }

  test("a composite resource without a namespace is looked for in that of the change set", async () => {
    const { namespace: _, ...metadata } = app("a", {}).metadata;
    assert.deepEqual(await names(changesOf({ ...app("a", {}), metadata })), ["a"]);
    assert.deepEqual(await names(changesOf({ ...app("a", {}), metadata }), { namespace: "team" }), []);
  });

  test("functions that run from another source concern their users", async () => {
    assert.deepEqual(await names(changesOf(), { functions: ["fn"] }), ["a", "b"]);
  });

  describe("of a deletion", () => {
    const deleting = (apiVersion: string, kind: string, name: string): ChangeSet => ({
      ...changesOf(),
      deletes: [{ apiVersion, kind, name }],
    });

    test("all, for what functions may read and for what others depend on", async () => {
      const stored = [functionAt("localhost:1"), definition("Part", {}), map("m")];
      for (const { apiVersion, kind, metadata } of stored)
        assert.deepEqual(
          await names(deleting(apiVersion, kind, metadata.name ?? ""), {}, [...live, ...stored]),
          ["a", "b", "p"],
          kind,
        );
      assert.deepEqual(await names(deleting("v1", "ConfigMap", "gone")), []);
    });

    test("of a Composition, those of its kind", async () => {
      assert.deepEqual(await names(deleting("apiextensions.crossplane.io/v1", "Composition", "apps")), ["a", "b"]);
      assert.deepEqual(await names(deleting("apiextensions.crossplane.io/v1", "Composition", "gone")), []);
    });

    test("a composite resource is deleted by its own controller, and no other is looked at", async () => {
      assert.deepEqual(await names(deleting("example.org/v1", "App", "a")), []);
    });

    test("one that a composite resource composes, or that a claim is bound to, is made again by these", async () => {
      const owner = { apiVersion: "example.org/v1", kind: "App", name: "b", uid: "1", controller: true };
      const inner = { ...part("inner"), metadata: { ...part("inner").metadata, ownerReferences: [owner] } };
      const thing = { apiVersion: "example.org/v1", kind: "Thing", metadata: { name: "t", namespace: "default" } };
      const claimRef = { apiVersion: "example.org/v1", kind: "Thing", namespace: "default", name: "t" };
      const bound = { apiVersion: "example.org/v1", kind: "XThing", metadata: { name: "t-1" }, spec: { claimRef } };
      const stored = [...live, inner, thing, bound as KubeObject];
      const deletion = (kind: string, name: string, namespace?: string): ChangeSet => ({
        ...changesOf(),
        deletes: [{ apiVersion: "example.org/v1", kind, namespace, name }],
      });
      assert.deepEqual(await names(deletion("Part", "inner", "default"), {}, stored), ["b"]);
      assert.deepEqual(await names(deletion("XThing", "t-1"), {}, stored), ["t"]);
    });
  });

  test("a kind that is not served has none", async () => {
    const { pass } = passOf(live, ["App"]);
    const roots = await rootsOf(pass, changesOf(), { functions: [], only: [], namespace: "default" });
    assert.deepEqual(
      roots.map(({ metadata }) => metadata.name),
      ["p"],
    );
  });

  test("in deletion they are looked at and not reconciled", async () => {
    const going = {
      ...app("going", {}),
      metadata: { ...app("going", {}).metadata, deletionTimestamp: "2026-01-01T00:00:00Z" },
    };
    const { pass, skipped } = passOf([going]);
    assert.deepEqual(await rootsOf(pass, changesOf(), { functions: [], only: [], namespace: "default" }), []);
    assert.deepEqual(skipped, [going]);
  });
});

describe("the choice of the user", () => {
  const nested = labeled(part("inner"), { "crossplane.io/composite": "a" });
  const all = [...live, nested, { ...app("a", {}), metadata: { name: "a", namespace: "team" } }];

  test("by name, by namespace and name, or by the root of a tree", async () => {
    assert.deepEqual(await names(changesOf(), { only: ["b"] }, all), ["b"]);
    assert.deepEqual(await names(changesOf(), { only: ["team/a"] }, all), ["a"]);
    assert.deepEqual(await names(changesOf(), { only: ["a"] }, all), ["a", "a", "inner"]);
  });

  test("by labels", async () => {
    const labelSelector = parseLabelSelector("tier=gold");
    assert.deepEqual(
      await names(changesOf(), { labelSelector }, [labeled(app("x", {}), { tier: "gold" }), app("y", {})]),
      ["x"],
    );
  });
});

describe("composite resources with a Manual update policy", () => {
  const revision = (name: string, number: number): KubeObject => ({
    apiVersion: "apiextensions.crossplane.io/v1",
    kind: "CompositionRevision",
    metadata: { name, labels: { "crossplane.io/composition-name": "apps" } },
    spec: { revision: number },
  });
  const pinned = (name: string, crossplane: JsonObject = {}): KubeObject =>
    app(name, {
      crossplane: {
        compositionRef: { name: "apps" },
        compositionUpdatePolicy: "Manual",
        compositionRevisionRef: { name: "apps-2" },
        ...crossplane,
      },
    });
  const revisions = [revision("apps-2", 2), revision("apps-10", 10), revision("apps-9", 9)];
  const move = async (changes: ChangeSet, ...objects: readonly KubeObject[]) => {
    const moved = new Set<string>();
    const { client, updated } = passOf([...definitions, ...objects]);
    await movePinned(changes, moved)(client);
    return {
      moved: [...moved],
      refs: updated.map(
        (one) => (one["spec"] as { readonly crossplane: JsonObject }).crossplane["compositionRevisionRef"],
      ),
    };
  };

  test("move to the newest revision, by its number", async () => {
    assert.deepEqual(await move(changesOf(composition("App", "x")), ...revisions, pinned("a")), {
      moved: [identityOf(app("a", {}))],
      refs: [{ name: "apps-10" }],
    });
  });

  test("others stay: automatic ones, those of another Composition, on the newest one already, or in deletion", async () => {
    const going = { ...pinned("d"), metadata: { ...pinned("d").metadata, deletionTimestamp: "2026-01-01T00:00:00Z" } };
    const objects = [
      pinned("a", { compositionUpdatePolicy: "Automatic" }),
      pinned("b", { compositionRef: { name: "other" } }),
      pinned("c", { compositionRevisionRef: { name: "apps-10" } }),
      going,
    ];
    assert.deepEqual((await move(changesOf(composition("App", "x")), ...revisions, ...objects)).moved, []);
  });

  test("nothing moves without a Composition in the change set, or without revisions of it", async () => {
    assert.deepEqual((await move(changesOf(), ...revisions, pinned("a"))).moved, []);
    assert.deepEqual((await move(changesOf(composition("App", "x")), pinned("a"))).moved, []);
  });
});
