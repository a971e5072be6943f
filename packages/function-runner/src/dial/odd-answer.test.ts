// SPDX-License-Identifier: Apache-2.0
// Answers no gRPC server gives: written by hand on HTTP/2, as a proxy, a web server or a broken function might.
import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import { once } from "node:events";
import {
  constants,
  createServer,
  type Http2Server,
  type OutgoingHttpHeaders,
  type ServerHttp2Session,
  type ServerHttp2Stream,
} from "node:http2";
import type { AddressInfo } from "node:net";
import { type TestContext, test } from "node:test";
import { gzipSync } from "node:zlib";
import { create, encode, ResponseMeta, RunFunctionResponse } from "@purlin/function-protocol";
import { call, dial, request, targetAt } from "../../test/runs.ts";

const grpc = { ":status": 200, "content-type": "application/grpc" };
const limit = 65_536;
const advice = "correct the function, or raise the limit with --function-limit";
const ok = { "grpc-status": "0" };
const answer = encode(RunFunctionResponse, create(RunFunctionResponse, { meta: create(ResponseMeta, { tag: "t" }) }));

/** A message as gRPC frames it. */
function framed(message: Uint8Array, { compressed = false, size = message.length } = {}): Buffer {
  const head = Buffer.alloc(5);
  head[0] = compressed ? 1 : 0;
  head.writeUInt32BE(size, 1);
  return Buffer.concat([head, message]);
}

type Respond = (stream: ServerHttp2Stream) => void;

/** Headers, a body and what comes after it. */
const sends =
  (headers: OutgoingHttpHeaders, body: Uint8Array, trailers: OutgoingHttpHeaders): Respond =>
  (stream) => {
    stream.respond(headers, { waitForTrailers: true });
    stream.once("wantTrailers", () => stream.sendTrailers(trailers));
    stream.end(body);
  };

/** Headers and nothing else, which is how gRPC sends a status without a message. */
const endsWith =
  (headers: OutgoingHttpHeaders): Respond =>
  (stream) =>
    stream.respond(headers, { endStream: true });

const page =
  (status: number): Respond =>
  (stream) => {
    stream.respond({ ":status": status, "content-type": "text/html; charset=utf-8" });
    stream.end("<html><body>Welcome</body></html>");
  };

