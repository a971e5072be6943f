// SPDX-License-Identifier: Apache-2.0
// The ways to go: at once, from the inside out, without what was composed; and what must not go, or not yet.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import type { JsonObject } from "@purlin/kube-objects/json";
import type { KubeObject, ObjectKey, TypeRef } from "@purlin/kube-objects/object";
import { conditionOf, eventually } from "../harness/plane.ts";
import { namespaceOf } from "../harness/sample-kinds.ts";
import { stays } from "../harness/stays.ts";
import { watchDeletions } from "./deletions.ts";
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

let plane: ObedientPlane;
before(async () => {
  plane = await startObedientPlane();
});
after(() => plane[Symbol.asyncDispose]());

const remove = (type: TypeRef, key: ObjectKey, propagationPolicy?: "Foreground" | "Orphan"): Promise<unknown> =>
  plane.users.delete({ ...type, ...key }, propagationPolicy && { propagationPolicy });
const hold = (type: TypeRef, key: ObjectKey, finalizers: readonly string[] | null): Promise<unknown> =>
  plane.users.patch({ ...type, ...key }, { metadata: { finalizers: finalizers as never } }, { type: "merge" });
const isLeaving = (object: KubeObject): boolean => Boolean(object.metadata.deletionTimestamp);
const xrNameOf = (claim: KubeObject): string => (claim["spec"] as { resourceRef: { name: string } }).resourceRef.name;

test("in the foreground a composite resource stays until all it composed is gone, and makes nothing again", async () => {
  await plane.apply(boxOf("front", { compose: { a: mapWith("a"), b: mapWith("b") } }));
  const box = await plane.ready(boxType, at("front"));
  const [first = "", second = ""] = composedNames(box);
  await hold(configMap, at(first), ["test/held"]);
  using deletions = await watchDeletions(plane.users, [boxType, configMap]);
  await remove(boxType, at("front"), "Foreground");
  await plane.gone(configMap, at(second));
  await plane.until("held objects are being deleted", configMap, at(first), isLeaving);
  const waiting = await plane.until(
    "it says that it goes",
    boxType,
    at("front"),
    (one) => conditionOf(one, "Ready")?.reason === "Deleting",
  );
  assert.deepEqual(waiting.metadata.finalizers, ["foregroundDeletion"], "ours has nothing to wait for");
  assert.equal(conditionOf(waiting, "Synced")?.status, "True");
  const exist = async (): Promise<readonly boolean[]> => {
    const found = [
      plane.find(boxType, at("front")),
      plane.find(configMap, at(first)),
      plane.find(configMap, at(second)),
    ];
    return (await Promise.all(found)).map((one) => one !== undefined);
  };
  await stays("the box, what is held, and what is gone and not made again", exist, [true, true, false]);
  await hold(configMap, at(first), null);
  await plane.gone(boxType, at("front"));
  await eventually(
    "all deletions were observed",
    async () => deletions.order.length >= 3,
    () => deletions.order.join(),
  );
  assert.deepEqual(deletions.order, [`ConfigMap ${second}`, `ConfigMap ${first}`, "Box front"]);
});

test("in the background a composite resource is gone at once, and what it composed after it", async () => {
  await plane.apply(boxOf("back", { compose: { a: mapWith("a") } }));
  const [name = ""] = composedNames(await plane.ready(boxType, at("back")));
  await hold(configMap, at(name), ["test/held"]);
  await remove(boxType, at("back"));
  await plane.gone(boxType, at("back"));
  await plane.until("it is being deleted", configMap, at(name), isLeaving);
  await hold(configMap, at(name), null);
  await plane.gone(configMap, at(name));
});

