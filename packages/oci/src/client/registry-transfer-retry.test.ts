// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import type { IncomingMessage } from "node:http";
import { Readable } from "node:stream";
import { test } from "node:test";
import { isOciError, OciError } from "../content/oci-error.ts";
import type { RegistryRequest, RegistryResponse, RegistrySend } from "./registry-http.ts";
import { isPassing, retrying, retryTransfer, unreachable } from "./registry-transfer.ts";

const request: RegistryRequest = { method: "GET", url: new URL("https://registry.example.org/v2/") };
const response = (status: number, headers: Record<string, string> = {}): RegistryResponse => ({
  status,
  headers,
  body: Readable.from([]) as IncomingMessage,
  url: request.url,
});
const broken = Object.assign(new Error("read ECONNRESET"), { code: "ECONNRESET" });

/** Answers in turn; an error is thrown, the last one is kept. */
function script(...answers: (RegistryResponse | Error)[]): {
  send: RegistrySend;
  calls: () => number;
  pauses: number[];
} {
  let calls = 0;
  const send: RegistrySend = async () => {
    const answer = answers[Math.min(calls++, answers.length - 1)] as RegistryResponse | Error;
    if (answer instanceof Error) throw answer;
    return answer;
  };
  return { send, calls: () => calls, pauses: [] };
}

