// SPDX-License-Identifier: Apache-2.0

import assert from "node:assert/strict";
import { test } from "node:test";
import { forEachLimited } from "@purlin/base";
import type { KubeObject, ManagedFieldsEntry } from "@purlin/kube-objects/object";
import { managedFieldsUpgrade } from "../../composite-resource/crossplane-fields.ts";
import type { Observed } from "../observe/observe.ts";
import { garbageOf, isComposedManager, referencesTo } from "./apply-composed.ts";

const object = (apiVersion: string, kind: string, name: string, namespace?: string): KubeObject => ({
  apiVersion,
  kind,
  metadata: { name, ...(namespace && { namespace }) },
});
const xr = (namespace?: string): KubeObject => object("e/v1", "App", "x", namespace);

test("references are in the order of type, name and namespace, whatever the order of resources", () => {
  const objects = [
    object("v1", "B", "b", "n2"),
    object("v1", "B", "b", "n1"),
    object("apps/v1", "Z", "z"),
    object("v1", "A", "z"),
  ];
  const want = [
    { apiVersion: "apps/v1", kind: "Z", name: "z" },
    { apiVersion: "v1", kind: "A", name: "z" },
    { apiVersion: "v1", kind: "B", name: "b", namespace: "n1" },
    { apiVersion: "v1", kind: "B", name: "b", namespace: "n2" },
  ];
  assert.deepEqual(referencesTo(objects, xr()), want);
  assert.deepEqual(referencesTo(objects.toReversed(), xr()), want);
});

test("references of a namespaced XR name no namespace", () => {
  const refs = referencesTo([object("v1", "A", "a", "ns")], xr("ns"));
  assert.deepEqual(refs, [{ apiVersion: "v1", kind: "A", name: "a" }]);
});

const ours = "apiextensions.crossplane.io/composed/abc";
const lock = { op: "replace", path: "/metadata/resourceVersion", value: "7" };

const upgrades: Readonly<Record<string, { reason: string; managers: string[]; created?: null; want: unknown }>> = {
  Ours: { reason: "nothing is left to do", managers: ["kubectl", ours], want: undefined },
  AnyOfOurs: {
    reason: "whichever XR it is of",
    managers: ["apiextensions.crossplane.io/composed/zzz"],
    want: undefined,
  },
  NotOurs: {
    reason: "owned by updates so far",
    managers: ["kubectl"],
    want: [{ op: "replace", path: "/metadata/managedFields", value: [{}] }, lock],
  },
  Claims: {
    reason: "the claim's manager is another",
    managers: ["apiextensions.crossplane.io/claim"],
    want: [{ op: "replace", path: "/metadata/managedFields", value: [{}] }, lock],
  },
  Leftover: {
    reason: "the leftover of the first apply goes",
    managers: [ours, "before-first-apply"],
    want: [{ op: "remove", path: "/metadata/managedFields/1" }, lock],
  },
  NeverStored: { reason: "it does not exist", managers: [], created: null, want: undefined },
};

for (const [name, { reason, managers, created, want }] of Object.entries(upgrades)) {
  test(`upgrade of field ownership, ${name}: ${reason}`, () => {
    const managedFields: ManagedFieldsEntry[] = managers.map((manager) => ({ manager }));
    const creationTimestamp = created === null ? null : "2026-01-01T00:00:00Z";
    const existing = {
      apiVersion: "v1",
      kind: "A",
      metadata: { resourceVersion: "7", creationTimestamp, managedFields },
    };
    assert.deepEqual(managedFieldsUpgrade(existing, isComposedManager), want);
  });
}

function observed(owner: { uid: string; controller?: boolean } | undefined): Observed {
  const ownerReferences = owner && [{ apiVersion: "e/v1", kind: "App", name: "y", ...owner }];
  const cd = { apiVersion: "v1", kind: "A", metadata: { name: "a", ...(ownerReferences && { ownerReferences }) } };
  const composite = { object: { ...xr(), metadata: { name: "x", uid: "me" } }, connectionDetails: new Map() };
  return { composite, resources: new Map([["a", { object: cd, connectionDetails: new Map() }]]) };
}

test("observed, not desired and ours is garbage; desired is not", () => {
  const mine = observed({ uid: "me", controller: true });
  assert.deepEqual(
    garbageOf(mine, new Set()).map(({ name }) => name),
    ["a"],
  );
  assert.deepEqual(garbageOf(mine, new Set(["a"])), []);
});

test("a resource without a controller is never deleted", () => {
  assert.deepEqual(garbageOf(observed(undefined), new Set()), []);
  assert.deepEqual(garbageOf(observed({ uid: "me" }), new Set()), []);
});

test("a resource that another owner controls is refused", () => {
  assert.throws(() => garbageOf(observed({ uid: "other", controller: true }), new Set()), {
    message: 'refusing to delete composed resource "a" that is controlled by App "y"',
  });
});

test("a few at a time, and nothing is begun after a failure", async () => {
  const begun: number[] = [];
  let running = 0;
  let most = 0;
  const work = forEachLimited([0, 1, 2, 3, 4, 5, 6, 7, 8, 9], 3, async (item) => {
    begun.push(item);
    most = Math.max(most, ++running);
    await new Promise((resolve) => setImmediate(resolve));
    running--;
    if (item === 4 || item === 3) throw new Error(`no ${item}`);
  });
  await assert.rejects(work, { message: "no 3" });
  assert.equal(most, 3);
  assert.ok(begun.length < 8, String(begun));
  assert.equal(running, 0);
});

test("nothing to do is done", async () => {
  await forEachLimited([], 3, () => assert.fail("there is no item"));
});
