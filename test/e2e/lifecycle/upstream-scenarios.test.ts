// SPDX-License-Identifier: Apache-2.0
// What the end-to-end tests of Crossplane prove about the life of composite resources, each under the name it has there.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { isInvalid } from "@purlin/kube-objects/errors";
import type { JsonObject } from "@purlin/kube-objects/json";
import type { KubeObject, ObjectKey, TypeRef } from "@purlin/kube-objects/object";
import { conditionOf, eventually } from "../harness/plane.ts";
import { rendersAsApplied } from "../harness/rendered.ts";
import { compositionOf, definitionOf } from "../harness/sample-kinds.ts";
import { stays } from "../harness/stays.ts";
import {
  at,
  boxOf,
  boxType,
  claimOf,
  claimType,
  composedNames,
  configMap,
  crateType,
  isReady,
  legacyType,
  mapWith,
  namespace,
  type ObedientPlane,
  type Orders,
  startObedientPlane,
} from "./obedient-plane.ts";

const compositionType: TypeRef = { apiVersion: "apiextensions.crossplane.io/v1", kind: "Composition" };

let plane: ObedientPlane;
before(async () => {
  plane = await startObedientPlane({
    settings: { circuitBreaker: { burst: 50, refillPerSecond: 0.1, cooldownMs: 60_000 } },
  });
});
after(() => plane[Symbol.asyncDispose]());

const failed = (type: TypeRef, key: ObjectKey): Promise<KubeObject> =>
  plane.until(`${key.name} fails`, type, key, (one) => conditionOf(one, "Synced")?.status === "False");
const merge = (type: TypeRef, key: ObjectKey, patch: JsonObject): Promise<KubeObject> =>
  plane.users.patch({ ...type, ...key }, patch, { type: "merge" });
const specOf = <T>(object: KubeObject): T => object["spec"] as T;

/** The composite resource of a claim. */
async function xrOf(name: string): Promise<KubeObject> {
  const { resourceRef } = specOf<{ resourceRef: { name: string } }>(await plane.get(claimType, at(name)));
  return plane.get(legacyType, { name: resourceRef.name });
}

test("composition/basic-cluster: what it composes is named after it", async () => {
  const spec = { compose: { map: mapWith("x", { namespace }) }, status: { note: "made" } };
  await plane.apply({ ...crateType, metadata: { name: "basic" }, spec } as unknown as KubeObject);
  const crate = await plane.ready(crateType, { name: "basic" });
  assert.equal((crate["status"] as { note: string }).note, "made");
  const [name = ""] = composedNames(crate);
  const { generateName } = (await plane.get(configMap, at(name))).metadata;
  assert.deepEqual([generateName, name.startsWith("basic-")], ["basic-", true]);
  await rendersAsApplied(plane.users, crateType, { name: "basic" });
});

test("composition/namespaced-xr-no-cluster-scoped-resource: the error names the resource", async () => {
  const role = {
    apiVersion: "rbac.authorization.k8s.io/v1",
    kind: "ClusterRole",
    metadata: { name: "wide" },
    rules: [],
  };
  await plane.apply(boxOf("overreaching", { compose: { fine: mapWith("x"), role } }));
  const box = await failed(boxType, at("overreaching"));
  assert.deepEqual(conditionOf(box, "Synced"), {
    type: "Synced",
    status: "False",
    reason: "ReconcileError",
    message: `cannot compose resources: cannot apply cluster scoped composed resource "role" (a ClusterRole named wide) for a namespaced composite resource.`,
  });
  assert.equal(await plane.find(role, { name: "wide" }), undefined);
  await merge(boxType, at("overreaching"), { spec: { compose: { role: null } } });
  await plane.ready(boxType, at("overreaching"));
});

test("composition/circuit-breaker: closed while all is calm, open after a burst, and the composite resource says whose it was", async () => {
  await plane.apply(boxOf("noisy", { compose: { map: mapWith("x", { name: "loud" }) } }));
  const calm = await plane.ready(boxType, at("noisy"));
  assert.equal(conditionOf(calm, "Responsive")?.reason, "WatchCircuitClosed");
  for (let round = 0; round < 80; round++) {
    await merge(configMap, at("loud"), { metadata: { annotations: { round: String(round) } } });
  }
  const shielded = await plane.until(
    "it is shielded",
    boxType,
    at("noisy"),
    (box) => conditionOf(box, "Responsive")?.status === "False",
  );
  assert.deepEqual(conditionOf(shielded, "Responsive"), {
    type: "Responsive",
    status: "False",
    reason: "WatchCircuitOpen",
    message: `Too many watch events from ConfigMap/loud (${namespace}). Allowing events periodically.`,
  });
  assert.equal(conditionOf(shielded, "Ready")?.status, "True", "it continues");
});

