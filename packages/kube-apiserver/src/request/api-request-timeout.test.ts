// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import { textOf } from "../../test/test-server.ts";
import { inTime, requestTimeoutMs, tooLate } from "./api-request.ts";

const timeoutOf = (text: string): number | undefined => requestTimeoutMs(new URLSearchParams({ timeout: text }));

const taken: Record<string, number | undefined> = {
  "5s": 5000,
  "+2ms": 2,
  ".5s": 500,
  "5.s": 5000,
  "10us": 0.01,
  "10µs": 0.01,
  "10μs": 0.01,
  "59s500ms": 59_500,
  // What a client without a wish says.
  "": undefined,
  "0": undefined,
  "+0": undefined,
  "0s": undefined,
  "-1s": undefined,
  // No more than there is.
  "1m": undefined,
  "1m30s": undefined,
  "1.5h": undefined,
  "1h0m": undefined,
};

for (const [text, ms] of Object.entries(taken)) {
  test(`"${text}" is a timeout of ${ms ?? "all the time there is"}`, () => assert.equal(timeoutOf(text), ms));
}

const refused: Record<string, string> = {
  abc: 'time: invalid duration "abc"',
  "5": 'time: missing unit in duration "5"',
  "5x": 'time: unknown unit "x" in duration "5x"',
  "5s ": 'time: unknown unit "s " in duration "5s "',
  "1s2": 'time: missing unit in duration "1s2"',
  "-": 'time: invalid duration "-"',
  ".s": 'time: invalid duration ".s"',
  "1.2.3s": 'time: missing unit in duration "1.2.3s"',
};

for (const [text, problem] of Object.entries(refused)) {
  test(`"${text}" is not a timeout`, () => {
    assert.throws(() => timeoutOf(text), { message: `invalid timeout specified in the request URL - ${problem}` });
  });
}

test("an answer in time is the answer, and no timer is left", async () => {
  assert.equal(await inTime(60_000, async () => "done"), "done");
  assert.equal(await inTime(undefined, async () => "done"), "done");
});

test("a failure in time is the failure", async () => {
  const boom = new Error("boom");
  await assert.rejects(
    inTime(60_000, () => Promise.reject(boom)),
    boom,
  );
});

test("without an answer in time the request times out, and later errors are ignored", async () => {
  const { promise, reject } = Promise.withResolvers<never>();
  assert.equal(await inTime(1, () => promise), undefined);
  reject(new Error("later"));
  await new Promise((resolve) => setImmediate(resolve));
});

test("an answer that is late because it held the event loop times out too", async () => {
  const busy = async (): Promise<string> => {
    const until = performance.now() + 5;
    while (performance.now() < until);
    return "late";
  };
  assert.equal(await inTime(1, busy), undefined);
});

test("a timeout has the form of the reference", () => {
  const response = tooLate();
  const status =
    '{"metadata":{},"status":"Failure","message":"Timeout: request did not complete within the allotted timeout",' +
    '"reason":"Timeout","details":{},"code":504}\n';
  assert.deepEqual([response.code, textOf(response)], [504, status]);
  assert.equal(response.payload?.contentType, "text/plain; charset=utf-8");
});