test("orphaned resources stay without an owner and can be adopted again", async () => {
  const compose = { a: mapWith("kept", { name: "orphan" }) };
  await plane.apply(boxOf("parent", { compose }));
  await plane.ready(boxType, at("parent"));
  const { uid } = (await plane.get(configMap, at("orphan"))).metadata;
  await remove(boxType, at("parent"), "Orphan");
  await plane.gone(boxType, at("parent"));
  const orphan = async (): Promise<unknown> => {
    const { metadata } = await plane.get(configMap, at("orphan"));
    return [metadata.uid, metadata.ownerReferences ?? []];
  };
  await stays("the orphan", orphan, [uid, []]);
  await plane.apply(boxOf("parent", { compose }));
  const again = await plane.ready(boxType, at("parent"));
  const taken = await plane.get(configMap, at("orphan"));
  assert.equal(taken.metadata.uid, uid, "it was not made again");
  assert.deepEqual(
    taken.metadata.ownerReferences?.map((owner) => owner.uid),
    [again.metadata.uid],
  );
});

test("an undesired resource with a finalizer is no longer referenced, and the composite resource continues without it", async () => {
  await plane.apply(boxOf("sheds", { compose: { kept: mapWith("kept"), shed: mapWith("shed") } }));
  const before = composedNames(await plane.ready(boxType, at("sheds")));
  const named = await Promise.all(before.map((name) => plane.get(configMap, at(name))));
  const shed = named.find((map) => (map["data"] as { text: string }).text === "shed")?.metadata.name ?? "";
  await hold(configMap, at(shed), ["test/held"]);
  const spec = { compose: { shed: null } };
  await plane.users.patch({ ...boxType, ...at("sheds") }, { spec }, { type: "merge" });
  const lingering = await plane.until("it is being deleted", configMap, at(shed), isLeaving);
  assert.equal(lingering.metadata.labels?.["crossplane.io/composite"], undefined);
  const after = await plane.until(
    "it is not referenced",
    boxType,
    at("sheds"),
    (box) => !composedNames(box).includes(shed) && isReady(box),
  );
  assert.equal(composedNames(after).length, 1);
  await hold(configMap, at(shed), null);
  await plane.gone(configMap, at(shed));
});

test("a paused composite resource is not finalized until it is unpaused", async () => {
  await plane.apply(boxOf("paused", { compose: { a: mapWith("a") } }));
  const [name = ""] = composedNames(await plane.ready(boxType, at("paused")));
  const pause = (value: string | null): Promise<unknown> =>
    plane.users.patch(
      { ...boxType, ...at("paused") },
      { metadata: { annotations: { "crossplane.io/paused": value } } },
      { type: "merge" },
    );
  await pause("true");
  await plane.until(
    "it is paused",
    boxType,
    at("paused"),
    (box) => conditionOf(box, "Synced")?.reason === "ReconcilePaused",
  );
  await remove(boxType, at("paused"));
  const held = async (): Promise<unknown> => {
    const { finalizers } = (await plane.get(boxType, at("paused"))).metadata;
    return [finalizers, (await plane.find(configMap, at(name))) !== undefined];
  };
  await stays("its finalizer and what it composed", held, [["composite.apiextensions.crossplane.io"], true]);
  await pause(null);
  await plane.gone(boxType, at("paused"));
  await plane.gone(configMap, at(name));
});

test("a composite resource goes although its function and its composition are wrong", async () => {
  const compose = { a: mapWith("a") };
  await plane.apply(boxOf("broken", { compose }));
  const [name = ""] = composedNames(await plane.ready(boxType, at("broken")));
  await plane.apply(boxOf("broken", { compose, fatal: "never again" }));
  await plane.until("it fails", boxType, at("broken"), (box) => conditionOf(box, "Synced")?.status === "False");
  await remove(boxType, at("broken"));
  await plane.gone(boxType, at("broken"));
  await plane.gone(configMap, at(name));
});