test("composition/composition-selection: the selector of a claim chooses, and what it chose stays", async () => {
  const labelled = (name: string): KubeObject => ({
    ...compositionOf(name, legacyType, "obey"),
    metadata: { name, labels: { size: name } },
  });
  await plane.apply(labelled("small"), labelled("large"));
  const select = (size: string) => ({ compositionSelector: { matchLabels: { size } } });
  await plane.apply(claimOf("choosy", { compose: { map: mapWith("x", { namespace }) }, ...select("small") }));
  await plane.ready(claimType, at("choosy"));
  const chosen = async (of: KubeObject): Promise<string> =>
    specOf<{ compositionRef: { name: string } }>(of).compositionRef.name;
  assert.equal(await chosen(await xrOf("choosy")), "small");
  assert.equal(await chosen(await plane.get(claimType, at("choosy"))), "small", "the claim names it");
  await merge(claimType, at("choosy"), { spec: select("large") });
  await eventually("the selector reaches the composite resource", async () =>
    JSON.stringify(specOf(await xrOf("choosy"))).includes('"size":"large"'),
  );
  await stays("what was chosen", async () => chosen(await xrOf("choosy")), "small");
  await rendersAsApplied(plane.users, legacyType, { name: (await xrOf("choosy")).metadata.name ?? "" });
});

test("composition/realtime-revision-selection: an edited composition is followed at once", async () => {
  const type = { apiVersion: "live.example.org/v1", kind: "Live" };
  const wish = {
    group: "live.example.org",
    kind: "Live",
    scope: "Cluster",
    status: { note: { type: "string" } },
  } as const;
  const anything = { type: "object", "x-kubernetes-preserve-unknown-fields": true } as const;
  await plane.apply(definitionOf({ ...wish, spec: { compose: anything } }), compositionOf("live", type, "obey"));
  await plane.apply({ ...type, metadata: { name: "follows" }, spec: { compose: {} } } as unknown as KubeObject);
  const revisionOf = (xr: KubeObject): string =>
    specOf<{ crossplane?: { compositionRevisionRef?: { name: string } } }>(xr).crossplane?.compositionRevisionRef
      ?.name ?? "";
  const before = revisionOf(await plane.ready(type, { name: "follows" }));
  const edited = compositionOf("live", type, "obey");
  await plane.apply({ ...edited, metadata: { name: "live", annotations: { edition: "two" } } });
  const after = await plane.until(
    "it follows",
    type,
    { name: "follows" },
    (xr) => ![before, ""].includes(revisionOf(xr)),
  );
  const revision = await plane.get(
    { apiVersion: "apiextensions.crossplane.io/v1", kind: "CompositionRevision" },
    { name: revisionOf(after) },
  );
  assert.equal(specOf<{ revision: number }>(revision).revision, 2);
});

const secretless = [{ name: "c", source: "Secret" }];
const invalid: Readonly<Record<string, { readonly spec: JsonObject; readonly message: RegExp }>> = {
  NoPipeline: { spec: { pipeline: null }, message: /an array of pipeline steps is required in Pipeline mode/ },
  EmptyPipeline: { spec: { pipeline: [] }, message: /spec\.pipeline: .*should have at least 1 items/ },
  SameStepTwice: {
    spec: {
      pipeline: [
        { step: "a", functionRef: { name: "f" } },
        { step: "a", functionRef: { name: "f" } },
      ],
    },
    message: /spec\.pipeline\[1\]: Duplicate value/,
  },
  CredentialsWithoutSecret: {
    spec: { pipeline: [{ step: "a", functionRef: { name: "f" }, credentials: secretless }] },
    message: /the Secret source requires a secretRef/,
  },
};

for (const [name, { spec, message }] of Object.entries(invalid)) {
  test(`composition/validation: ${name} is refused where it is written`, async () => {
    const valid = compositionOf(`invalid-${name.toLowerCase()}`, boxType, "obey");
    const wrong = { ...valid, spec: { ...specOf<JsonObject>(valid), ...spec } };
    await assert.rejects(
      plane.users.create(wrong),
      (error) => isInvalid(error) && message.test((error as Error).message),
      name,
    );
  });
}

