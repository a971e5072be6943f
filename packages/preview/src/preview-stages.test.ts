// SPDX-License-Identifier: Apache-2.0
// Functions that compose in stages: what is withheld until something is ready, and what never comes to rest.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { eventually } from "@purlin/kube-controller/testing";
import type { JsonObject } from "@purlin/kube-objects/json";
import { annotationOf, type KubeObject } from "@purlin/kube-objects/object";
import { type Scene, startScene } from "../test/scene.ts";
import { app } from "../test/scene-objects.ts";
import type { Plan } from "./plan/plan.ts";

let scene: Scene;
before(async () => {
  scene = await startScene();
});
after(() => scene[Symbol.asyncDispose]());

const widget = { apiVersion: "things.example.org/v1", kind: "Widget" };
const configMap = { apiVersion: "v1", kind: "ConfigMap" };
const lines = (plan: Plan): string[] =>
  plan.composites.flatMap(({ changes }) => changes.map((one) => `${one.class} ${one.resource ?? one.name}`)).sort();
const errors = (plan: Plan): string[] => plan.composites.flatMap((one) => one.errors.map(({ text }) => text));

async function live(name: string, spec: JsonObject): Promise<void> {
  await scene.apply(app(name, spec));
  await scene.settled(app(name, spec));
}

async function composed(type: typeof widget, xr: string, resource: string): Promise<KubeObject | undefined> {
  const { items } = await scene.users.list(type, { labelSelector: `crossplane.io/composite=${xr}` });
  return items.find((one) => annotationOf(one, "crossplane.io/composition-resource-name") === resource);
}

test("later stages of a new composite resource are in the plan, with what they wait for", async () => {
  const objects = [app("sequence", { text: "one", gate: true })];
  const plan = await scene.preview({ objects });
  assert.deepEqual([lines(plan), errors(plan)], [["create gate", "create late", "create map", "create sequence"], []]);
  const late = plan.composites.flatMap(({ changes }) => changes).find(({ resource }) => resource === "late");
  assert.equal(late?.after, "composed resources are ready");
  const without = await scene.preview({ objects, assume: undefined });
  assert.deepEqual(lines(without), ["create gate", "create map", "create sequence"]);
});

test("a change of a composite resource whose first stage is not ready removes nothing", async () => {
  await live("waits", { text: "one", gate: true });
  const objects = [app("waits", { text: "two", gate: true })];
  assert.deepEqual(lines(await scene.preview({ objects })), ["create late", "update map", "update waits"]);
  assert.deepEqual(lines(await scene.preview({ objects, assume: undefined })), ["update map", "update waits"]);
});

test("a change of a composite resource whose stages are all there changes them, with and without assumptions", async () => {
  await live("staged", { text: "one", gate: true });
  const gate = await composed(widget, "staged", "gate");
  const lastTransitionTime = "2026-01-01T00:00:00Z";
  const status = { conditions: [{ type: "Ready", status: "True", reason: "Available", lastTransitionTime }] };
  await scene.users.update({ ...gate, status } as KubeObject, { subresource: "status" });
  await eventually("the later stage is composed", () => composed(configMap, "staged", "late"));
  await scene.settled(app("staged", {}));
  const objects = [app("staged", { text: "two", gate: true })];
  for (const assume of [[], undefined]) {
    const plan = await scene.preview({ objects, assume });
    assert.deepEqual([lines(plan), errors(plan)], [["update late", "update map", "update staged"], []]);
  }
});

test("a composite resource that never settles is an error that names the field and its last two values", async () => {
  const plan = await scene.preview({ objects: [app("counts", { text: "one", kind: "Count" })], maxRounds: 7 });
  assert.match(
    errors(plan).join("\n"),
    /^did not settle after 7 rounds; still changing: ConfigMap\/default\/counts-\w+ data\.n: "\d" -> "\d"$/,
  );
});

test("of a Secret that changes in every round the key is named, and no value", async () => {
  const plan = await scene.preview({ objects: [app("rotates", { text: "one", kind: "Rotate" })], maxRounds: 7 });
  assert.match(
    errors(plan).join("\n"),
    /^did not settle after 7 rounds; still changing: Secret\/default\/rotates-\w+ data\.password \(sensitive\)$/,
  );
  assert.doesNotMatch(JSON.stringify(plan), /rotated-/);
});
