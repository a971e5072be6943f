// SPDX-License-Identifier: Apache-2.0
// How many HTTP/2 frames a function may send, in bytes as they come from a socket.
import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import { once } from "node:events";
import { createServer, type Socket } from "node:net";
import { type TestContext, test } from "node:test";
import { type ManualClock, manualClock } from "@purlin/base/testing";
import fc from "fast-check";
import { call, dial, request, targetAt } from "../../test/runs.ts";
import { createFrameLimit, createFrameReader, type FrameHeader, type FrameLimit } from "./frame-guard.ts";

const [data, headers, settings, push, ping, windowUpdate, unknown] = [0, 1, 4, 5, 6, 8, 0x77];
const preface = Buffer.from("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n");

function frame(type: number, length: number, flags = 0): Buffer {
  const bytes = Buffer.alloc(9 + length, 0x55);
  bytes.writeUIntBE(length, 0, 3);
  bytes[3] = type;
  bytes[4] = flags;
  bytes.writeUInt32BE([settings, ping, unknown].includes(type) ? 0 : 1, 5);
  return bytes;
}

const times = (count: number, ...frames: readonly Buffer[]): Buffer =>
  Buffer.concat(Array.from({ length: count }, () => frames).flat());

/** Cuts bytes into chunks of these sizes, over and over. */
function chunksOf(bytes: Buffer, sizes: readonly number[]): Buffer[] {
  const chunks: Buffer[] = [];
  for (let at = 0, i = 0; at < bytes.length; i++) {
    const size = sizes[i % sizes.length] ?? 1;
    chunks.push(bytes.subarray(at, at + size));
    at += size;
  }
  return chunks;
}

test("frames are read alike in chunks of any size", () => {
  const header = fc.record({ type: fc.nat(255), flags: fc.nat(255), length: fc.nat(600) }, { noNullPrototype: true });
  const frames = fc.array(header, { maxLength: 30 });
  const sizes = fc.array(fc.integer({ min: 1, max: 700 }), { minLength: 1, maxLength: 20 });
  fc.assert(
    fc.property(frames, sizes, fc.nat(40), (expected, sizes, prefaceBytes) => {
      const found: FrameHeader[] = [];
      const ends: number[] = [];
      let before = 0;
      const read = createFrameReader((header, end) => {
        found.push(header);
        ends.push(before + end);
      }, prefaceBytes);
      const sent = Buffer.concat([
        Buffer.alloc(prefaceBytes),
        ...expected.map(({ type, length, flags }) => frame(type, length, flags)),
      ]);
      for (const chunk of chunksOf(sent, sizes)) {
        read(chunk);
        before += chunk.length;
      }
      assert.deepEqual(found, expected);
      let at = prefaceBytes;
      const expectedEnds = expected.map(({ length }) => {
        at += 9 + length;
        return at - length;
      });
      assert.deepEqual(ends, expectedEnds);
    }),
  );
});

interface Counted {
  readonly limit: FrameLimit;
  readonly clock: ManualClock;
}

function connection(): Counted {
  const clock = manualClock(Date.UTC(2026, 0, 1));
  const limit = createFrameLimit(clock);
  limit.sent(Buffer.concat([preface, frame(settings, 24), frame(windowUpdate, 4)]));
  limit.received(Buffer.concat([frame(settings, 12), frame(settings, 0, 1)]));
  return { limit, clock };
}

/** What a gRPC server sends for a small call: window update, ping, headers, data, trailers, and the answer to our settings. */
const smallAnswer = Buffer.concat([
  frame(windowUpdate, 4),
  frame(ping, 8),
  frame(headers, 14),
  frame(data, 120),
  frame(headers, 24, 5),
  frame(settings, 0, 1),
]);
const smallCall = Buffer.concat([frame(headers, 90), frame(data, 200, 1)]);

test("a million small calls pass, however fast they are", () => {
  const { limit } = connection();
  const [calls, answers] = [times(100, smallCall), times(100, smallAnswer)];
  for (let i = 0; i < 10_000; i++) {
    limit.sent(calls);
    limit.received(answers);
  }
});