test("composition/legacy-propagate-field-removals: what a claim no longer says, its composite resource does not say either", async () => {
  const compose = { map: mapWith("x", { namespace, labels: { keep: "1", drop: "1" } }) };
  const metadata = {
    labels: { keep: "1", drop: "1" },
    annotations: { "example.org/keep": "1", "example.org/drop": "1" },
  };
  await plane.apply(claimOf("shrinking", { compose, unready: ["none"], status: { note: "a", count: 1 } }, metadata));
  await plane.ready(claimType, at("shrinking"));
  const before = await xrOf("shrinking");
  assert.equal(before.metadata.labels?.["drop"], "1");
  await plane.apply(
    claimOf(
      "shrinking",
      { compose: { map: mapWith("x", { namespace, labels: { keep: "1" } }) }, status: { note: "a" } },
      { labels: { keep: "1" }, annotations: { "example.org/keep": "1" } },
    ),
  );
  const after = await plane.until(
    "the label is gone from the composite resource",
    legacyType,
    { name: before.metadata.name ?? "" },
    (xr) => xr.metadata.labels?.["drop"] === undefined,
  );
  assert.equal(after.metadata.labels?.["keep"], "1");
  const own = Object.entries(after.metadata.annotations ?? {}).filter(([key]) => key.startsWith("example.org/"));
  assert.deepEqual(own, [["example.org/keep", "1"]]);
  const { unready, status, compose: wanted } = specOf<Orders>(after);
  assert.deepEqual([unready, status], [undefined, { note: "a" }]);
  assert.deepEqual(wanted, { map: mapWith("x", { namespace, labels: { keep: "1" } }) });
  const [name = ""] = composedNames(after);
  await plane.until(
    "and from what it composed",
    configMap,
    at(name),
    (map) => map.metadata.labels?.["drop"] === undefined,
  );
  await eventually("the status follows", async () => {
    const { status } = (await plane.get(claimType, at("shrinking"))) as unknown as { status: JsonObject };
    return status["note"] === "a" && status["count"] === undefined;
  });
});

test("composition/legacy: a composite resource inside a claim's, ready from the inside out", async () => {
  const inner = {
    ...boxType,
    metadata: { namespace, name: "inner-of-claim" },
    spec: { compose: { map: mapWith("deep") } },
  };
  await plane.apply(claimOf("nesting", { compose: { inner } }));
  await plane.ready(claimType, at("nesting"));
  const box = await plane.ready(boxType, at("inner-of-claim"));
  const [name = ""] = composedNames(box);
  const { labels } = (await plane.get(configMap, at(name))).metadata;
  assert.equal(labels?.["crossplane.io/claim-name"], "nesting", "labels of the root reach the innermost");
  assert.equal(labels?.["crossplane.io/composite"], (await xrOf("nesting")).metadata.name);
});

test("xrd/validation: what may be changed is taken, what may not is refused in its place", async () => {
  const xrds: TypeRef = { apiVersion: "apiextensions.crossplane.io/v2", kind: "CompositeResourceDefinition" };
  const wish = { group: "fixed.example.org", kind: "Fixed", scope: "Namespaced" } as const;
  await plane.apply(definitionOf(wish));
  const key = { name: "fixeds.fixed.example.org" };
  await plane.until("it is established", xrds, key, (xrd) => conditionOf(xrd, "Established")?.status === "True");
  await plane.apply(definitionOf({ ...wish, spec: { size: { type: "string" } } }));
  const refused: readonly JsonObject[] = [
    { group: "other.example.org" },
    { scope: "Cluster" },
    { names: { kind: "Other", plural: "fixeds" } },
  ];
  for (const spec of refused) {
    const [field = ""] = Object.keys(spec);
    await assert.rejects(
      merge(xrds, key, { spec }),
      (error) => isInvalid(error) && (error as Error).message.includes(`spec.${field}`),
      field,
    );
  }
});

