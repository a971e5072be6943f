// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { test } from "node:test";
import { systemClock } from "@purlin/base";
import { eventually } from "@purlin/kube-controller/testing";
import { createExternalGates } from "./external-gates.ts";
import { type CallNumbers, type GateSamples, judge } from "./gates.ts";
import { type Gate, readPlan } from "./plan.ts";

function gate(fields: object): Gate {
  const spec = { functionRef: { name: "f" }, steps: [{ percent: 100 }], healthGates: [fields] };
  const [only] = readPlan({ spec } as never).gates;
  assert.ok(only);
  return only;
}

const calls = (count: number, errors = 0, fatals = 0, p95Ms: number | undefined = 10): CallNumbers => ({
  calls: count,
  errors,
  fatals,
  p95Ms: count === 0 ? undefined : p95Ms,
});
const side = (total: number, good: number) => ({ total, has: () => good });

function samples(more: Partial<GateSamples> = {}): GateSamples {
  return {
    now: 1_000_000,
    stepStartedAt: 0,
    isShadowStep: false,
    hasShadowed: false,
    members: 5,
    pendingMoves: 0,
    pendingShadows: 0,
    candidateCalls: () => calls(10),
    stableCalls: () => calls(10),
    moved: side(5, 5),
    stayed: side(5, 5),
    shadow: undefined,
    watchedMs: 1_000_000,
    runtime: { status: "True", forMs: 0, message: "", outages: () => ({ candidate: 0, stable: 0 }) },
    external: () => undefined,
    ...more,
  };
}

const errors = { type: "FunctionErrors", maxRatio: "0.01" };
const synced = { type: "CompositeCondition", condition: "Synced", minRatio: "0.99" };
const diff = { type: "DesiredDiff", maxDeleted: 0, maxReplacedRatio: "0.1" };
const shadow = (compared: number, deleted = 0, replaced = 0, failed = 0) => ({
  shadow: { compared, deleted, replaced, changed: 0, failed, examples: () => ["ns/gold-1"] },
  isShadowStep: true,
  hasShadowed: true,
});

