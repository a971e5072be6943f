// SPDX-License-Identifier: Apache-2.0
// What a Crossplane left behind is taken over: nothing is deleted, nothing made again, nothing renamed, no field lost.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import type { KubeClient } from "@purlin/kube-client";
import type { JsonObject } from "@purlin/kube-objects/json";
import type { KubeObject, ObjectKey, TypeRef } from "@purlin/kube-objects/object";
import { conditionOf, eventually, type Plane } from "../harness/plane.ts";
import { rendersAsApplied } from "../harness/rendered.ts";
import { stays } from "../harness/stays.ts";
import { leaveBehind, left } from "./left-behind.ts";
import {
  at,
  claimType,
  composedNames,
  configMap,
  isReady,
  legacyType,
  mapWith,
  namespace,
  startObedientPlane,
} from "./obedient-plane.ts";

const crdType: TypeRef = { apiVersion: "apiextensions.k8s.io/v1", kind: "CustomResourceDefinition" };
const xrdType: TypeRef = { apiVersion: "apiextensions.crossplane.io/v1", kind: "CompositeResourceDefinition" };
const revisionType: TypeRef = { apiVersion: "apiextensions.crossplane.io/v1", kind: "CompositionRevision" };
const xrdName = "xcases.lifecycle.example.org";

const everything: readonly (readonly [TypeRef, ObjectKey])[] = [
  [crdType, { name: "compositeresourcedefinitions.apiextensions.crossplane.io" }],
  [crdType, { name: "compositions.apiextensions.crossplane.io" }],
  [crdType, { name: xrdName }],
  [crdType, { name: "cases.lifecycle.example.org" }],
  [xrdType, { name: xrdName }],
  [{ apiVersion: "apiextensions.crossplane.io/v1", kind: "Composition" }, { name: "xcase" }],
  [revisionType, { name: left.revision }],
  [legacyType, { name: left.xr }],
  [claimType, at("left")],
  [configMap, at(left.map)],
];

let plane: Plane;
let found: readonly KubeObject[];
const read = (users: KubeClient): Promise<KubeObject[]> =>
  Promise.all(everything.map(([type, key]) => users.get(type, key)));

before(async () => {
  plane = await startObedientPlane({
    async prepare(users) {
      await leaveBehind(users);
      found = await read(users);
    },
  });
});
after(() => plane[Symbol.asyncDispose]());

/** Whether a condition was set by a controller of today. */
const isSettled = (object: KubeObject): boolean => isReady(object) && conditionOf(object, "Responsive") !== undefined;

test("everything is the very object it was, nothing was deleted, and nothing is there twice", async () => {
  await plane.until("the composite resource is looked after", legacyType, { name: left.xr }, isSettled);
  await plane.until("the claim is ready", claimType, at("left"), isReady);
  assert.deepEqual(
    (await read(plane.users)).map(({ metadata }) => metadata.uid),
    found.map(({ metadata }) => metadata.uid),
  );
  assert.deepEqual(
    plane.takeWrites().filter((line) => line.startsWith("DELETE")),
    [],
  );
  const names = async (): Promise<readonly string[]> => composedNames(await plane.get(legacyType, { name: left.xr }));
  await stays("the older name", names, [left.map]);
  const labelSelector = "crossplane.io/composite";
  assert.equal((await plane.users.list(configMap, { namespace, labelSelector })).items.length, 1);
  assert.equal((await plane.users.list(legacyType)).items.length, 1);
  const own = { labelSelector: "crossplane.io/composition-name=xcase" };
  const revisions = (await plane.users.list(revisionType, own)).items.map(({ metadata }) => metadata.name);
  assert.deepEqual(revisions, [left.revision], "its revision is recognised by what it says");
  await rendersAsApplied(plane.users, legacyType, { name: left.xr });
});

test("what our CRDs do not declare stays: versions, fields, and what is stored in them", async () => {
  interface Spec {
    readonly versions: readonly { readonly name: string; readonly schema: { readonly openAPIV3Schema: JsonObject } }[];
  }
  const crd = await plane.get(crdType, { name: "compositeresourcedefinitions.apiextensions.crossplane.io" });
  const { versions } = crd["spec"] as unknown as Spec;
  assert.ok(versions.some(({ name }) => name === "v1alpha7"));
  for (const { schema } of versions.filter(({ name }) => name !== "v1alpha7")) {
    assert.match(JSON.stringify(schema), new RegExp(left.field));
  }
  const xrd = await plane.get(xrdType, { name: xrdName });
  assert.equal((xrd["spec"] as JsonObject)[left.field], "kept");
});

test("from then on it is as if it had always been ours: edits, removed fields, no write when nothing changes, deletion", async () => {
  const compose = { map: mapWith("edited", { namespace }), more: mapWith("new", { namespace }) };
  await plane.users.patch({ ...claimType, ...at("left") }, { spec: { compose } }, { type: "merge" });
  await plane.until(
    "it follows",
    configMap,
    at(left.map),
    (map) => (map["data"] as { text: string }).text === "edited",
  );
  const gone = { compose: { map: { data: { text: null, other: "field" } } } };
  await plane.users.patch({ ...claimType, ...at("left") }, { spec: gone }, { type: "merge" });
  await plane.until(
    "a field that is no longer wanted goes, though a plain update wrote it first",
    configMap,
    at(left.map),
    (map) => JSON.stringify(map["data"]) === '{"other":"field"}',
  );
  await eventually("no writes", async () => {
    plane.takeWrites();
    await new Promise((resolve) => setTimeout(resolve, 1000));
    return plane.takeWrites().length === 0;
  });
  await plane.users.delete({ ...claimType, ...at("left") });
  await plane.gone(claimType, at("left"));
  await plane.gone(legacyType, { name: left.xr });
});
