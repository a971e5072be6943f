// SPDX-License-Identifier: Apache-2.0
// Objects that were there before: taken in, left alone or refused, by name, by reference and by annotation. And names that
// functions change their minds about.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import type { JsonObject } from "@purlin/kube-objects/json";
import type { KubeObject } from "@purlin/kube-objects/object";
import { conditionOf, eventually, type Plane } from "../harness/plane.ts";
import { rendersAsApplied } from "../harness/rendered.ts";
import {
  at,
  boxOf,
  boxType,
  claimType,
  composedNames,
  configMap,
  isReady,
  legacyType,
  mapWith,
  namespace,
  type Orders,
  startObedientPlane,
} from "./obedient-plane.ts";

const resourceName = "crossplane.io/composition-resource-name";

let plane: Plane;
before(async () => {
  plane = await startObedientPlane();
});
after(() => plane[Symbol.asyncDispose]());

const existing = (name: string, data: JsonObject, metadata: JsonObject = {}): Promise<KubeObject> =>
  plane.users.create({ ...configMap, metadata: { namespace, name, ...metadata }, data } as KubeObject);
const readyBox = (name: string): Promise<KubeObject> =>
  plane.until(`${name} is ready`, boxType, at(name), (box) => isReady(box) && isCurrent(box));
/** Whether what it says is about its spec as it is now. */
function isCurrent({ metadata, ...object }: KubeObject): boolean {
  const { conditions = [] } = object["status"] as { conditions?: { observedGeneration?: number }[] };
  return conditions.some(({ observedGeneration }) => observedGeneration === metadata.generation);
}
const order = async (name: string, spec: Orders): Promise<KubeObject> => {
  await plane.users.patch({ ...boxType, ...at(name) }, { spec: spec as unknown as JsonObject }, { type: "merge" });
  return readyBox(name);
};
const dataOf = async (name: string): Promise<unknown> => (await plane.get(configMap, at(name)))["data"];

test("an object without a controller is adopted by its name: fields of others stay, and it is composed from then on", async () => {
  const found = await existing("by-name", { theirs: "kept", text: "old" });
  await plane.apply(boxOf("adopts", { compose: { map: mapWith("new", { name: "by-name" }) } }));
  const box = await readyBox("adopts");
  const adopted = await plane.get(configMap, at("by-name"));
  assert.equal(adopted.metadata.uid, found.metadata.uid, "it is the same object");
  assert.deepEqual(adopted["data"], { theirs: "kept", text: "new" });
  assert.equal(adopted.metadata.ownerReferences?.[0]?.uid, box.metadata.uid);
  assert.equal(adopted.metadata.ownerReferences?.[0]?.controller, true);
  assert.equal(adopted.metadata.annotations?.[resourceName], "map");
  assert.deepEqual(composedNames(box), ["by-name"]);
  await rendersAsApplied(plane.users, boxType, at("adopts"));
  await order("adopts", { compose: { map: null as unknown as JsonObject } });
  await plane.gone(configMap, at("by-name"));
});

test("an object that is referred to and annotated is taken in under the name it has, whatever the function calls it", async () => {
  const found = await existing("by-reference", { text: "old" }, { annotations: { [resourceName]: "map" } });
  const refs = { crossplane: { resourceRefs: [{ ...configMap, name: "by-reference" }] } };
  await plane.apply(boxOf("refers", { compose: { map: mapWith("new", { name: "other" }) }, ...refs } as Orders));
  const box = await readyBox("refers");
  assert.deepEqual(composedNames(box), ["by-reference"]);
  const adopted = await plane.get(configMap, at("by-reference"));
  assert.equal(adopted.metadata.uid, found.metadata.uid);
  assert.deepEqual(adopted["data"], { text: "new" });
  assert.equal(adopted.metadata.ownerReferences?.[0]?.uid, box.metadata.uid);
  assert.equal(await plane.find(configMap, at("other")), undefined);
});

test("a forged reference deletes nothing: objects without a controller are not composed resources", async () => {
  await existing("precious", { text: "keep" }, { annotations: { [resourceName]: "unwanted" } });
  const refs = { crossplane: { resourceRefs: [{ ...configMap, name: "precious" }] } };
  await plane.apply(boxOf("forger", { compose: { map: mapWith("mine") }, ...refs } as Orders));
  const box = await readyBox("forger");
  assert.ok(!composedNames(box).includes("precious"), "it is no longer referenced");
  assert.deepEqual(await dataOf("precious"), { text: "keep" });
});

test("a referenced object without the annotation is named with advice, and adopted once annotated", async () => {
  await existing("unmarked", { text: "old" });
  const refs = { crossplane: { resourceRefs: [{ ...configMap, name: "unmarked" }] } };
  await plane.apply(boxOf("puzzled", { compose: { map: mapWith("new") }, ...refs } as Orders));
  const failing = await plane.until(
    "it says so",
    boxType,
    at("puzzled"),
    (box) => conditionOf(box, "Synced")?.status === "False",
  );
  const text =
    /without required "crossplane\.io\/composition-resource-name" annotation \(a ConfigMap named unmarked\): annotate/;
  assert.match(conditionOf(failing, "Synced")?.message ?? "", text);
  const patch = { metadata: { annotations: { [resourceName]: "map" } } };
  await plane.users.patch({ ...configMap, ...at("unmarked") }, patch, { type: "merge" });
  await readyBox("puzzled");
  assert.deepEqual(await dataOf("unmarked"), { text: "new" });
});

