// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import type { ControllerClient, EventRecorder } from "@purlin/kube-controller";
import { conditionsOf, type KubeObject, pausedCondition, saysPaused } from "@purlin/kube-objects/object";
import { withTexts, writeStatus } from "./package-status.ts";
import { forgetPause, tellPaused } from "./pausing.ts";

const signal = new AbortController().signal;
const clock = { now: () => Date.parse("2026-01-01T00:00:00Z") } as never;
const bare: KubeObject = {
  apiVersion: "pkg.crossplane.io/v1",
  kind: "Function",
  metadata: { name: "f", generation: 3 },
};

function ports(): {
  client: ControllerClient;
  events: EventRecorder;
  clock: never;
  written: KubeObject[];
  told: string[];
} {
  const written: KubeObject[] = [];
  const told: string[] = [];
  const events: EventRecorder = {
    event: (_, { type, reason }) => void told.push(`${type} ${reason}`),
    with: () => events,
  };
  const client = {
    update: async (object: KubeObject, options: { subresource?: string }) => {
      assert.equal(options.subresource, "status");
      written.push(object);
      return object;
    },
  } as unknown as ControllerClient;
  return { client, events, clock, written, told };
}

test("a paused object says so, once", async () => {
  const first = ports();
  await tellPaused(first, bare, signal);
  const [stored] = first.written;
  assert.ok(stored && saysPaused(stored));
  assert.deepEqual(conditionsOf(stored), [
    { ...pausedCondition, lastTransitionTime: "2026-01-01T00:00:00Z", observedGeneration: 3 },
  ]);
  assert.deepEqual(first.told, ["Normal ReconciliationPaused"]);
  const second = ports();
  await tellPaused(second, stored, signal);
  assert.deepEqual(second.written, []);
});

test("afterwards everything that was said is forgotten", async () => {
  const scene = ports();
  const texts = [pausedCondition, { type: "Healthy", status: "True", reason: "Fine" } as const];
  await forgetPause(scene, withTexts(clock, bare, texts), signal);
  const [stored] = scene.written;
  assert.ok(stored);
  assert.deepEqual(conditionsOf(stored), []);
  assert.equal(saysPaused(stored), false);
});

test("a status that says nothing new is not written", async () => {
  const { client, written } = ports();
  const told = withTexts(clock, bare, [{ type: "Healthy", status: "False", reason: "R", message: "m" }]);
  const rows: { why: string; before: KubeObject; after: KubeObject; writes: number }[] = [
    { why: "the same object", before: bare, after: bare, writes: 0 },
    { why: "an empty status and none", before: bare, after: { ...bare, status: {} } as KubeObject, writes: 0 },
    {
      why: "the same text later",
      before: told,
      after: withTexts({ now: () => Date.now() } as never, told, [
        { type: "Healthy", status: "False", reason: "R", message: "m" },
      ]),
      writes: 0,
    },
    {
      why: "another message",
      before: told,
      after: withTexts(clock, told, [{ type: "Healthy", status: "False", reason: "R", message: "n" }]),
      writes: 1,
    },
    {
      why: "another condition",
      before: told,
      after: withTexts(clock, told, [{ type: "Installed", status: "True", reason: "R" }]),
      writes: 1,
    },
  ];
  for (const { why, before, after, writes } of rows) {
    written.splice(0);
    await writeStatus(client, { before, after, signal });
    assert.equal(written.length, writes, why);
  }
});
