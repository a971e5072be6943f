// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import { Registry } from "prom-client";
import { createEngineMetrics, noEngineMetrics, type ReconcileOutcome } from "./metrics.ts";

/** The samples of a registry by name and labels, as a scrape shows them; comments left out. */
async function scrape(registry: Registry): Promise<ReadonlyMap<string, string>> {
  const lines = (await registry.metrics()).split("\n").filter((line) => line !== "" && !line.startsWith("#"));
  return new Map(lines.map((line) => [line.slice(0, line.lastIndexOf(" ")), line.slice(line.lastIndexOf(" ") + 1)]));
}

test("an engine counts what it starts and stops, by controller and type", async () => {
  const registry = new Registry();
  const metrics = createEngineMetrics(registry);
  metrics.controllerStarted("a");
  metrics.controllerStarted("a");
  metrics.controllerStopped("a");
  metrics.watchStarted("a", "Dependency");
  metrics.watchStopped("b", "Claim");
  const seen = await scrape(registry);
  assert.equal(seen.get('engine_controllers_started_total{controller="a"}'), "2");
  assert.equal(seen.get('engine_controllers_stopped_total{controller="a"}'), "1");
  assert.equal(seen.get('engine_watches_started_total{controller="a",type="Dependency"}'), "1");
  assert.equal(seen.get('engine_watches_stopped_total{controller="b",type="Claim"}'), "1");
});

test("a controller reports its queue and its reconciles under the names that dashboards use", async () => {
  const registry = new Registry();
  const metrics = createEngineMetrics(registry).controller("c");
  metrics.started(10);
  metrics.added();
  metrics.depth(3);
  metrics.taken(0.2);
  metrics.active(2);
  metrics.retried();
  const outcomes: readonly ReconcileOutcome[] = ["success", "success", "error", "requeue", "requeue_after"];
  for (const outcome of outcomes) metrics.reconciled(outcome, 0.5);
  const seen = await scrape(registry);
  const want: Readonly<Record<string, string>> = {
    'workqueue_adds_total{name="c"}': "1",
    'workqueue_depth{name="c"}': "3",
    'workqueue_retries_total{name="c"}': "1",
    'workqueue_queue_duration_seconds_count{name="c"}': "1",
    'workqueue_work_duration_seconds_count{name="c"}': "5",
    'controller_runtime_reconcile_total{controller="c",result="success"}': "2",
    'controller_runtime_reconcile_total{controller="c",result="error"}': "1",
    'controller_runtime_reconcile_total{controller="c",result="requeue_after"}': "1",
    'controller_runtime_reconcile_errors_total{controller="c"}': "1",
    'controller_runtime_reconcile_time_seconds_sum{controller="c"}': "2.5",
    'controller_runtime_active_workers{controller="c"}': "2",
    'controller_runtime_max_concurrent_reconciles{controller="c"}': "10",
  };
  for (const [name, value] of Object.entries(want)) assert.equal(seen.get(name), value, name);
});

test("a controller that has stopped is no longer shown at work, but what it did counts", async () => {
  const registry = new Registry();
  const metrics = createEngineMetrics(registry).controller("gone");
  metrics.started(1);
  metrics.depth(1);
  metrics.active(1);
  metrics.reconciled("success", 1);
  metrics.stopped();
  const seen = await scrape(registry);
  const shown = [...seen.keys()].filter((name) => name.includes('"gone"') && !name.includes("_bucket"));
  assert.deepEqual(
    shown.filter((name) => /depth|active|max_concurrent/.test(name)),
    [],
  );
  assert.equal(seen.get('controller_runtime_reconcile_total{controller="gone",result="success"}'), "1");
});

test("engines that share a registry share their series", async () => {
  const registry = new Registry();
  for (const _ of [1, 2]) createEngineMetrics(registry).controllerStarted("a");
  assert.equal((await scrape(registry)).get('engine_controllers_started_total{controller="a"}'), "2");
});

test("without a registry nothing is counted", () => {
  const { controller, ...engine } = noEngineMetrics;
  for (const record of Object.values(engine)) record("a", "b");
  const metrics = controller("c");
  metrics.added();
  metrics.reconciled("success", 1);
  metrics.stopped();
});