test("with compositeDeletePolicy Foreground: first the composed resources, then the composite resource, then the claim", async () => {
  const compose = { a: mapWith("a", { namespace }) };
  await plane.apply(claimOf("ordered", { compose, compositeDeletePolicy: "Foreground" }));
  const xr = xrNameOf(await plane.ready(claimType, at("ordered")));
  const [map = ""] = composedNames(await plane.get(legacyType, { name: xr }));
  using deletions = await watchDeletions(plane.users, [claimType, legacyType, configMap]);
  await remove(claimType, at("ordered"));
  await plane.gone(claimType, at("ordered"));
  await eventually(
    "all deletions were observed",
    async () => deletions.order.length >= 3,
    () => deletions.order.join(),
  );
  assert.deepEqual(deletions.order, [`ConfigMap ${map}`, `XCase ${xr}`, "Case ordered"]);
});

test("with compositeDeletePolicy Background the claim does not wait, also for a foreground deletion", async () => {
  const compose = { a: mapWith("a", { namespace }) };
  await plane.apply(claimOf("hasty", { compose }));
  const xr = xrNameOf(await plane.ready(claimType, at("hasty")));
  const [map = ""] = composedNames(await plane.get(legacyType, { name: xr }));
  await hold(configMap, at(map), ["test/held"]);
  // A claim owns its composite resource by reference, not as Kubernetes has it: there is nothing to wait for.
  await remove(claimType, at("hasty"), "Foreground");
  await plane.gone(claimType, at("hasty"));
  await plane.gone(legacyType, { name: xr });
  await plane.until("composed resources are being deleted", configMap, at(map), isLeaving);
  await hold(configMap, at(map), null);
  await plane.gone(configMap, at(map));
});

test("one inside another, in the foreground: from the inside out", async () => {
  const inner = { ...boxType, spec: { compose: { a: mapWith("innermost") } } };
  const spec = { compose: { inner: { ...inner, metadata: { namespace, name: "inner" } } } };
  await plane.apply({ ...crateType, metadata: { name: "outer" }, spec } as unknown as KubeObject);
  await plane.ready(crateType, { name: "outer" });
  const [map = ""] = composedNames(await plane.ready(boxType, at("inner")));
  assert.match(map, /^outer-/, "named after the root");
  using deletions = await watchDeletions(plane.users, [crateType, boxType, configMap]);
  await remove(crateType, { name: "outer" }, "Foreground");
  await plane.gone(crateType, { name: "outer" });
  await eventually(
    "all deletions were observed",
    async () => deletions.order.length >= 3,
    () => deletions.order.join(),
  );
  assert.deepEqual(deletions.order, [`ConfigMap ${map}`, "Box inner", "Crate outer"]);
});

test("a namespace that is being deleted: the composite resource says which and why, and recovers when it is back", async () => {
  const doomed = "doomed";
  const namespaces = { apiVersion: "v1", kind: "Namespace" };
  await plane.apply(namespaceOf(doomed), {
    ...configMap,
    metadata: { namespace: doomed, name: "holds", finalizers: ["test/held"] },
  } as KubeObject);
  await plane.users.delete({ ...namespaces, name: doomed });
  await plane.until("it is on its way out", namespaces, { name: doomed }, isLeaving);
  const spec: Orders = { compose: { map: mapWith("x", { namespace: doomed }) as JsonObject } };
  await plane.apply({ ...crateType, metadata: { name: "misplaced" }, spec } as unknown as KubeObject);
  const failing = await plane.until(
    "it says so",
    crateType,
    { name: "misplaced" },
    (crate) => conditionOf(crate, "Synced")?.status === "False",
  );
  assert.match(
    conditionOf(failing, "Synced")?.message ?? "",
    /^cannot compose resources: cannot apply composed resource "map": .*namespace doomed because it is being terminated/,
  );
  await hold(configMap, { namespace: doomed, name: "holds" }, null);
  await plane.gone(namespaces, { name: doomed });
  await plane.apply(namespaceOf(doomed));
  await plane.ready(crateType, { name: "misplaced" });
});
