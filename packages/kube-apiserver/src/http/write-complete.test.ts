// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import { setImmediate } from "node:timers/promises";
import { gunzipSync } from "node:zlib";
import { type CompleteResponse, documentPayload } from "../request/api-request.ts";
import type { Exchange } from "./exchange.ts";
import { writeComplete } from "./write-complete.ts";

interface Sent {
  readonly code: number;
  readonly headers: Readonly<Record<string, unknown>>;
  readonly chunks: readonly Uint8Array[];
}

/** What goes to the other side of an exchange. */
async function sent(response: CompleteResponse, headers: Record<string, string> = {}, method = "GET"): Promise<Sent> {
  let seen: Sent | undefined;
  const exchange = {
    method,
    headers,
    respond: (code: number, outgoing: Sent["headers"], chunks: readonly Uint8Array[]) => {
      seen = { code, headers: outgoing, chunks };
    },
  } as unknown as Exchange;
  await writeComplete(exchange, response, { auditId: "audit" });
  assert.ok(seen);
  return seen;
}

const answer = (chunks: readonly string[], headers: Record<string, string> = {}): CompleteResponse => ({
  kind: "complete",
  code: 200,
  headers,
  payload: { contentType: "text/plain", chunks: () => chunks.map((text) => Buffer.from(text)), value: () => null },
});
const large = "x".repeat(200 * 1024);

test("small pieces go in one", async () => {
  const { chunks, headers } = await sent(answer(["ab", "c"]));
  assert.deepEqual(
    chunks.map((chunk) => Buffer.from(chunk).toString()),
    ["abc"],
  );
  assert.equal(headers["content-length"], "3");
});

test("large ones are not copied", async () => {
  const { chunks } = await sent(answer([large, "\n"]));
  assert.deepEqual(
    chunks.map(({ length }) => length),
    [large.length, 1],
  );
});

test("large answers are compressed for clients that accept it, and have a Vary header", async () => {
  const { chunks, headers } = await sent(answer([large]), { "accept-encoding": "deflate, gzip;q=0.5" });
  assert.equal(headers["content-encoding"], "gzip");
  assert.equal(headers["vary"], "Accept-Encoding");
  assert.equal(gunzipSync(Buffer.concat(chunks)).toString(), large);
  assert.equal(headers["content-length"], String(Buffer.concat(chunks).length));
});

const varies: Record<string, string> = {
  Accept: "Accept-Encoding, Accept",
  "Accept-Encoding, Accept": "Accept-Encoding, Accept",
};
for (const [before, after] of Object.entries(varies)) {
  test(`what depended on ${before} depends on ${after}`, async () => {
    const { headers } = await sent(answer([large], { vary: before }), { "accept-encoding": "gzip" });
    assert.equal(headers["vary"], after);
  });
}

for (const encoding of ["", "identity", "gzip;q=0", "br"]) {
  test(`"${encoding}" does not accept gzip`, async () => {
    const { headers } = await sent(answer([large]), { "accept-encoding": encoding });
    assert.equal(headers["content-encoding"], undefined);
  });
}

test("what is known already and what was not asked for is not sent", async () => {
  const known = await sent({ kind: "complete", code: 304, headers: { etag: '"x"' } });
  assert.deepEqual([known.chunks, known.headers["content-length"]], [[], undefined]);
  const head = await sent(answer(["abc"]), {}, "HEAD");
  assert.deepEqual([head.chunks, head.headers["content-length"]], [[], "3"]);
});

/** Records when large responses begin and end. */
function largeOnes() {
  const events: string[] = [];
  const beginLarge = async () => {
    events.push("begins");
    return () => {
      if (!events.includes("ends")) events.push("ends");
    };
  };
  return { events, beginLarge };
}

const documentOf = (items: number): CompleteResponse => ({
  kind: "complete",
  code: 200,
  payload: documentPayload(
    { items: Array.from({ length: items }, () => ({ text: "x".repeat(1000) })) },
    { mediaType: "application/json" },
  ),
});

test("a large response ends when the client has taken it", async () => {
  const { events, beginLarge } = largeOnes();
  const taken = Promise.withResolvers<void>();
  const respond = (): Promise<void> => {
    events.push("is written");
    return taken.promise;
  };
  const exchange = { method: "GET", headers: {}, respond } as unknown as Exchange;
  const written = writeComplete(exchange, documentOf(1000), { auditId: "audit", beginLarge });
  while (!events.includes("is written")) await setImmediate();
  assert.deepEqual(events, ["begins", "is written"]);
  taken.resolve();
  await written;
  assert.deepEqual(events, ["begins", "is written", "ends"]);
});

test("a response that has many parts and is small ends before it is written, and a short one is never large", async () => {
  const expected: Record<number, readonly string[]> = { 1: ["is written"], 230: ["begins", "ends", "is written"] };
  for (const [items, wanted] of Object.entries(expected)) {
    const { events, beginLarge } = largeOnes();
    const exchange = { method: "GET", headers: {}, respond: () => void events.push("is written") };
    await writeComplete(exchange as unknown as Exchange, documentOf(Number(items)), { auditId: "audit", beginLarge });
    assert.deepEqual(events, wanted, `${items} items`);
  }
});

test("a large response that fails ends", async () => {
  const { events, beginLarge } = largeOnes();
  const exchange = { method: "GET", headers: {}, respond: () => Promise.reject(new Error("broken")) };
  const written = writeComplete(exchange as unknown as Exchange, documentOf(1000), { auditId: "audit", beginLarge });
  await assert.rejects(written, /broken/);
  assert.deepEqual(events, ["begins", "ends"]);
});