const rows: {
  why: string;
  answers: (RegistryResponse | Error)[];
  calls: number;
  outcome: number | RegExp;
  body?: boolean;
}[] = [
  { why: "what works is sent once", answers: [response(200)], calls: 1, outcome: 200 },
  { why: "what is refused is refused", answers: [response(404)], calls: 1, outcome: 404 },
  { why: "what passes is tried again", answers: [response(503), response(200)], calls: 2, outcome: 200 },
  { why: "four times in all", answers: [response(503)], calls: 4, outcome: 503 },
  { why: "a line that breaks is tried again", answers: [broken, broken, response(200)], calls: 3, outcome: 200 },
  {
    why: "and then reported",
    answers: [broken],
    calls: 4,
    outcome:
      /^cannot reach registry\.example\.org: read ECONNRESET \(GET \/v2\/\); check the registry's name, that it is running, and the network$/,
  },
  {
    why: "an error without a message is reported by its code",
    answers: [Object.assign(new Error(""), { code: "ECONNREFUSED" })],
    calls: 4,
    outcome: /: ECONNREFUSED \(GET/,
  },
  { why: "what we refuse ourselves is final", answers: [new OciError("REFUSED", "no")], calls: 1, outcome: /^no$/ },
  {
    why: "the bytes of an upload are not sent twice",
    answers: [broken],
    calls: 1,
    outcome: /cannot reach/,
    body: true,
  },
  { why: "nor after an answer that passes", answers: [response(503)], calls: 1, outcome: 503, body: true },
];
for (const { why, answers, calls, outcome, body = false } of rows) {
  test(`sending: ${why}`, async () => {
    const made = script(...answers);
    const send = retrying(made.send, async () => {});
    const sent = send(body ? { ...request, method: "PUT", body: () => Readable.from([]) } : request);
    if (typeof outcome === "number") assert.equal((await sent).status, outcome);
    else await assert.rejects(sent, (error: Error) => outcome.test(error.message));
    assert.equal(made.calls(), calls);
  });
}

/** Each attempt takes this many seconds; a pass has sixty. */
const slow: { why: string; seconds: number; answer: RegistryResponse | Error; calls: number; total: number }[] = [
  { why: "connections that are not made", seconds: 10, answer: broken, calls: 3, total: 30 },
  { why: "an answer that does not come", seconds: 30, answer: broken, calls: 1, total: 30 },
  { why: "what fails at once", seconds: 0, answer: broken, calls: 4, total: 0 },
  {
    why: "a registry that wants to be left alone",
    seconds: 1,
    answer: response(429, { "retry-after": "30" }),
    calls: 2,
    total: 32,
  },
];
for (const { why, seconds, answer, calls, total } of slow) {
  test(`a reconcile can wait for all retries: ${why}`, async () => {
    let now = 1_000_000;
    const made = script(answer);
    const send: RegistrySend = (asked) => {
      now += seconds * 1000;
      return made.send(asked);
    };
    // Pauses the registry does not ask for are short.
    const pause = async (ms: number): Promise<void> => {
      if (ms > 5000) now += ms;
    };
    await retrying(send, pause, () => now)(request).catch(() => {});
    assert.deepEqual([made.calls(), (now - 1_000_000) / 1000], [calls, total]);
  });
}

test("pauses grow, are never the same for two clients, and are as long as the registry says", async () => {
  const pauses: number[] = [];
  const { send } = script(response(503), response(503), response(429, { "retry-after": "7" }), response(200));
  await retrying(send, async (ms) => void pauses.push(ms))(request);
  const [first = 0, second = 0, third = 0] = pauses;
  assert.ok(first >= 125 && first <= 375 && second >= 250 && second <= 750, pauses.join());
  assert.equal(third, 7000);
  const long = script(response(429, { "retry-after": "86400" }), response(200));
  await retrying(long.send, async (ms) => void pauses.push(ms))(request);
  assert.equal(pauses.at(-1), 30_000, "Retry-After is capped");
  const odd = script(response(429, { "retry-after": "Fri, 31 Dec 1999 23:59:59 GMT" }), response(200));
  await retrying(odd.send, async (ms) => void pauses.push(ms))(request);
  assert.ok((pauses.at(-1) ?? 0) <= 375);
});

test("an aborted request is not retried", async () => {
  const stopping = new AbortController();
  const made = script(broken);
  const send = retrying(made.send, async () => stopping.abort());
  await assert.rejects(send({ ...request, signal: stopping.signal }));
  assert.ok(made.calls() <= 2);
});

test("transient response statuses", () => {
  const statuses = [200, 400, 401, 404, 408, 425, 429, 500, 501, 502, 503, 504];
  assert.deepEqual(statuses.filter(isPassing), [408, 425, 429, 500, 502, 503, 504]);
});

const registry = "registry.example.org";
const transfers: { why: string; errors: unknown[]; progress?: number[]; runs: number; says?: RegExp }[] = [
  { why: "a whole one", errors: [], runs: 1 },
  { why: "one that breaks twice", errors: [broken, broken], runs: 3 },
  {
    why: "one that always breaks",
    errors: Array(9).fill(broken),
    runs: 4,
    says: /^connection to registry\.example\.org lost: read ECONNRESET$/,
  },
  {
    why: "one that breaks often, and gets further each time",
    errors: Array(9).fill(broken),
    progress: [0, 1, 2, 3, 4, 5, 6, 7, 8, 9],
    runs: 10,
  },
  {
    why: "one that gets no further after a while",
    errors: Array(9).fill(broken),
    progress: [0, 1, 2, 2, 2, 2, 2],
    runs: 6,
    says: /lost/,
  },
  { why: "one whose bytes are wrong", errors: [new OciError("DIGEST_MISMATCH", "wrong")], runs: 1, says: /^wrong$/ },
  { why: "a full disk", errors: [Object.assign(new Error("ENOSPC"), { code: "ENOSPC" })], runs: 1, says: /^ENOSPC$/ },
  {
    why: "an answer that is short of bytes",
    errors: Array(9).fill(new OciError("UNREACHABLE", "short")),
    runs: 4,
    says: /^short$/,
  },
  { why: "anything that is thrown", errors: ["text"], runs: 1, says: /text/ },
];
for (const { why, errors, progress = [0], runs, says } of transfers) {
  test(`transferring: ${why}`, async () => {
    let ran = 0;
    const run = async (): Promise<string> => {
      const error = errors[ran++];
      if (error !== undefined) throw error;
      return "done";
    };
    const far = (): number => progress[Math.min(ran, progress.length - 1)] ?? 0;
    const done = retryTransfer(run, { registry, pause: async () => {}, progress: far });
    if (says === undefined) assert.equal(await done, "done");
    else
      await assert.rejects(done, (error: unknown) => says.test(error instanceof Error ? error.message : String(error)));
    assert.equal(ran, runs);
  });
}

const silence = unreachable(request, broken);
const upload = unreachable({ ...request, method: "PUT", body: () => Readable.from([]) }, broken);
const stuck: { why: string; error: Error; seconds: number; grows?: boolean; runs: number }[] = [
  { why: "one that got no answer in all its tries is not begun again", error: silence, seconds: 1, runs: 1 },
  { why: "but an upload, which was sent once, is", error: upload, seconds: 1, runs: 4 },
  { why: "one that broke late may have got far, and is tried once more", error: broken, seconds: 30, runs: 2 },
  { why: "one that gets further continues, however long it takes", error: broken, seconds: 300, grows: true, runs: 10 },
];
for (const { why, error, seconds, grows = false, runs } of stuck) {
  test(`transferring slowly: ${why}`, async () => {
    let now = 0;
    let ran = 0;
    const run = async (): Promise<string> => {
      now += seconds * 1000;
      if (++ran < 10) throw error;
      return "done";
    };
    const progress = (): number => (grows ? ran : 0);
    await retryTransfer(run, { registry, pause: async () => {}, progress, now: () => now }).catch(() => {});
    assert.equal(ran, runs);
  });
}

test("a lost connection is an unreachable error", async () => {
  const run = (): Promise<never> => Promise.reject(broken);
  await assert.rejects(retryTransfer(run, { registry, pause: async () => {} }), (error) =>
    isOciError(error, "UNREACHABLE"),
  );
});
