// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer, type IncomingMessage, request } from "node:http";
import { connect, createServer as createServer2, type ServerHttp2Stream } from "node:http2";
import type { AddressInfo } from "node:net";
import { Writable } from "node:stream";
import { type TestContext, test } from "node:test";
import { setImmediate } from "node:timers/promises";
import { http1Exchange, http2Exchange } from "./exchange.ts";
import { largeBytes, writeBody } from "./write-body.ts";

/** A connection that takes what was written when `take` is called. */
function connection() {
  const waiting: (() => void)[] = [];
  const taken: number[] = [];
  const stream = new Writable({
    write: (bytes: Buffer, _, done) => {
      waiting.push(() => {
        taken.push(bytes.length);
        done();
      });
    },
  });
  return { stream, taken, take: () => waiting.shift()?.() };
}

test("a small body is handed over at once", () => {
  const { stream, take, taken } = connection();
  const chunks = [Buffer.alloc(100), Buffer.alloc(largeBytes - 100)];
  const ends: (number | undefined)[] = [];
  const end = (last?: Uint8Array): void => void ends.push(last?.length);
  assert.equal(writeBody(stream, { chunks, end, abort: assert.fail }), undefined);
  take();
  assert.deepEqual([taken, ends], [[100], [largeBytes - 100]]);
});

test("a large body is written piece by piece, as the connection takes it", async () => {
  const { stream, take, taken } = connection();
  const chunks = [Buffer.alloc(10), Buffer.alloc(5 * largeBytes), Buffer.alloc(20)];
  const written = writeBody(stream, { chunks, end: () => stream.end(), abort: assert.fail });
  let most = 0;
  for (let total = 0; total < 5 * largeBytes + 30; total = taken.reduce((sum, size) => sum + size, 0)) {
    most = Math.max(most, stream.writableLength);
    take();
    await setImmediate();
  }
  await written;
  assert.ok(most <= 2 * largeBytes, `${most} bytes were handed over`);
  assert.ok(stream.writableFinished);
});

test("a client that takes nothing for a minute is disconnected, one that takes something is not", async (t) => {
  t.mock.timers.enable({ apis: ["setTimeout"] });
  const { stream, take } = connection();
  let aborted = 0;
  const abort = (): void => {
    aborted += 1;
    stream.destroy();
  };
  const written = writeBody(stream, { chunks: [Buffer.alloc(9 * largeBytes)], end: () => stream.end(), abort });
  for (let at = 0; at < 4; at++) {
    t.mock.timers.tick(59_000);
    take();
    await setImmediate();
  }
  assert.equal(aborted, 0);
  t.mock.timers.tick(60_000);
  await written;
  assert.equal(aborted, 1);
});

test("the body of a client that has gone is not waited for", async () => {
  const { stream } = connection();
  const body = { chunks: [Buffer.alloc(3 * largeBytes)], end: () => {}, abort: () => {} };
  const written = writeBody(stream, body);
  stream.destroy();
  await written;
  await writeBody(stream, body);
});

test("a client that takes a large body too slowly is disconnected, although it takes some now and then", async () => {
  let taken = 0;
  const slow = new Writable({
    highWaterMark: 1,
    write: (_chunk, _, done) => {
      taken += 1;
      setTimeout(done, 20);
    },
  });
  const [chunks, end] = [[Buffer.alloc(1000 * largeBytes)], (): void => void slow.end()];
  const abort = (): void => void slow.destroy();
  await writeBody(slow, { chunks, end, abort }, { stalledMs: 500, leastBytesPerSecond: Number.POSITIVE_INFINITY });
  assert.ok(slow.destroyed && !slow.writableFinished, "it was not disconnected");
  assert.ok(taken > 1 && taken < 1000, `${taken} pieces were taken`);
});

const bytes = Buffer.alloc(20 * largeBytes, "x");
const headers = { "content-length": String(bytes.length) };

test("HTTP/1.1: a large body arrives whole, and is taken when the client has read it", async (t: TestContext) => {
  let written: Promise<void> | undefined;
  const server = createServer((incoming, outgoing) => {
    written = http1Exchange(incoming, outgoing).respond(200, headers, [bytes]);
  }).listen(0, "127.0.0.1");
  t.after(() => server.close());
  await once(server, "listening");
  const sent = request({ host: "127.0.0.1", port: (server.address() as AddressInfo).port }).end();
  const [response] = (await once(sent, "response")) as [IncomingMessage];
  let isTaken = false;
  void written?.then(() => {
    isTaken = true;
  });
  await setImmediate();
  assert.equal(isTaken, false);
  let size = 0;
  for await (const part of response) size += (part as Buffer).length;
  assert.equal(size, bytes.length);
  await written;
});

test("HTTP/2: a large body arrives whole, and one whose stream is cancelled is not waited for", async (t: TestContext) => {
  const written: (Promise<void> | undefined)[] = [];
  const server = createServer2().listen(0, "127.0.0.1");
  server.on("stream", (stream: ServerHttp2Stream, given) => {
    written.push(http2Exchange(stream, given).respond(200, headers, [bytes]));
  });
  t.after(() => server.close());
  await once(server, "listening");
  const client = connect(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
  t.after(() => client.close());
  let size = 0;
  for await (const part of client.request({ ":path": "/" })) size += (part as Buffer).length;
  assert.equal(size, bytes.length);
  await written[0];
  const cancelled = client.request({ ":path": "/" });
  await once(cancelled, "response");
  cancelled.close();
  await written[1];
});
