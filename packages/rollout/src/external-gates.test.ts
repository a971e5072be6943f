// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { JsonObject } from "@purlin/kube-objects/json";
import { createExternalGates } from "./external-gates.ts";
import type { ExternalNumber } from "./gates.ts";
import { type Gate, readPlan } from "./plan.ts";

function gateOf(fields: object): Gate {
  return readPlan({ spec: { healthGates: [fields] } } as never).gates[0] ?? assert.fail();
}
const prometheus = gateOf({
  type: "Prometheus",
  url: "http://p:9090/",
  query: 'sum(rate(x{a="b"}[5m]))',
  interval: "30s",
});
const webhook = gateOf({ type: "Webhook", url: "https://w/check", interval: "30s" });

interface Asked {
  readonly url: string;
  readonly options: RequestInit;
}

/** Gates with a clock and answers in memory. */
function bench(respond: () => Response | Promise<Response>) {
  const asked: Asked[] = [];
  const clock = { time: 1_000_000, now: () => clock.time };
  const gates = createExternalGates(clock, async (url, options) => {
    asked.push({ url, options });
    return respond();
  });
  const look = async (gate: Gate, since = 0, rolloutUid = "r"): Promise<ExternalNumber | undefined> => {
    const answer = gates.answer(gate, { rolloutUid, since, body: () => ({ rollout: "x" }) });
    await new Promise((resolve) => setImmediate(resolve));
    await new Promise((resolve) => setImmediate(resolve));
    return answer;
  };
  return { asked, clock, gates, look };
}
const json = (body: unknown, init?: ResponseInit): Response => new Response(JSON.stringify(body), init);
/** The answer at the second look: the first one asks. */
async function answerTo(gate: Gate, respond: () => Response | Promise<Response>): Promise<ExternalNumber | undefined> {
  const { look } = bench(respond);
  assert.equal(await look(gate), undefined);
  return look(gate);
}

describe("Prometheus", () => {
  const vector = (...values: readonly unknown[]): JsonObject =>
    ({
      data: { resultType: "vector", result: values.map((value) => ({ metric: {}, value: [1, value] })) },
    }) as JsonObject;
  const cases: Readonly<Record<string, readonly [unknown, ExternalNumber]>> = {
    "a vector of one": [vector("0.25"), { value: 0.25 }],
    "a scalar": [{ data: { resultType: "scalar", result: [1, "3"] } }, { value: 3 }],
    "no result": [{ status: "error" }, { unknown: "the query has no result" }],
    "an empty vector": [vector(), { unknown: "the query has 0 results, not 1" }],
    "two results": [vector("1", "2"), { unknown: "the query has 2 results, not 1" }],
    "not a number": [vector("NaN"), { unknown: "the result is not a number: NaN" }],
    "an infinite number": [vector("+Inf"), { unknown: "the result is not a number: +Inf" }],
    "a result without a value": [{ data: { result: [{}] } }, { unknown: "the result is not a number: undefined" }],
    "not an object": [[], { unknown: "the query has no result" }],
  };
  for (const [title, [body, expected]] of Object.entries(cases)) {
    test(title, async () => assert.deepEqual(await answerTo(prometheus, () => json(body)), expected));
  }

  test("the query is part of the address, and redirects are not followed", async () => {
    const { asked, look } = bench(() => json(vector("1")));
    await look(prometheus);
    assert.equal(asked[0]?.url, `http://p:9090/api/v1/query?query=${encodeURIComponent(prometheus.query)}`);
    assert.equal(asked[0]?.options.redirect, "error");
  });
});

