// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import { create, MatchLabels, ResourceSelector } from "@purlin/function-protocol";
import type { JsonObject } from "@purlin/kube-objects/json";
import { objectsReader, scopesOfCrds } from "./objects-reader.ts";
import { createResourceFetcher, type FetchLimits, observedStructsEncoded } from "./settle-requirements.ts";

interface Made {
  readonly kind?: string;
  readonly labels?: Record<string, string>;
  readonly apiVersion?: string;
}

function object(
  namespace: string | undefined,
  name: string,
  { kind = "ConfigMap", labels, apiVersion = "v1" }: Made = {},
): JsonObject {
  const metadata = { name, ...(namespace === undefined ? {} : { namespace }), ...(labels ? { labels } : {}) };
  return { apiVersion, kind, metadata };
}

const objects = [
  object("b", "x", { labels: { app: "web", tier: "1" } }),
  object("a", "z", { labels: { app: "web" } }),
  object("a", "y", { labels: { app: "web", tier: "1" } }),
  object("a", "unlabelled"),
  object(undefined, "beta", { kind: "ClusterThing", apiVersion: "example.org/v1" }),
  object(undefined, "alpha", { kind: "ClusterThing", apiVersion: "example.org/v1" }),
];

type Match = { name: string } | { labels: Record<string, string> } | undefined;

function select(kind: string, match: Match, namespace?: string): ResourceSelector {
  const apiVersion = kind === "ConfigMap" ? "v1" : "example.org/v1";
  if (match === undefined) return create(ResourceSelector, { apiVersion, kind, namespace });
  if ("name" in match) {
    return create(ResourceSelector, { apiVersion, kind, namespace, match: { case: "matchName", value: match.name } });
  }
  const value = create(MatchLabels, { labels: new Map(Object.entries(match.labels)) });
  return create(ResourceSelector, { apiVersion, kind, namespace, match: { case: "matchLabels", value } });
}

const table: Readonly<Record<string, { reason: string; selector: ResourceSelector; want: string[] }>> = {
  ByName: {
    reason: "one object in its namespace",
    selector: select("ConfigMap", { name: "y" }, "a"),
    want: ["a/y"],
  },
  ByNameMissing: {
    reason: "an object that does not exist is nothing, not an error",
    selector: select("ConfigMap", { name: "nope" }, "a"),
    want: [],
  },
  ByNameOtherNamespace: {
    reason: "a name is looked for in its namespace only",
    selector: select("ConfigMap", { name: "y" }, "b"),
    want: [],
  },
  ByNameNoNamespace: {
    reason: "C81: a namespaced kind by name without a namespace is nothing",
    selector: select("ConfigMap", { name: "y" }),
    want: [],
  },
  ByNameEmptyNamespace: {
    reason: "an empty namespace counts as absent",
    selector: select("ConfigMap", { name: "y" }, ""),
    want: [],
  },
  ClusterByName: {
    reason: "a cluster-scoped object needs no namespace",
    selector: select("ClusterThing", { name: "alpha" }),
    want: ["/alpha"],
  },
  ClusterByNameWithNamespace: {
    reason: "a namespace means nothing to a cluster-scoped kind",
    selector: select("ClusterThing", { name: "alpha" }, "a"),
    want: ["/alpha"],
  },
  ClusterListWithNamespace: {
    reason: "nor does it when listing",
    selector: select("ClusterThing", { labels: {} }, "a"),
    want: ["/alpha", "/beta"],
  },
  LabelsAcrossNamespaces: {
    reason: "C79: by labels across namespaces, in the order of namespace/name",
    selector: select("ConfigMap", { labels: { app: "web" } }),
    want: ["a/y", "a/z", "b/x"],
  },
  AllLabels: {
    reason: "an object must carry every label",
    selector: select("ConfigMap", { labels: { app: "web", tier: "1" } }),
    want: ["a/y", "b/x"],
  },
  LabelsInNamespace: {
    reason: "labels within one namespace",
    selector: select("ConfigMap", { labels: { app: "web" } }, "b"),
    want: ["b/x"],
  },
  NoLabels: {
    reason: "an empty label map is everything of the kind",
    selector: select("ConfigMap", { labels: {} }),
    want: ["a/unlabelled", "a/y", "a/z", "b/x"],
  },
  NoMatch: {
    reason: "C78: a selector without a match lists everything, in the order of namespace/name",
    selector: select("ConfigMap", undefined),
    want: ["a/unlabelled", "a/y", "a/z", "b/x"],
  },
  InheritedLabel: {
    reason: "labels are an object's own: no name leads to the prototype",
    selector: select("ConfigMap", { labels: { constructor: "x" } }),
    want: [],
  },
};

