// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import type { Plan, PlannedChange } from "./plan/plan.ts";
import { type Scene, startScene } from "./testing/scene.ts";
import { app, appType } from "./testing/scene-objects.ts";

let scene: Scene;
before(async () => {
  scene = await startScene();
});
after(() => scene[Symbol.asyncDispose]());

const lines = (changes: readonly PlannedChange[]): string[] =>
  changes.map((one) =>
    `${one.class} ${one.kind} ${one.resource ?? one.name} ${one.fields.map(({ path, op }) => `${op} ${path}`).join(", ")}`.trim(),
  );
const all = (plan: Plan): string[] => plan.composites.flatMap(({ changes }) => lines(changes));

test("a new composite resource and what it composes", async () => {
  const plan = await scene.preview({ objects: [app("new", { text: "hello", count: 2 })] });
  assert.deepEqual(plan.errors, []);
  assert.deepEqual(
    plan.composites.flatMap(({ errors }) => errors),
    [],
  );
  assert.deepEqual(all(plan), ["create App new", "create ConfigMap item-1", "create ConfigMap map"]);
  await assert.rejects(scene.users.get(appType, { namespace: "default", name: "new" }), /not found/);
});

test("a changed field of a live composite resource", async () => {
  await scene.apply(app("live", { text: "one" }));
  await scene.settled(app("live", {}));
  const plan = await scene.preview({ objects: [app("live", { text: "two" })] });
  assert.deepEqual(all(plan), ["update App live replace spec.text", "update ConfigMap map replace data.text"]);
  assert.deepEqual(
    plan.composites[0]?.changes.map((one) => one.approximate),
    [[], []],
  );
});
