// SPDX-License-Identifier: Apache-2.0
// Deletions that the guard of the embedded API server refuses.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { eventually } from "@purlin/kube-controller/testing";
import { type KubeObject, keyOf, type TypeRef } from "@purlin/kube-objects/object";
import { type Scene, startScene } from "../test/scene.ts";
import { app, appType } from "../test/scene-objects.ts";
import type { Plan } from "./plan/plan.ts";

let scene: Scene;
before(async () => {
  scene = await startScene();
});
after(() => scene[Symbol.asyncDispose]());

const all = (plan: Plan): string[] =>
  plan.composites.flatMap(({ changes }) =>
    changes.map(({ class: change, kind, resource, name }) => `${change} ${kind} ${resource ?? name}`),
  );

test("an object that only a Usage of its own composite resource protects is deleted with both, also if that was refused before", async () => {
  const whole = app("whole", { text: "one", kind: "Usage" });
  await scene.apply(whole);
  await scene.settled(whole);
  const key = { ...appType, namespace: "default", name: "whole" };
  const maps = { apiVersion: "v1", kind: "ConfigMap" };
  const labelSelector = "crossplane.io/composite=whole";
  const child = await eventually("the ConfigMap is in use", async () => {
    const [found] = (await scene.users.list(maps, { labelSelector })).items;
    return found?.metadata.labels?.["crossplane.io/in-use"] === "true" && found;
  });
  const deleted = ["delete App whole", "delete ConfigMap map", "delete Usage usage"];
  const before = await scene.preview({ deletes: [key] });
  assert.deepEqual(all(before).toSorted(), deleted);
  await assert.rejects(scene.users.delete({ ...maps, ...keyOf(child) }), /in-use by 1 usage/);
  const after = await scene.preview({ deletes: [key] });
  assert.deepEqual(all(after).toSorted(), deleted);
  await scene.users.delete(key);
  await eventually(
    "the server does so",
    async () => (await scene.users.list(maps, { labelSelector })).items.length === 0,
  );
});

test("a deletion that a Usage refuses is refused with its words, of a composite resource and of what it composes", async () => {
  const spec = (of: object): object => ({ of, reason: "billing reads it" });
  const usageOf = (name: string, type: TypeRef, used: string): KubeObject =>
    ({
      apiVersion: "protection.crossplane.io/v1beta1",
      kind: "Usage",
      metadata: { name, namespace: "default" },
      spec: spec({ apiVersion: type.apiVersion, kind: type.kind, resourceRef: { name: used } }),
    }) as KubeObject;
  const used = app("used", { text: "one" });
  await scene.apply(used);
  await scene.settled(used);
  const key = { ...appType, namespace: "default", name: "used" };
  const maps = { apiVersion: "v1", kind: "ConfigMap" };
  const { items } = await scene.users.list(maps, { labelSelector: "crossplane.io/composite=used" });
  const child = items[0]?.metadata.name ?? "";
  const refused = /denied the request: This resource is in-use by 1 usage\(s\), .* with reason: "billing reads it"\.$/;
  const usages = { own: usageOf("own", appType, "used"), below: usageOf("below", maps, child) };
  await scene.apply(usages.below);
  const below = await scene.preview({ deletes: [key] });
  assert.deepEqual(all(below), ["delete App used", "refused ConfigMap map"]);
  const map = below.composites[0]?.changes.find(({ kind }) => kind === "ConfigMap");
  assert.match(map?.refusal?.text ?? "", refused);
  await scene.apply(usages.own);
  const own = await scene.preview({ deletes: [key] });
  assert.deepEqual(all(own), ["refused App used"]);
  assert.match(own.composites[0]?.changes[0]?.refusal?.text ?? "", refused);
  const found = await scene.users.get(maps, { namespace: "default", name: child });
  assert.equal(found.metadata.annotations?.["usage.crossplane.io/deletion-attempt-with-policy"], undefined);
  for (const { apiVersion, kind, metadata } of Object.values(usages)) {
    await scene.users.delete({ apiVersion, kind, namespace: "default", name: metadata.name ?? "" });
  }
});