for (const [name, { reason, selector, want }] of Object.entries(table)) {
  test(`required resources ${name}: ${reason}`, async () => {
    const { items } = await createResourceFetcher(objectsReader(objects))(selector);
    const found = items.map(({ resource }) => resource?.value["metadata"] as JsonObject);
    assert.deepEqual(
      found.map((metadata) => `${metadata["namespace"] ?? ""}/${metadata["name"]}`),
      want,
    );
    assert.ok(items.every(({ connectionDetails, ready }) => connectionDetails.size === 0 && ready === 0));
  });
}

const refused: Readonly<Record<string, { reason: string; selector: Partial<ResourceSelector>; want: string }>> = {
  NoKind: {
    reason: "a selector without a kind selects nothing one could look for",
    selector: { apiVersion: "v1", kind: "" },
    want: 'a selector needs apiVersion and kind, not "v1" and ""',
  },
  NoApiVersion: {
    reason: "nor one without an apiVersion",
    selector: { apiVersion: "", kind: "ConfigMap" },
    want: 'a selector needs apiVersion and kind, not "" and "ConfigMap"',
  },
  UnknownKind: {
    reason: "a kind that is not served is an error, not an empty list",
    selector: { apiVersion: "example.org/v1", kind: "Nothing" },
    want: 'no matches for kind "Nothing" in version "example.org/v1"',
  },
  UnknownCoreKind: {
    reason: "C80: also in the core group",
    selector: { apiVersion: "v1", kind: "Nothing" },
    want: 'no matches for kind "Nothing" in version "v1"',
  },
  TwoSlashes: {
    reason: "an apiVersion has at most one slash",
    selector: { apiVersion: "a/b/c", kind: "K" },
    want: "unexpected GroupVersion string: a/b/c",
  },
};

for (const [name, { reason, selector, want }] of Object.entries(refused)) {
  test(`required resources ${name}: ${reason}`, async () => {
    const fetch = createResourceFetcher(objectsReader(objects));
    await assert.rejects(fetch(create(ResourceSelector, selector)), { message: want });
  });
}

test("a reader's failure is reported with what was being read", async () => {
  const boom = new Error("boom");
  const fetch = createResourceFetcher({
    scopeOf: async () => "Cluster",
    get: () => Promise.reject(boom),
    list: () => Promise.reject(boom),
  });
  await assert.rejects(fetch(select("X", { name: "a" })), {
    message: "cannot get required resource by name: boom",
    cause: boom,
  });
  await assert.rejects(fetch(select("X", undefined)), { message: "cannot list required resources: boom", cause: boom });
});

test("an unchanged object is encoded once, however often it is fetched", async () => {
  const fetch = createResourceFetcher(objectsReader(objects));
  const selector = select("ConfigMap", undefined);
  const first = await fetch(selector);
  const before = observedStructsEncoded();
  const second = await fetch(selector);
  assert.equal(observedStructsEncoded(), before);
  assert.equal(first.items[0]?.resource, second.items[0]?.resource);
});

test("objects without a namespace are in default when their kind is namespaced", async () => {
  const reader = objectsReader([object(undefined, "a"), object("ns", "b")]);
  const fetch = createResourceFetcher(reader);
  const { items } = await fetch(select("ConfigMap", { name: "a" }, "default"));
  assert.equal(items.length, 1);
});

test("an unknown kind can stand for one without objects", async () => {
  const fetch = createResourceFetcher(objectsReader([], { unknownKinds: "empty" }));
  assert.deepEqual((await fetch(select("Nothing", undefined))).items, []);
  assert.deepEqual((await fetch(select("Nothing", { name: "a" }, "ns"))).items, []);
});

test("a custom resource's scope is what its definition says", async () => {
  const crd = (kind: string, scope: string): JsonObject => ({
    spec: { group: "example.org", scope, names: { kind }, versions: [{ name: "v1" }, { name: "v0", served: false }] },
  });
  const scopeOf = scopesOfCrds([crd("Wide", "Cluster"), crd("Narrow", "Namespaced"), "rubbish", { spec: 1 }]);
  const gvk = (kind: string, version = "v1"): { group: string; version: string; kind: string } => ({
    group: "example.org",
    version,
    kind,
  });
  assert.equal(scopeOf(gvk("Wide")), "Cluster");
  assert.equal(scopeOf(gvk("Narrow")), "Namespaced");
  assert.equal(scopeOf(gvk("Wide", "v0")), undefined);
  assert.equal(scopeOf(gvk("Other")), undefined);
  const reader = objectsReader([object("ns", "a", { kind: "Wide", apiVersion: "example.org/v1" })], { scopeOf });
  assert.equal((await createResourceFetcher(reader)(select("Wide", { name: "a" }))).items.length, 1);
});