test("an answer of 64 MiB passes, in frames of any usual size", () => {
  for (const size of [1_024, 4_096, 16_384]) {
    const { limit } = connection();
    const mebibyte = times(2 ** 20 / size, frame(data, size));
    for (let i = 0; i < 64 * 20; i++) limit.received(mebibyte);
  }
});

test("the window updates for large requests pass", () => {
  const { limit } = connection();
  for (let i = 0; i < 100_000; i++) {
    limit.sent(frame(data, 16_384));
    limit.received(times(20, frame(windowUpdate, 4)));
  }
});

test("pings on a connection without calls pass for weeks", () => {
  const { limit, clock } = connection();
  for (let i = 0; i < 200_000; i++) {
    clock.advance(10_000);
    limit.received(frame(ping, 8));
  }
});

const floods: Readonly<Record<string, Buffer>> = {
  "data of one byte": frame(data, 1),
  "empty data": frame(data, 0),
  "data of one byte, padded to look large": frame(data, 257, 8),
  "informational headers": frame(headers, 5, 4),
  "large informational headers": frame(headers, 2_000, 4),
  "window updates": frame(windowUpdate, 4),
  pings: frame(ping, 8),
  settings: frame(settings, 0),
  "alternative services": frame(10, 300),
  origins: frame(12, 300),
  "frames of an unknown type": frame(unknown, 1),
};
for (const [name, one] of Object.entries(floods)) {
  test(`a flood is refused: ${name}`, () => {
    const { limit, clock } = connection();
    limit.sent(smallCall);
    let frames = 0;
    const flood = (): void => {
      for (; frames < 10_000_000; frames += 100) {
        // Two hundred thousand a second, which is less than a flood has.
        if (frames % 200 === 0) clock.advance(1);
        limit.received(times(100, one));
      }
    };
    assert.throws(
      flood,
      /^Error: the function sends too many HTTP\/2 frames: its DATA frames must have 256 bytes or more/,
    );
    assert.ok(frames < 51_000, `${frames} frames`);
  });
}

test("a clock that is set back does not count against the function", () => {
  const { limit, clock } = connection();
  limit.received(times(49_900, frame(ping, 8)));
  clock.advance(-1_000_000);
  limit.received(frame(ping, 8));
  clock.advance(1_000);
  limit.received(times(900, frame(ping, 8)));
});

test("a server push is refused, whatever else the function sends", () => {
  const { limit } = connection();
  assert.throws(
    () => limit.received(Buffer.concat([frame(data, 16_384), frame(push, 10, 4)])),
    /^Error: the function sends HTTP\/2 server pushes, which gRPC does not allow$/,
  );
});

/** A function that sends its settings, and an answer of its own once it is called. */
async function serveFrames(t: TestContext, answer: Buffer): Promise<{ endpoint: string; sockets: Set<Socket> }> {
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on("error", () => {});
    socket.write(frame(settings, 0));
    const read = createFrameReader(({ type, flags }) => {
      if (type === settings && (flags & 1) === 0) socket.write(frame(settings, 0, 1));
      if (type === data && (flags & 1) !== 0) socket.write(answer);
    }, preface.length);
    socket.on("data", read);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  t.after(() => server.close());
  const { port } = server.address() as { port: number };
  return { endpoint: `127.0.0.1:${port}`, sockets };
}

/** A HEADERS frame with status 103. */
const earlyHints = Buffer.concat([frame(headers, 5, 4).subarray(0, 9), Buffer.from([0x08, 3]), Buffer.from("103")]);

for (const [name, answer, want] of [
  ["tiny frames", times(200_000, earlyHints), "sends too many HTTP/2 frames: "],
  ["pushes", times(10, frame(push, 4)), "sends HTTP/2 server pushes, "],
] as const) {
  test(`a call that is answered with ${name} fails and says so, and its connection is closed`, async (t) => {
    const { endpoint, sockets } = await serveFrames(t, answer);
    const runner = dial(t);
    const text = `cannot run Function "fn": rpc error: code = Internal desc = the function ${want}`;
    await assert.rejects(runner.run(targetAt(endpoint), request(), call()), ({ message }: Error) =>
      message.startsWith(text),
    );
    const [socket] = sockets;
    assert.ok(socket !== undefined);
    if (!socket.closed) await new Promise((resolve) => socket.once("close", resolve));
  });
}
