// SPDX-License-Identifier: Apache-2.0

import assert from "node:assert/strict";
import { test } from "node:test";
import { silentLog } from "@purlin/base";
import { manualClock } from "@purlin/base/testing";
import { conflict } from "@purlin/kube-objects/errors";
import { conditionOf, conditionsOf, type KubeObject } from "@purlin/kube-objects/object";
import { attempt, maxRaces, TerminalError } from "../controller/controller.ts";
import type { EventRecorder } from "../events/event-recorder.ts";
import {
  createReconciler,
  defineController,
  type ReconcilerDefinition,
  withConditionTexts,
} from "./define-controller.ts";

const type = { apiVersion: "example.org/v1", kind: "Thing" };
const running = new AbortController().signal;
const key = { name: "a" };
const step = { reason: "MakeThing", text: "cannot make thing" };

/** A reconciler of one object in memory: its events, and how often its status was stored. */
function scene(definition: Partial<ReconcilerDefinition>, annotations: Readonly<Record<string, string>> = {}) {
  const clock = manualClock(Date.parse("2026-01-01T00:00:00Z"));
  const events: string[] = [];
  const scene = {
    clock,
    object: { ...type, metadata: { name: "a", generation: 2, annotations } } as KubeObject | undefined,
    writes: 0,
    takeEvents: () => events.splice(0),
    condition: () => conditionOf(conditionsOf(scene.object ?? {}), "Synced"),
    definition: undefined as unknown as ReconcilerDefinition,
  };
  const recorder = (source: string): EventRecorder => ({
    event: (_, event) => void events.push(`${source}${event.type} ${event.reason}: ${event.message}`),
    with: (name) => recorder(`${name} `),
  });
  scene.definition = {
    client: {
      get: async () => scene.object,
      update: async (object: KubeObject) => {
        scene.writes++;
        scene.object = object;
        return object;
      },
    } as unknown as ReconcilerDefinition["client"],
    events: recorder(""),
    clock,
    log: silentLog,
    type,
    timeoutMs: 1000,
    reconcile: async () => ({}),
    async onFailure({ message }, { stored, writeStatus }) {
      const text = { type: "Synced", status: "False", reason: "ReconcileError", message } as const;
      await writeStatus(withConditionTexts(stored.object, [text], clock));
    },
    ...definition,
  };
  return scene;
}

test("a failing step becomes one event and one condition, and its error is thrown", async () => {
  const { definition, ...at } = scene({ reconcile: () => attempt(step, () => Promise.reject(new Error("boom"))) });
  const reconcile = createReconciler(definition);
  await assert.rejects(reconcile(key, running), { reason: "MakeThing", message: "cannot make thing: boom" });
  assert.deepEqual(at.takeEvents(), ["Warning MakeThing: cannot make thing: boom"]);
  await assert.rejects(reconcile(key, running));
  assert.deepEqual(at.takeEvents(), ["Warning MakeThing: cannot make thing: boom"]);
});

test("a status that does not change is not written again", async () => {
  const at = scene({ reconcile: () => attempt(step, () => Promise.reject(new Error("boom"))) });
  const reconcile = createReconciler(at.definition);
  for (const writes of [1, 1]) {
    await assert.rejects(reconcile(key, running));
    assert.deepEqual([at.writes, at.condition().message], [writes, "cannot make thing: boom"]);
    at.clock.advance(5000);
  }
});

test("an error that is not a ReconcileError is thrown and not reported", async () => {
  const at = scene({ reconcile: () => Promise.reject(new Error("bug")) });
  await assert.rejects(createReconciler(at.definition)(key, running), /bug/);
  assert.deepEqual([at.takeEvents(), at.writes], [[], 0]);
});

test("a terminal error is reported and not retried, unless its report cannot be stored", async () => {
  const at = scene({ reconcile: () => Promise.reject(new TerminalError("Bind", "bound to another claim")) });
  assert.deepEqual(await createReconciler(at.definition)(key, running), {});
  assert.deepEqual(at.takeEvents(), ["Warning Bind: bound to another claim"]);
  assert.equal(at.condition().message, "bound to another claim");
  const onFailure = (): Promise<void> => Promise.reject(new Error("no connection"));
  await assert.rejects(createReconciler({ ...at.definition, onFailure })(key, running), /no connection/);
});