test("a function that changes the name of an existing resource is ignored", async () => {
  await plane.apply(boxOf("stable", { compose: { map: mapWith("1", { name: "first-name" }) } }));
  await readyBox("stable");
  const { uid } = (await plane.get(configMap, at("first-name"))).metadata;
  const box = await order("stable", { compose: { map: mapWith("2", { name: "second-name" }) } });
  assert.deepEqual(composedNames(box), ["first-name"]);
  const kept = await plane.get(configMap, at("first-name"));
  assert.equal(kept.metadata.uid, uid);
  assert.deepEqual(kept["data"], { text: "2" });
  assert.equal(await plane.find(configMap, at("second-name")), undefined);
  await rendersAsApplied(plane.users, boxType, at("stable"));
});

test("another name in the pipeline is another resource: the new one is made, the old one deleted", async () => {
  await plane.apply(boxOf("renames", { compose: { before: mapWith("x") } }));
  const [old = ""] = composedNames(await readyBox("renames"));
  const compose = { before: null as unknown as JsonObject, after: mapWith("x") };
  const [made = ""] = composedNames(await order("renames", { compose }));
  assert.notEqual(made, old);
  await plane.gone(configMap, at(old));
  assert.deepEqual(await dataOf(made), { text: "x" });
});

test("a name that moves to another resource of the pipeline is free only when its first holder is gone", async () => {
  await plane.apply(boxOf("hands-over", { compose: { before: mapWith("x", { name: "shared-name" }) } }));
  await readyBox("hands-over");
  const { uid } = (await plane.get(configMap, at("shared-name"))).metadata;
  const compose = { before: null as unknown as JsonObject, after: mapWith("y", { name: "shared-name" }) };
  await order("hands-over", { compose });
  await eventually("another object has the name", async () => {
    const found = await plane.find(configMap, at("shared-name"));
    return found !== undefined && found.metadata.uid !== uid && (found["data"] as { text: string }).text === "y";
  });
  await readyBox("hands-over");
});

test("a kind that changes under one name in the pipeline makes an object of the other kind", async () => {
  await plane.apply(boxOf("transforms", { compose: { it: mapWith("x", { name: "it" }) } }));
  await readyBox("transforms");
  const secret = { apiVersion: "v1", kind: "Secret", metadata: { name: "it" }, stringData: null, data: null };
  await order("transforms", { compose: { it: { ...secret, data: { text: "eA==" } } as unknown as JsonObject } });
  const made = await plane.get({ apiVersion: "v1", kind: "Secret" }, at("it"));
  assert.deepEqual(made["data"], { text: "eA==" });
});

test("a composed resource that a user deletes is created again under its name", async () => {
  await plane.apply(boxOf("restores", { compose: { map: mapWith("x") } }));
  const [name = ""] = composedNames(await readyBox("restores"));
  const { uid } = (await plane.get(configMap, at(name))).metadata;
  await plane.users.delete({ ...configMap, ...at(name) });
  await plane.until("there is another", configMap, at(name), (map) => map.metadata.uid !== uid);
  assert.deepEqual(composedNames(await readyBox("restores")), [name]);
});

test("a claim adopts an existing composite resource with its composed resources", async () => {
  const spec = { compose: { map: mapWith("before", { namespace }) } };
  await plane.apply({ ...legacyType, metadata: { name: "pre-made" }, spec } as unknown as KubeObject);
  const xr = await plane.until("it is ready", legacyType, { name: "pre-made" }, isReady);
  const [name = ""] = composedNames(xr);
  const { uid } = (await plane.get(configMap, at(name))).metadata;
  const claimed = {
    compose: { map: mapWith("after", { namespace }) },
    resourceRef: { ...legacyType, name: "pre-made" },
  };
  await plane.apply({ ...claimType, metadata: at("binds"), spec: claimed } as unknown as KubeObject);
  await plane.until("the claim is ready", claimType, at("binds"), isReady);
  const map = await plane.until(
    "what it composed follows the claim",
    configMap,
    at(name),
    (one) => (one["data"] as { text: string }).text === "after",
  );
  assert.equal(map.metadata.uid, uid, "it is the same object");
  const bound = await plane.until(
    "it says whose it is",
    configMap,
    at(name),
    (one) => one.metadata.labels?.["crossplane.io/claim-name"] === "binds",
  );
  assert.equal(bound.metadata.labels?.["crossplane.io/claim-namespace"], namespace);
  const stored = await plane.get(legacyType, { name: "pre-made" });
  assert.equal(stored.metadata.uid, xr.metadata.uid);
  await eventually("one event says so", async () => {
    const events = await plane.events(await plane.get(claimType, at("binds")));
    return events.filter((text) => text.includes("Successfully bound composite resource")).length === 1;
  });
  await rendersAsApplied(plane.users, legacyType, { name: "pre-made" });
});