const rows: readonly (readonly [string, object, Partial<GateSamples>, "Passed" | "Failed" | "Unknown"])[] = [
  ["no errors", errors, {}, "Passed"],
  ["errors above the limit", errors, { candidateCalls: () => calls(10, 1) }, "Failed"],
  [
    "errors on both sides are not the candidate's, and no proof of its health",
    errors,
    { candidateCalls: () => calls(10, 1), stableCalls: () => calls(10, 2) },
    "Unknown",
  ],
  ["fatal results count as errors", errors, { candidateCalls: () => calls(10, 0, 1) }, "Failed"],
  ["fewer calls than the sample", { ...errors, minSample: 20 }, {}, "Unknown"],
  [
    "a failure below the sample is not judged yet",
    { ...errors, minSample: 20 },
    { candidateCalls: () => calls(10, 9) },
    "Unknown",
  ],
  ["nothing has moved", errors, { members: 0 }, "Unknown"],
  ["nothing has moved in a shadow step", errors, { members: 0, isShadowStep: true }, "Passed"],
  [
    "RPC errors are not fatal results",
    { type: "FatalResults", maxRatio: "0" },
    { candidateCalls: () => calls(10, 5) },
    "Passed",
  ],
  ["one fatal result", { type: "FatalResults", maxRatio: "0" }, { candidateCalls: () => calls(10, 0, 1) }, "Failed"],
  ["all are synced", synced, {}, "Passed"],
  ["some are not synced after the grace", synced, { moved: side(5, 4) }, "Failed"],
  ["some are not synced within the grace", synced, { moved: side(5, 4), stepStartedAt: 990_000 }, "Unknown"],
  [
    "some are not synced after a restart of the control plane",
    synced,
    { moved: side(5, 4), watchedMs: 1000 },
    "Unknown",
  ],
  ["those that stayed are no better", synced, { moved: side(5, 4), stayed: side(5, 4) }, "Unknown"],
  ["some have not moved", synced, { pendingMoves: 1 }, "Unknown"],
  ["healthy", { type: "RuntimeHealthy" }, {}, "Passed"],
  [
    "restarting",
    { type: "RuntimeHealthy" },
    { runtime: { status: "False", forMs: 10_000, message: "", outages: () => ({ candidate: 0, stable: 0 }) } },
    "Unknown",
  ],
  [
    "unhealthy for long",
    { type: "RuntimeHealthy" },
    { runtime: { status: "False", forMs: 1_000_000, message: "crash", outages: () => ({ candidate: 0, stable: 0 }) } },
    "Failed",
  ],
  [
    "health unknown",
    { type: "RuntimeHealthy" },
    { runtime: { status: "Unknown", forMs: 1_000_000, message: "", outages: () => ({ candidate: 0, stable: 0 }) } },
    "Unknown",
  ],
  ["as fast as allowed", { type: "CallDuration", p95: "20ms" }, {}, "Passed"],
  ["too slow", { type: "CallDuration", p95: "5ms" }, {}, "Failed"],
  [
    "slower than stable",
    { type: "CallDuration", maxIncrease: "0.5" },
    { candidateCalls: () => calls(10, 0, 0, 16) },
    "Failed",
  ],
  [
    "no stable calls to compare with",
    { type: "CallDuration", maxIncrease: "0.5" },
    { stableCalls: () => calls(0) },
    "Unknown",
  ],
  [
    "slower than stable was, after all have moved",
    { type: "CallDuration", maxIncrease: "0.5" },
    { stableCalls: () => calls(0), stableP95Ms: 6 },
    "Failed",
  ],
  ["no differences", diff, shadow(10), "Passed"],
  ["a deletion", diff, shadow(10, 1), "Failed"],
  ["replacements within the share", diff, shadow(10, 0, 1), "Passed"],
  ["replacements above the share", diff, shadow(10, 0, 2), "Failed"],
  ["a deletion while others are not compared yet", diff, { ...shadow(10, 1), pendingShadows: 3 }, "Unknown"],
  ["a candidate that fails in shadow", diff, shadow(10, 0, 0, 1), "Failed"],
  ["some are not compared yet", diff, { ...shadow(10), pendingShadows: 3 }, "Unknown"],
  ["no report in a shadow step", diff, { isShadowStep: true, hasShadowed: true }, "Unknown"],
  [
    "a number in range",
    { type: "Prometheus", url: "http://a", query: "q", max: "5" },
    { external: () => ({ value: 4 }) },
    "Passed",
  ],
  [
    "a number out of range",
    { type: "Prometheus", url: "http://a", query: "q", max: "5" },
    { external: () => ({ value: 6 }) },
    "Failed",
  ],
  [
    "no number",
    { type: "Prometheus", url: "http://a", query: "q", max: "5" },
    { external: () => ({ unknown: "x" }) },
    "Unknown",
  ],
  ["no answer yet", { type: "Webhook", url: "http://a" }, {}, "Unknown"],
  [
    "a webhook that refuses",
    { type: "Webhook", url: "http://a" },
    { external: () => ({ passed: false, message: "no" }) },
    "Failed",
  ],
];

for (const [name, fields, seen, wanted] of rows) {
  test(`${(fields as { type: string }).type}: ${name}`, () => {
    assert.equal(judge(gate(fields), samples(seen)).result, wanted);
  });
}

test("a failed comparison names composite resources", () => {
  assert.match(judge(gate(diff), samples(shadow(10, 3))).message, /10 compared: 3 delete.*delete: ns\/gold-1, …/);
});