test("a conflict is reported only when it returns again and again", async () => {
  const lost = conflict({ group: "", resource: "things" }, "a", "the object has been modified");
  const at = scene({ reconcile: () => attempt(step, () => Promise.reject(lost)) });
  const reconcile = createReconciler(at.definition);
  for (let i = 0; i < maxRaces; i++) await assert.rejects(reconcile(key, running));
  assert.deepEqual([at.takeEvents(), at.writes], [[], 0]);
  await assert.rejects(reconcile(key, running));
  assert.equal(at.takeEvents().length, 1);
  await createReconciler({ ...at.definition, reconcile: async () => ({}) })(key, running);
});

test("a timeout is reported within the grace period, and nothing is reported when the controller stops", async () => {
  for (const isStopping of [false, true]) {
    const stop = new AbortController();
    const at = scene({
      reconcile: ({ signal }) =>
        attempt(step, async () => {
          if (isStopping) stop.abort(new Error("stopping"));
          else at.clock.advance(1000);
          signal.throwIfAborted();
          return {};
        }),
    });
    await assert.rejects(createReconciler(at.definition)(key, stop.signal));
    const late = "cannot make thing: reconcile timed out after 1s";
    assert.deepEqual(at.takeEvents(), isStopping ? [] : [`Warning MakeThing: ${late}`]);
    assert.equal(at.writes, isStopping ? 0 : 1);
  }
});

test("a paused object is left alone, reported, or reconciled, as the controller wants", async () => {
  const paused = { "crossplane.io/paused": "true" };
  const reports = "Normal ReconciliationPaused: Reconciliation is paused via the pause annotation";
  for (const [onPause, events, writes] of [
    ["stop", [], 0],
    ["report", [reports], 1],
    [undefined, ["Normal Ran: x"], 0],
  ] as const) {
    const at = scene(
      {
        onPause,
        async reconcile({ emit }) {
          emit({ reason: "Ran", message: "x" });
          return {};
        },
      },
      paused,
    );
    assert.deepEqual(await createReconciler(at.definition)(key, running), {});
    assert.deepEqual([at.takeEvents(), at.writes], [events, writes]);
  }
});

test("events and failures are about the version that was stored last", async () => {
  const seen: (string | undefined)[] = [];
  const at = scene({
    events: { event: ({ metadata }) => void seen.push(metadata.resourceVersion), with: () => at.definition.events },
    reconcile: ({ stored }) =>
      attempt(step, () => {
        stored.object = { ...stored.object, metadata: { ...stored.object.metadata, resourceVersion: "9" } };
        throw new Error("boom");
      }),
  });
  await assert.rejects(createReconciler(at.definition)(key, running));
  assert.deepEqual([seen, at.object?.metadata.resourceVersion], [["9"], "9"]);
});

test("an object that is gone has a reconcile of its own, or none", async () => {
  const at = scene({ onGone: async () => ({ requeueAfterMs: 5 }) });
  at.object = undefined;
  assert.deepEqual(await createReconciler(at.definition)(key, running), { requeueAfterMs: 5 });
  assert.deepEqual(await createReconciler({ ...at.definition, onGone: undefined })(key, running), {});
});

test("a controller has a name, which is the source of its events, its watches and a backoff", async () => {
  const at = scene({ reconcile: () => attempt(step, () => Promise.reject(new Error("boom"))) });
  const watches = [{ type: "Thing", object: type, keys: () => [key] }];
  const { spec, watches: declared } = defineController({ ...at.definition, name: "things", watches });
  assert.deepEqual([spec.name, declared, spec.backoff], ["things", watches, { baseMs: 1000, maxMs: 60_000 }]);
  await assert.rejects(spec.reconcile(key, running));
  assert.deepEqual(at.takeEvents(), ["things Warning MakeThing: cannot make thing: boom"]);
});