const unusable: Readonly<Record<string, { objects: unknown[]; want: string }>> = {
  NotAnObject: { objects: [objects[0], "text"], want: "object 2 cannot be used: it is not an object" },
  NoApiVersion: { objects: [{ kind: "K" }], want: "object 1 cannot be used: object has no apiVersion" },
  NoKind: { objects: [{ apiVersion: "v1" }], want: "object 1 cannot be used: object has no kind" },
  NoName: { objects: [{ apiVersion: "v1", kind: "K" }], want: "object 1 cannot be used: K has no metadata.name" },
  BadNamespace: {
    objects: [{ apiVersion: "v1", kind: "K", metadata: { name: "a", namespace: 7 } }],
    want: 'object 1 cannot be used: K "a" has a metadata.namespace that is not a string',
  },
  Twice: { objects: [object("ns", "a"), object("ns", "a")], want: 'v1/ConfigMap "ns/a" is listed twice' },
  TwiceClusterScoped: {
    objects: [object(undefined, "a", { kind: "Node" }), object(undefined, "a", { kind: "Node" })],
    want: 'v1/Node "a" is listed twice',
  },
};

for (const [name, { objects: given, want }] of Object.entries(unusable)) {
  test(`objects that cannot be read from: ${name}`, () => {
    assert.throws(() => objectsReader(given), { message: want });
  });
}

test("a hundred thousand objects are indexed in one pass", async () => {
  const many = Array.from({ length: 100_000 }, (_, index) => object("ns", `o${index}`));
  const { items } = await createResourceFetcher(objectsReader(many))(select("ConfigMap", { name: "o99999" }, "ns"));
  assert.equal(items.length, 1);
});

test("a server is not asked for a namespaced object without a namespace: it would call that a wrong request", async () => {
  const fetch = createResourceFetcher({
    ...objectsReader(objects),
    scopeOf: async () => "Namespaced",
    get: () => assert.fail("it was asked"),
  });
  for (const namespace of [undefined, ""]) {
    assert.deepEqual((await fetch(select("ConfigMap", { name: "y" }, namespace))).items, []);
  }
});

const many = Array.from({ length: 50 }, (_, i) => object("n", `o${i}`, { labels: { half: String(i % 2) } }));
const fits: Readonly<Record<string, { limits: FetchLimits; match: Match; want: number | RegExp }>> = {
  "as many as the limit": { limits: { selectedObjects: 50 }, match: undefined, want: 50 },
  "one more than the limit": {
    limits: { selectedObjects: 49 },
    match: undefined,
    want: /^the selector selects more than 49 objects \(limit selectedObjects=49\): select fewer by labels, name or namespace, or raise the limit with --function-limit$/,
  },
  "fewer by labels": { limits: { selectedObjects: 25 }, match: { labels: { half: "1" } }, want: 25 },
  "too many by labels": {
    limits: { selectedObjects: 24 },
    match: { labels: { half: "1" } },
    want: /more than 24 objects/,
  },
  "one by name": { limits: { selectedObjects: 1 }, match: { name: "o3" }, want: 1 },
  "as many as the default": { limits: {}, match: undefined, want: 50 },
  "too many bytes": { limits: { bytes: 1_000 }, match: undefined, want: /^the selector selects more than 1000 bytes / },
};

for (const [name, { limits, match, want }] of Object.entries(fits)) {
  test(`limits of a selector: ${name}`, async () => {
    const fetch = createResourceFetcher(objectsReader(many), limits);
    const fetched = fetch(select("ConfigMap", match, "n"));
    if (typeof want === "number") assert.equal((await fetched).items.length, want);
    else await assert.rejects(fetched, { code: "FETCH", message: want });
  });
}

test("a reader is asked for no more than it takes to know that there are too many", async () => {
  const limits: (number | undefined)[] = [];
  const reader = objectsReader(many);
  const list: typeof reader.list = (gvk, query) => {
    limits.push(query.limit);
    return reader.list(gvk, query);
  };
  await createResourceFetcher({ ...reader, list }, { selectedObjects: 60 })(select("ConfigMap", undefined, "n"));
  assert.deepEqual(limits, [61]);
});