const answers: Readonly<Record<string, { reason: string; respond: Respond; want: string }>> = {
  WebPage: {
    reason: "what is there is a web server, and its page is not a message of 1.7 GB",
    respond: page(200),
    want: 'Unknown desc = the function answers with "text/html; charset=utf-8", not with gRPC',
  },
  WebPageNotFound: {
    reason: "a status of HTTP says more than the type of its page; both versions of the protocol were asked for",
    respond: page(404),
    want: "Unimplemented desc = Received HTTP status code 404",
  },
  Busy: {
    reason: "a proxy in front of a function that is not there",
    respond: page(503),
    want: "Unavailable desc = Received HTTP status code 503",
  },
  NoMessage: {
    reason: "OK without a message is not a response, and not a version the function lacks",
    respond: endsWith({ ...grpc, ...ok }),
    want: "Internal desc = the function says OK and sends no whole answer",
  },
  HalfMessage: {
    reason: "OK after half a message is not a response",
    respond: sends(grpc, framed(answer, { size: 100 }), ok),
    want: "Internal desc = the function says OK and sends no whole answer",
  },
  NotANumber: {
    reason: "a malformed status is Unknown",
    respond: sends(grpc, framed(answer), { "grpc-status": "fine" }),
    want: "Unknown desc = the function's status is not a number",
  },
  SecondThoughts: {
    reason: "a status that comes after a whole message counts",
    respond: sends(grpc, framed(answer), { "grpc-status": "13", "grpc-message": "could not%0A finish" }),
    want: "Internal desc = could not finish",
  },
  UnknownCompression: {
    reason: "a compression the runner did not offer",
    respond: sends({ ...grpc, "grpc-encoding": "snappy" }, framed(answer, { compressed: true }), ok),
    want: "Internal desc = the function's answer is compressed with an encoding that this runner does not support",
  },
  UnnamedCompression: {
    reason: "a message that says it is compressed, and headers that do not say how",
    respond: sends(grpc, framed(gzipSync(answer), { compressed: true }), ok),
    want: "Internal desc = the function's answer is compressed with an encoding that this runner does not support",
  },
  BrokenCompression: {
    reason: "a message that is not what its headers say",
    respond: sends({ ...grpc, "grpc-encoding": "gzip" }, framed(answer, { compressed: true }), ok),
    want: "Internal desc = Failed to decompress gzip-encoded message",
  },
  Bomb: {
    reason: "a small message that becomes a large one is stopped at the limit, and the request is not blamed",
    respond: sends(
      { ...grpc, "grpc-encoding": "gzip" },
      framed(gzipSync(Buffer.alloc(4 * limit)), { compressed: true }),
      ok,
    ),
    want: `ResourceExhausted desc = Received message that decompresses to a size larger than ${limit} (limit answerBytes=${limit}): ${advice}`,
  },
  LongClaim: {
    reason: "a message that claims four gigabytes is refused by its claim, before any of it is waited for",
    respond: (stream) => {
      stream.respond(grpc);
      stream.write(framed(answer, { size: 0xffff_ffff }));
    },
    want: `ResourceExhausted desc = Received message larger than max (4294967295 vs ${limit}): the function's answer has 4294967295 bytes (limit answerBytes=${limit}): ${advice}`,
  },
  Overload: {
    reason: "a function that has enough of its caller has not been sent too much at once",
    respond: (stream) => stream.close(constants.NGHTTP2_ENHANCE_YOUR_CALM),
    want: "ResourceExhausted desc = Bandwidth exhausted or memory limit exceeded",
  },
  NoStatus: {
    reason: "a message without a status after it is not an answer",
    respond: (stream) => {
      stream.respond(grpc);
      stream.end(framed(answer));
    },
    want: "Internal desc = Received RST_STREAM with code 0 (Call ended without gRPC status)",
  },
  Cancelled: {
    reason: "a call the peer cancels was not cancelled by us",
    respond: (stream) => stream.close(constants.NGHTTP2_CANCEL),
    want: "Canceled desc = Call cancelled",
  },
};

for (const [name, { reason, respond, want }] of Object.entries(answers)) {
  test(`odd answer ${name}: ${reason}`, async (t) => {
    const endpoint = await serve(t, respond);
    const runner = dial(t, { answerLimits: { answerBytes: limit } });
    const message = `cannot run Function "fn": rpc error: code = ${want}`;
    await assert.rejects(runner.run(targetAt(endpoint), request(), call()), { code: "RPC", message });
    assert.equal(runner.stats().callsInFlight, 0);
  });
}

test("an answer compressed with gzip is read", async (t) => {
  const compressed = framed(gzipSync(answer), { compressed: true });
  const endpoint = await serve(t, sends({ ...grpc, "grpc-encoding": "gzip" }, compressed, ok));
  const { meta } = await dial(t).run(targetAt(endpoint), request(), call());
  assert.equal(meta?.tag, "t");
});

test("a function that says goodbye during a call may finish it, and the next call makes a new connection", async (t) => {
  const sessions = new Set<unknown>();
  const endpoint = await serve(t, (stream) => {
    sessions.add(stream.session);
    stream.session?.goaway(constants.NGHTTP2_NO_ERROR);
    sends(grpc, framed(answer), ok)(stream);
  });
  const runner = dial(t);
  for (let i = 0; i < 2; i++) await runner.run(targetAt(endpoint), request(), call());
  assert.equal(sessions.size, 2);
});

async function serve(t: TestContext, respond: Respond): Promise<string> {
  const server: Http2Server = createServer();
  const sessions = new Set<ServerHttp2Session>();
  const ignore = (): void => {};
  server.on("session", (session) => sessions.add(session.on("error", ignore)));
  server.on("stream", (stream: ServerHttp2Stream) => respond(stream.on("error", ignore)));
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  t.after(() => {
    for (const session of sessions) session.destroy();
    server.close();
  });
  return `127.0.0.1:${(server.address() as AddressInfo).port}`;
}