describe("webhooks", () => {
  const cases: Readonly<Record<string, readonly [unknown, ExternalNumber]>> = {
    passed: [
      { passed: true, message: "fine" },
      { passed: true, message: "fine" },
    ],
    "failed without a message": [{ passed: false }, { passed: false, message: "the webhook answered" }],
    "a long message": [
      { passed: true, message: "m".repeat(300) },
      { passed: true, message: "m".repeat(256) },
    ],
    "no verdict": [{ passed: "yes" }, { unknown: 'https://w/check: the answer has no field "passed"' }],
    "not an object": [true, { unknown: 'https://w/check: the answer has no field "passed"' }],
  };
  for (const [title, [body, expected]] of Object.entries(cases)) {
    test(title, async () => assert.deepEqual(await answerTo(webhook, () => json(body)), expected));
  }

  test("get the rollout as JSON", async () => {
    const { asked, look } = bench(() => json({ passed: true }));
    await look(webhook);
    const { method, body, headers } = asked[0]?.options ?? {};
    assert.deepEqual([method, body, headers], ["POST", '{"rollout":"x"}', { "content-type": "application/json" }]);
  });
});

describe("failures are unknown, with the address", () => {
  const cases: Readonly<Record<string, readonly [() => Response | Promise<Response>, RegExp]>> = {
    "a status": [() => json({}, { status: 503 }), /^https:\/\/w\/check: status 503$/],
    "a connection": [() => Promise.reject(new Error("refused")), /^https:\/\/w\/check: refused$/],
    "an answer that is not JSON": [() => new Response("<html>"), /^https:\/\/w\/check: .*JSON/],
    "an answer of more than 1 MiB": [
      () => new Response("x".repeat(1024 * 1024 + 1)),
      /^https:\/\/w\/check: the answer is larger than 1 MiB$/,
    ],
  };
  for (const [title, [respond, text]] of Object.entries(cases)) {
    test(title, async () => {
      const answer = await answerTo(webhook, respond);
      assert.match(answer !== undefined && "unknown" in answer ? answer.unknown : "", text);
    });
  }
});

describe("when a gate is asked", () => {
  const fine = (): Response => json({ passed: true, message: "fine" });
  const answered = { passed: true, message: "fine" };

  test("once in its interval", async () => {
    const { asked, clock, look } = bench(fine);
    await look(webhook);
    clock.time += 29_999;
    assert.deepEqual(await look(webhook), answered);
    assert.equal(asked.length, 1);
    clock.time += 1;
    assert.deepEqual(await look(webhook), answered, "the last answer counts meanwhile");
    assert.equal(asked.length, 2);
  });

  test("not again while it is asked", async () => {
    const { asked, look } = bench(() => new Promise<Response>(() => {}));
    await look(webhook);
    await look(webhook);
    assert.equal(asked.length, 1);
  });

  test("answers from before the step do not count", async () => {
    const { clock, look, asked } = bench(fine);
    await look(webhook);
    assert.equal(await look(webhook, clock.time + 1), undefined);
    assert.equal(asked.length, 2);
  });

  test("an answer that was not renewed for three intervals no longer counts", async () => {
    const { clock, look } = bench(fine);
    await look(webhook);
    clock.time += 3 * 30_000 + 10_000;
    assert.deepEqual(await look(webhook), answered);
    clock.time += 3 * 30_000 + 10_001;
    assert.equal(await look(webhook), undefined);
  });

  test("an answer from the future was before the clock went back", async () => {
    const { clock, look } = bench(fine);
    await look(webhook);
    clock.time -= 1;
    assert.equal(await look(webhook), undefined);
  });

  test("each rollout asks for itself, and a deleted one is forgotten", async () => {
    const { gates, look, asked } = bench(fine);
    await look(webhook, 0, "r1");
    await look(webhook, 0, "r2");
    assert.equal(asked.length, 2);
    gates.forget("r1");
    assert.equal(await look(webhook, 0, "r1"), undefined);
    assert.deepEqual(await look(webhook, 0, "r2"), answered);
  });

  test("an answer that comes after its rollout was forgotten is dropped", async () => {
    let finish: (response: Response) => void = () => {};
    const { gates, look } = bench(() => new Promise<Response>((resolve) => (finish = resolve)));
    await look(webhook);
    gates.forget("r");
    finish(fine());
    await new Promise((resolve) => setImmediate(resolve));
    assert.equal(gates.answer(webhook, { rolloutUid: "r", since: 0, body: () => ({}) }), undefined);
  });
});
