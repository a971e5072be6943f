// SPDX-License-Identifier: Apache-2.0
// Changes that would delete composed resources: held, approved, and avoided by a declared move.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { isNotFound } from "@purlin/kube-objects/errors";
import type { JsonObject } from "@purlin/kube-objects/json";
import type { KubeObject } from "@purlin/kube-objects/object";
import { conditionOf, type Plane } from "../harness/plane.ts";
import { compositionOf } from "../harness/sample-kinds.ts";
import {
  at,
  boxOf,
  boxType,
  composedNames,
  configMap,
  isReady,
  mapWith,
  platform,
  startObedientPlane,
} from "./obedient-plane.ts";

const resourceName = "crossplane.io/composition-resource-name";

let plane: Plane;
before(async () => {
  plane = await startObedientPlane();
  const definition = platform.find(
    ({ kind, metadata }) => kind.endsWith("Definition") && /^box/.test(metadata.name ?? ""),
  );
  const { apiVersion, kind, metadata } = definition ?? assert.fail("no definition of boxes");
  // Here an empty desired state is held, as by default.
  const annotations = { "purlin.dev/hold-empty": null };
  await plane.users.patch(
    { apiVersion, kind, name: metadata.name ?? "" },
    { metadata: { annotations } },
    { type: "merge" },
  );
  await guarded("guarded", { "purlin.dev/max-deletes": "0" });
  const moved = JSON.stringify([{ from: "old", to: "new" }]);
  await guarded("moving", { "purlin.dev/max-deletes": "0", "purlin.dev/moved": moved });
  await guarded("bare", {});
  const composition = compositionOf("stepped", boxType, "obey");
  const { pipeline } = composition["spec"] as { pipeline: readonly JsonObject[] };
  const steps = pipeline.map((step) => ({ ...step, moved: [{ from: "old", to: "new" }] }));
  await plane.apply({ ...composition, spec: { ...(composition["spec"] as JsonObject), pipeline: steps } });
});
after(() => plane[Symbol.asyncDispose]());

const guarded = (name: string, annotations: Record<string, string>): Promise<unknown> =>
  plane.apply({ ...compositionOf(name, boxType, "obey"), metadata: { name, annotations } });

async function box(name: string, composition: string, compose: Record<string, JsonObject>): Promise<KubeObject> {
  const { spec, ...rest } = boxOf(name, { compose });
  const crossplane = { compositionRef: { name: composition } };
  await plane.apply({ ...rest, spec: { ...(spec as JsonObject), crossplane } });
  return plane.until(`${name} is ready`, boxType, at(name), isReady);
}

const merge = (name: string, patch: JsonObject): Promise<KubeObject> =>
  plane.users.patch({ ...boxType, ...at(name) }, patch, { type: "merge" });
const held = (name: string): Promise<KubeObject> =>
  plane.until(`${name} is held`, boxType, at(name), (one) => conditionOf(one, "Held")?.status === "True");
const mapOf = (one: KubeObject): Promise<KubeObject> => plane.get(configMap, at(composedNames(one)[0] ?? ""));
const gone = { old: null as unknown as JsonObject };

test("a renamed resource holds the composite resource, and is replaced when the plan is approved", async () => {
  const before = await mapOf(await box("renamed", "guarded", { old: mapWith("1") }));
  await merge("renamed", { spec: { compose: { ...gone, new: mapWith("2") } } });
  const stopped = await held("renamed");
  assert.equal((await mapOf(stopped)).metadata.uid, before.metadata.uid);
  assert.deepEqual(conditionOf(stopped, "Synced")?.reason, "Held");
  const hash = /to apply plan (\w+)$/.exec(conditionOf(stopped, "Held")?.message ?? "")?.[1] ?? "";
  await merge("renamed", { metadata: { annotations: { "purlin.dev/approve-plan": "0000000000000000" } } });
  await plane.until("a wrong approval is refused", boxType, at("renamed"), (one) =>
    (conditionOf(one, "Held")?.message ?? "").includes("the approval 0000000000000000 is stale"),
  );
  await merge("renamed", { metadata: { annotations: { "purlin.dev/approve-plan": hash } } });
  const done = await plane.until("it continues", boxType, at("renamed"), (one) => isReady(one));
  assert.equal(annotationsOf(await mapOf(done))[resourceName], "new");
  await assert.rejects(plane.users.get(configMap, at(before.metadata.name ?? "")), isNotFound);
  assert.equal(annotationsOf(done)["purlin.dev/approve-plan"], undefined);
});

for (const [composition, where] of [
  ["moving", "by annotation"],
  ["stepped", "on a step"],
] as const) {
  test(`a move that is declared ${where} keeps the object`, async () => {
    const before = await mapOf(await box(composition, composition, { old: mapWith("1") }));
    await merge(composition, { spec: { compose: { ...gone, new: mapWith("2") } } });
    const after = await plane.until("it is renamed", configMap, at(before.metadata.name ?? ""), (one) => {
      return annotationsOf(one)[resourceName] === "new";
    });
    assert.deepEqual([after.metadata.uid, after["data"]], [before.metadata.uid, { text: "2" }]);
  });
}

test("a function that returns nothing deletes nothing, without any policy", async () => {
  const before = await mapOf(await box("emptied", "bare", { old: mapWith("1") }));
  await merge("emptied", { spec: { compose: gone } });
  const stopped = await held("emptied");
  assert.equal(conditionOf(stopped, "Held")?.reason, "EmptyDesiredState");
  assert.equal((await mapOf(stopped)).metadata.uid, before.metadata.uid);
  await plane.users.delete({ ...boxType, ...at("emptied") });
  await plane.gone(configMap, at(before.metadata.name ?? ""));
});

function annotationsOf({ metadata }: KubeObject): Readonly<Record<string, string>> {
  return metadata.annotations ?? {};
}
