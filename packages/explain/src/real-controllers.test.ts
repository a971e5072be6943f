// SPDX-License-Identifier: Apache-2.0
// Broken set-ups of real controllers: the first cause is the one that was built in.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { eventually } from "@purlin/kube-controller/testing";
import { type KubeObject, keyOf, keyText } from "@purlin/kube-objects/object";
import {
  composedSetups,
  namespace,
  setupDefinitions,
  setupObjects,
  takeConfigMap,
  xr,
} from "../test/composed-setups.ts";
import { compositionOf, doing, type Platform, startPlatform } from "../test/platform.ts";
import { explainAll, explainObject } from "./explain.ts";
import type { Explanation } from "./model/explanation.ts";
import { explanationText, groupByCause } from "./print-explanation.ts";

let platform: Platform;

before(async () => {
  platform = await startPlatform();
  await platform.apply(...setupDefinitions);
  await takeConfigMap(platform);
});
after(() => platform[Symbol.asyncDispose]());

async function explain(object: KubeObject, now = Date.now): Promise<Explanation> {
  const stored = await platform.users.get(object, keyOf(object));
  return explainObject(stored, { client: platform.users, now });
}

for (const [title, setup] of Object.entries(composedSetups)) {
  const { code, says, kind = "App", object } = setup;
  test(`${code}: ${title}`, async () => {
    const objects = setupObjects(title, setup);
    const composite = objects.at(-1) ?? assert.fail();
    await platform.apply(...objects);
    await platform.until(composite, "Synced", "False");
    // Events are written a moment after conditions.
    const explanation = await eventually(`an explanation as ${says}`, async () => {
      const found = await explain(composite);
      const sentence = found.causes[0]?.sentence ?? "no event";
      return (says.test(sentence) || !sentence.includes("no event")) && found;
    });
    const [cause] = explanation.causes;
    assert.equal(cause?.code, code, explanationText(explanation));
    assert.match(cause?.sentence ?? "", says);
    assert.equal(cause?.object.kind, object ?? kind);
    assert.equal(explanation.verdict, "broken");
    assert.ok(cause?.next.length, "says what to do");
    assert.equal(cause?.effects[0], `${kind} ${keyText(keyOf(composite))}`);
  });
}

test("E08: a paused composite resource", async () => {
  const composite = xr("App", "paused");
  await platform.apply({
    ...composite,
    metadata: { ...composite.metadata, annotations: { "crossplane.io/paused": "true" } },
  });
  const { causes } = await explain(composite);
  assert.deepEqual([causes.length, causes[0]?.code], [1, "E08"]);
  assert.match(causes[0]?.next[0] ?? "", /annotate app\.example\.org\/paused -n default crossplane\.io\/paused-/);
});

test("a claim's cause is that of its composite resource, with the whole chain", async () => {
  const claim = {
    apiVersion: "example.org/v1",
    kind: "Shop",
    metadata: { name: "shop", namespace },
    spec: { compositionRef: { name: "shop" } },
  };
  await platform.apply(compositionOf("shop", "XShop", doing("fatal")), claim);
  const bound = await platform.until(claim, "Synced", "True");
  const ref = (bound["spec"] as { readonly resourceRef: { readonly name: string } }).resourceRef;
  // Before its function fails, it may wait for the revision of the Composition.
  const { causes } = await eventually("the claim is broken", async () => {
    const found = await explain(claim);
    return found.verdict === "broken" && found;
  });
  assert.deepEqual(
    causes.map(({ code }) => code),
    ["E29"],
  );
  assert.deepEqual(causes[0]?.effects, ["Shop default/shop", `XShop ${ref.name}`, 'step "render"']);
});

test("a healthy object is healthy, and one that waits is not broken", async () => {
  const ready = xr("App", "ready", { compositionRef: { name: "ready" } });
  const waits = xr("App", "waits", { compositionRef: { name: "waits" } });
  await platform.apply(
    compositionOf("ready", "App", doing("compose")),
    compositionOf("waits", "App", doing("waiting")),
    ready,
    waits,
  );
  await platform.until(ready, "Ready", "True");
  await platform.until(waits, "Ready", "False");
  const healthy = await explain(ready);
  assert.equal(explanationText(healthy), "App default/ready is healthy\n");
  const waiting = await explain(waits);
  assert.deepEqual([waiting.verdict, waiting.causes], ["waiting", []]);
  const later = await explain(waits, () => Date.now() + 3_600_000);
  assert.deepEqual([later.verdict, later.causes], ["unknown", []]);
});

test("a cause that no longer exists is not a cause: first it heals, later the status is stale", async () => {
  const composite = xr("App", "healing", { compositionRef: { name: "late" } });
  await platform.apply(composite);
  const failed = await platform.until(composite, "Synced", "False");
  await platform.apply(compositionOf("late", "App", doing("compose")));
  const young = await explainObject(failed, { client: platform.users });
  assert.deepEqual([young.verdict, young.causes], ["waiting", []], explanationText(young));
  assert.match(explanationText(young), /was: Composition late not found, gone since \d+s ago/);
  const old = await explainObject(failed, { client: platform.users, now: () => Date.now() + 60_000 });
  assert.equal(old.causes[0]?.code, "E10");
});

test("all unhealthy objects in groups", async () => {
  const { explanations } = await explainAll({ client: platform.users });
  const groups = groupByCause(explanations);
  assert.ok(groups.some(({ code }) => code === "E29"));
  assert.ok(!explanations.some(({ object }) => object.name === "ready"));
});