test("xrd/referenceable-version-change: composite resources continue in the new version, with compositions made for it", async () => {
  const group = "versions.example.org";
  const wish = { group, kind: "Shape", scope: "Cluster" } as const;
  const fields = { note: { type: "string" } } as const;
  const anything = { type: "object", "x-kubernetes-preserve-unknown-fields": true } as const;
  const definition = definitionOf({ ...wish, spec: { compose: anything, status: anything }, status: fields });
  const [version] = specOf<{ versions: JsonObject[] }>(definition).versions;
  const versions = (referenceable: string): JsonObject => ({
    ...specOf<JsonObject>(definition),
    versions: ["v1", "v2"].map((name) => ({ ...version, name, referenceable: name === referenceable })),
  });
  const type = (name: string): TypeRef => ({ apiVersion: `${group}/${name}`, kind: "Shape" });
  await plane.apply({ ...definition, spec: versions("v1") }, compositionOf("shape-v1", type("v1"), "obey"));
  const shape = (name: string) => ({ metadata: { name }, spec: { compose: {}, status: { note: name } } });
  await plane.apply({ ...type("v1"), ...shape("old") } as unknown as KubeObject);
  await plane.ready(type("v1"), { name: "old" });
  await plane.apply(compositionOf("shape-v2", type("v2"), "obey"), { ...definition, spec: versions("v2") });
  const xrds: TypeRef = { apiVersion: "apiextensions.crossplane.io/v2", kind: "CompositeResourceDefinition" };
  await plane.until("the controller works on the new version", xrds, { name: `shapes.${group}` }, (xrd) => {
    const { status } = xrd as { status?: { controllers?: { compositeResourceType?: { apiVersion?: string } } } };
    return status?.controllers?.compositeResourceType?.apiVersion === `${group}/v2`;
  });
  await plane.apply({ ...type("v2"), ...shape("new") } as unknown as KubeObject);
  const made = await plane.ready(type("v2"), { name: "new" });
  const { crossplane } = specOf<{ crossplane: { compositionRef: { name: string } } }>(made);
  assert.equal(crossplane.compositionRef.name, "shape-v2");
});

test("xrd/subresources: the scale of a definition reaches the kind", async () => {
  const group = "scale.example.org";
  const definition = definitionOf({
    group,
    kind: "Fleet",
    scope: "Namespaced",
    spec: { replicas: { type: "integer" }, compose: { type: "object", "x-kubernetes-preserve-unknown-fields": true } },
    status: { replicas: { type: "integer" } },
  });
  const [version] = specOf<{ versions: JsonObject[] }>(definition).versions;
  const scale = { specReplicasPath: ".spec.replicas", statusReplicasPath: ".status.replicas" };
  const fleet = { apiVersion: `${group}/v1`, kind: "Fleet" };
  const spec = { ...specOf<JsonObject>(definition), versions: [{ ...version, subresources: { scale } }] };
  await plane.apply({ ...definition, spec } as KubeObject, compositionOf("fleet", fleet, "obey"));
  await plane.apply({ ...fleet, metadata: at("ships"), spec: { replicas: 1, compose: {} } } as unknown as KubeObject);
  const path = `/apis/${group}/v1/namespaces/${namespace}/fleets/ships/scale`;
  const read = async (): Promise<number> => {
    const { spec: scaled } = (await plane.users.raw({ method: "GET", path })) as { spec: { replicas: number } };
    return scaled.replicas;
  };
  assert.equal(await read(), 1);
  await plane.users.patch(
    { ...fleet, ...at("ships") },
    { spec: { replicas: 3 } },
    { type: "merge", subresource: "scale" },
  );
  assert.equal(await read(), 3);
  assert.equal(specOf<{ replicas: number }>(await plane.get(fleet, at("ships"))).replicas, 3);
});

test("a composition that is deleted takes nothing with it: what it composed stays as it was", async () => {
  await plane.apply(compositionOf("fleeting", boxType, "obey"));
  const spec = { compose: { map: mapWith("x") }, crossplane: { compositionRef: { name: "fleeting" } } };
  await plane.apply(boxOf("left-alone", spec));
  const [name = ""] = composedNames(await plane.ready(boxType, at("left-alone")));
  await plane.users.delete({ ...compositionType, name: "fleeting" });
  await merge(boxType, at("left-alone"), { spec: { status: { note: "wake" } } });
  const failing = await failed(boxType, at("left-alone"));
  assert.match(conditionOf(failing, "Synced")?.message ?? "", /cannot (fetch|select) Composition.*"?fleeting"?/);
  const isThere = async (): Promise<boolean> => (await plane.find(configMap, at(name))) !== undefined;
  await stays("what it composed", isThere, true);
  const next = { compositionRef: { name: "box" }, compositionRevisionRef: null };
  await merge(boxType, at("left-alone"), { spec: { crossplane: next } });
  await plane.until(
    "another composition continues with it",
    boxType,
    at("left-alone"),
    (box) => isReady(box) && (box["status"] as { note?: string }).note === "wake",
  );
  assert.deepEqual(composedNames(await plane.get(boxType, at("left-alone"))), [name]);
});
