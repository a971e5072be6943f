// SPDX-License-Identifier: Apache-2.0
// What many Usages cost when nothing changes: no request, no reconcile, no timer.
import assert from "node:assert/strict";
import { test } from "node:test";
import { setTimeout } from "node:timers/promises";
import { isDeepStrictEqual } from "node:util";
import { silentLog } from "@purlin/base";
import { manualClock } from "@purlin/base/testing";
import { createUsageControllers } from "@purlin/composition";
import { createControllerEngine } from "@purlin/kube-controller";
import { eventually } from "@purlin/kube-controller/testing";
import type { KubeObject } from "@purlin/kube-objects/object";
import { configMapType, UsageScene, usageType } from "../../packages/composition/test/usage-scene.ts";

const count = 10_000;
const namespace = "default";
const atOnce = 50;
const name = (index: number): string => `x-${index}`;

/** A Usage as a control plane left it. */
function settledUsage(index: number): KubeObject {
  return {
    ...usageType,
    metadata: {
      name: name(index),
      namespace,
      finalizers: ["usage.apiextensions.crossplane.io"],
      annotations: { "crossplane.io/usage-details": "kept" },
    },
    spec: { of: { ...configMapType, resourceRef: { name: name(index) } }, reason: "kept" },
  };
}

const ready = {
  conditions: [
    {
      type: "Ready",
      status: "True",
      reason: "Available",
      observedGeneration: 1,
      lastTransitionTime: "2026-01-01T00:00:00Z",
    },
  ],
};

async function createSettled({ users }: UsageScene): Promise<void> {
  let next = 0;
  const worker = async (): Promise<void> => {
    for (let index = next++; index < count; index = next++) {
      const labels = { "crossplane.io/in-use": "true" };
      await users.create({ ...configMapType, metadata: { name: name(index), namespace, labels } });
      const made = await users.create(settledUsage(index));
      await users.update({ ...made, status: ready }, { subresource: "status" });
    }
  };
  await Promise.all(Array.from({ length: atOnce }, worker));
}

test(`${count} settled Usages cause no write when a control plane starts, and nothing at all while they rest`, async () => {
  await using scene = await UsageScene.start(undefined, { isIdle: true });
  await createSettled(scene);
  const clock = manualClock(Date.now());
  const { client, informers, events } = scene.control;
  await using stack = new AsyncDisposableStack();
  const engine = stack.adopt(createControllerEngine({ informers, clock }), (one) => one.close());
  const seen = { reconciles: 0, requests: 0 };
  scene.control.failWhen(() => {
    seen.requests += 1;
    return undefined;
  });
  const deps = { client, engine, events, clock, log: silentLog, index: scene.index };
  for (const { spec, watches } of createUsageControllers(deps)) {
    const reconcile: typeof spec.reconcile = (...context) => {
      seen.reconciles += 1;
      return spec.reconcile(...context);
    };
    engine.start({ ...spec, reconcile });
    await engine.startWatches(spec.name, watches);
  }
  /** Waits until nothing happens, and returns what did. */
  const settled = async (): Promise<typeof seen> => {
    for (let before = { ...seen, reconciles: -1 }; !isDeepStrictEqual(before, seen); await setTimeout(300)) {
      before = { ...seen };
    }
    const happened = { ...seen };
    Object.assign(seen, { reconciles: 0, requests: 0 });
    return happened;
  };
  await eventually("every Usage is looked at", () => seen.reconciles >= count);
  const start = await settled();
  assert.deepEqual(scene.control.takeWrites(), [], "they are settled");
  assert.ok(start.requests < count / 50, `a start lists, and reads no Usage or used object alone: ${start.requests}`);
  assert.ok(start.reconciles < count * 1.1, `a start looks at each Usage once: ${start.reconciles}`);
  assert.ok(clock.waiting < 20, `no Usage has a timer of its own: ${clock.waiting}`);

  for (let minute = 0; minute < 50; minute += 1) clock.advance(60_000);
  assert.deepEqual(await settled(), { reconciles: 0, requests: 0 }, "50 minutes");

  clock.advance(20 * 60_000);
  await eventually("every Usage is delivered again", () => seen.reconciles >= count);
  const again = await settled();
  assert.deepEqual([again.requests, scene.control.takeWrites()], [0, []], "the hourly look asks the server nothing");

  const target = { ...configMapType, name: name(7), namespace };
  await scene.users.patch(target, { metadata: { labels: { "crossplane.io/in-use": null } } }, { type: "merge" });
  await eventually("the label is back", async () => {
    const { metadata } = await scene.users.get(configMapType, { name: name(7), namespace });
    return metadata.labels?.["crossplane.io/in-use"] === "true";
  });
  const change = await settled();
  assert.equal(scene.control.takeWrites().length, 1);
  assert.ok(change.reconciles < 10, `a change of one used object wakes its Usage only: ${change.reconciles}`);
});
