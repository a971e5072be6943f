// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import type { KubeObject } from "@purlin/kube-objects/object";
import { Registry } from "prom-client";
import { type CircuitBreaker, createBreakerMetrics, createCircuitBreaker } from "./circuit-breaker.ts";

const xr = { namespace: "ns", name: "xr" };
const object = (name: string, metadata: KubeObject["metadata"] = {}): KubeObject => ({
  apiVersion: "v1",
  kind: "ConfigMap",
  metadata: { name, namespace: "ns", ...metadata },
});

interface Bench {
  readonly breaker: CircuitBreaker;
  pass(ms: number): void;
}

function start(metrics = createBreakerMetrics(new Registry())): Bench {
  let now = 1_000_000;
  const breaker = createCircuitBreaker({ controller: "composite/x", clock: { now: () => now }, metrics });
  return {
    breaker,
    pass: (ms) => {
      now += ms;
    },
  };
}

function updates(breaker: CircuitBreaker, count: number, name = "cm"): number {
  return Array.from({ length: count }, () => breaker.admit(xr, object(name), 2)).filter(Boolean).length;
}

test("sixty updates in three seconds open it, and the first fifty pass", () => {
  const { breaker, pass } = start();
  let passed = 0;
  for (let i = 0; i < 60; i++) {
    passed += updates(breaker, 1);
    pass(50);
  }
  assert.ok(passed >= 50 && passed < 60, `${passed} passed`);
  assert.deepEqual(breaker.state(xr), { open: true, triggeredBy: "ConfigMap/cm (ns)" });
});

test("an update every two seconds keeps it closed for ever", () => {
  const { breaker, pass } = start();
  for (let i = 0; i < 1000; i++) {
    assert.equal(updates(breaker, 1), 1);
    pass(2000);
  }
  assert.deepEqual(breaker.state(xr), { open: false });
});

test("creates and deletes count once", () => {
  const { breaker } = start();
  for (let i = 0; i < 100; i++) assert.equal(breaker.admit(xr, object("cm"), 1), true);
  assert.equal(breaker.state(xr).open, false);
  breaker.admit(xr, object("cm"), 1);
  assert.equal(breaker.state(xr).open, true);
});

test("what is being deleted passes while it is open, unrecorded", async () => {
  const registry = new Registry();
  const { breaker } = start(createBreakerMetrics(registry));
  updates(breaker, 60);
  const before = await registry.metrics();
  assert.equal(breaker.admit(xr, object("cm", { deletionTimestamp: "2026-01-01T00:00:00Z" }), 2), true);
  assert.equal(await registry.metrics(), before);
});

test("an XR that is forgotten starts again", () => {
  const { breaker } = start();
  updates(breaker, 60);
  breaker.forget(xr);
  assert.equal(breaker.state(xr).open, false);
  assert.equal(updates(breaker, 1), 1);
});

test("while it is open one event passes every thirty seconds", () => {
  const { breaker, pass } = start();
  updates(breaker, 60);
  pass(30_000);
  assert.equal(breaker.admit(xr, object("cm"), 1), false);
  pass(1);
  assert.equal(breaker.admit(xr, object("cm"), 1), true);
  assert.equal(breaker.admit(xr, object("cm"), 1), false);
  assert.equal(breaker.state(xr).open, true);
});

test("after five minutes the next event closes it", () => {
  const { breaker, pass } = start();
  updates(breaker, 60);
  pass(5 * 60_000);
  assert.equal(breaker.state(xr).open, true);
  assert.equal(breaker.admit(xr, object("cm"), 1), true);
  assert.equal(breaker.state(xr).open, false);
});

test("the most frequent of the last sixteen sources is named, of equals the later", () => {
  const { breaker } = start();
  updates(breaker, 42, "early");
  updates(breaker, 4, "x");
  updates(breaker, 4, "y");
  breaker.admit(xr, object("y"), 1);
  assert.deepEqual(breaker.state(xr), { open: true, triggeredBy: "ConfigMap/y (ns)" });
});

test("XRs do not share a circuit", () => {
  const { breaker } = start();
  updates(breaker, 60);
  assert.equal(breaker.admit({ name: "other" }, object("cm"), 2), true);
});

test("what was idle for a day is dropped when something new comes, and nothing else", () => {
  const { breaker, pass } = start();
  updates(breaker, 60);
  breaker.admit({ name: "b" }, object("cm"), 1);
  pass(24 * 3_600_000 - 1);
  breaker.admit({ name: "b" }, object("cm"), 1);
  pass(2);
  breaker.admit({ name: "c" }, object("cm"), 1);
  assert.equal(breaker.state(xr).open, false);
});

test("targets that come and go are remembered no longer than their tokens take to be refilled", () => {
  const { breaker, pass } = start();
  updates(breaker, 60);
  for (let i = 0; i < 10_000; i++) {
    breaker.admit({ name: `brief-${i}` }, object("cm"), 1);
    pass(1000);
  }
  // 100 tokens, one a second; and the one that is open.
  assert.ok(breaker.size <= 102, `${breaker.size} are remembered`);
  assert.equal(breaker.state(xr).open, true);
});

test("openings, closings and events are counted by controller", async () => {
  const registry = new Registry();
  const { breaker, pass } = start(createBreakerMetrics(registry));
  for (let i = 0; i < 102; i++) breaker.admit(xr, object("cm"), 1);
  pass(31_000);
  breaker.admit(xr, object("cm"), 1);
  pass(5 * 60_000);
  breaker.admit(xr, object("cm"), 1);
  const text = await registry.metrics();
  for (const line of [
    'circuit_breaker_opens_total{controller="composite/x"} 1',
    'circuit_breaker_closes_total{controller="composite/x"} 1',
    'circuit_breaker_events_total{controller="composite/x",result="Allowed"} 101',
    'circuit_breaker_events_total{controller="composite/x",result="Dropped"} 1',
    'circuit_breaker_events_total{controller="composite/x",result="HalfOpenAllowed"} 2',
  ]) {
    assert.ok(text.includes(line), `${line} in\n${text}`);
  }
});