test("Prometheus and webhooks are queried over HTTP; errors and invalid answers are unknown", async () => {
  const answers: Record<string, unknown> = {
    "/api/v1/query?query=up": { data: { resultType: "vector", result: [{ value: [1, "0.5"] }] } },
    "/api/v1/query?query=many": { data: { resultType: "vector", result: [{ value: [1, "1"] }, { value: [1, "2"] }] } },
    "/api/v1/query?query=none": { data: { resultType: "vector", result: [] } },
    "/api/v1/query?query=scalar": { data: { resultType: "scalar", result: [1, "7"] } },
    "/hook": { passed: false, message: "too early" },
    "/odd": { yes: true },
  };
  const bodies: string[] = [];
  const server = createServer((req, res) => {
    req.on("data", (chunk) => bodies.push(String(chunk)));
    req.on("end", () => {
      const answer = answers[req.url ?? ""];
      res.statusCode = answer === undefined ? 500 : 200;
      res.end(JSON.stringify(answer ?? {}));
    });
  }).listen(0, "127.0.0.1");
  await new Promise((resolve) => server.once("listening", resolve));
  const base = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const external = createExternalGates(systemClock);
  const ask = (fields: object) => {
    const asked = gate({
      max: "9",
      interval: "10ms",
      ...fields,
      name: `g${bodies.length}-${Math.random().toString(36).slice(2)}`,
    });
    const question = { rolloutUid: "u", since: 0, body: () => ({ phase: "Progressing" }) };
    return eventually("there is an answer", () => external.answer(asked, question));
  };
  try {
    assert.deepEqual(await ask({ type: "Prometheus", url: base, query: "up" }), { value: 0.5 });
    assert.deepEqual(await ask({ type: "Prometheus", url: base, query: "scalar" }), { value: 7 });
    for (const query of ["many", "none", "missing"]) {
      assert.ok("unknown" in (await ask({ type: "Prometheus", url: base, query })));
    }
    assert.deepEqual(await ask({ type: "Webhook", url: `${base}/hook` }), { passed: false, message: "too early" });
    assert.ok("unknown" in (await ask({ type: "Webhook", url: `${base}/odd` })));
    assert.ok("unknown" in (await ask({ type: "Webhook", url: "http://127.0.0.1:1/closed" })));
    assert.match(bodies.join(""), /"phase":"Progressing"/);
  } finally {
    server.close();
    server.closeAllConnections();
  }
});

test("what a server answers instead of a number is cut", async () => {
  const values = { [JSON.stringify("x".repeat(1_000_000))]: "x".repeat(256), "[[[1]]]": "a list or an object" };
  for (const [value, text] of Object.entries(values)) {
    const body = `{"data":{"resultType":"scalar","result":[0,${value}]}}`;
    const external = createExternalGates(systemClock, async () => new Response(body));
    const asked = gate({ type: "Prometheus", url: "http://a", query: "up", max: "9" });
    const question = { rolloutUid: "u", since: 0, body: () => ({}) };
    const answer = await eventually("there is an answer", () => external.answer(asked, question));
    assert.deepEqual(answer, { unknown: `the result is not a number: ${text}` });
  }
});

test("the answer to a question from before the step does not count, and a large one is not read", async () => {
  let now = 100;
  const first = Promise.withResolvers<Response>();
  let asked = 0;
  let isCancelled = false;
  const endless = new ReadableStream({
    pull: (controller) => controller.enqueue(new Uint8Array(64 * 1024)),
    cancel() {
      isCancelled = true;
    },
  });
  const external = createExternalGates({ now: () => now }, async () => {
    asked += 1;
    return asked === 1 ? first.promise : new Response(endless);
  });
  const hook = gate({ type: "Webhook", url: "http://a.example", interval: "1h" });
  const question = (since: number) => ({ rolloutUid: "u", since, body: () => ({}) });
  assert.equal(external.answer(hook, question(50)), undefined);
  now = 200;
  first.resolve(new Response('{"passed": true}'));
  const answer = await eventually("it is asked again", () => external.answer(hook, question(150)));
  assert.deepEqual([asked, answer], [2, { unknown: "http://a.example: the answer is larger than 1 MiB" }]);
  assert.ok(isCancelled);
});

test("an answer from before the step does not count", async () => {
  let now = 100;
  const external = createExternalGates({ now: () => now }, async () => new Response('{"passed": true}'));
  const asked = gate({ type: "Webhook", url: "http://a.example", interval: "1h" });
  const question = (since: number) => ({ rolloutUid: "u", since, body: () => ({}) });
  await eventually("there is an answer", () => external.answer(asked, question(0)));
  now = 200;
  assert.equal(external.answer(asked, question(150)), undefined);
  await eventually("there is an answer of this step", () => external.answer(asked, question(150)));
  // The clock goes back: what it says about the age of the answer is wrong.
  now = 100;
  assert.equal(external.answer(asked, question(50)), undefined);
});
