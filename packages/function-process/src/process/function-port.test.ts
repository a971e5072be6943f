// SPDX-License-Identifier: Apache-2.0

import assert from "node:assert/strict";
import { once } from "node:events";
import { createSecureServer, type ServerHttp2Stream } from "node:http2";
import { type AddressInfo, createServer, type Server } from "node:net";
import { test } from "node:test";
import { createSecureContext, type SecureContext } from "node:tls";
import { createAuthority, issueCertificate } from "@purlin/certificates";
import { answers, createPortPool, untilItAnswers } from "./function-port.ts";

const authority = createAuthority({ commonName: "test" });
const server = issueCertificate(authority, { commonName: "s", dnsNames: ["localhost"], usages: ["server"] });
const client = issueCertificate(authority, { commonName: "c", usages: ["client"] });
const tls = createSecureContext({ ca: authority.certPem, cert: client.certPem, key: client.keyPem });

interface Peer extends AsyncDisposable {
  readonly address: string;
}

async function listening(peer: Server, port = 0): Promise<Peer> {
  peer.listen({ host: "127.0.0.1", port });
  await once(peer, "listening");
  const { port: actual } = peer.address() as AddressInfo;
  return { address: `127.0.0.1:${actual}`, [Symbol.asyncDispose]: async () => void peer.close() };
}

function grpcServer(answer: (stream: ServerHttp2Stream) => void): Server {
  const options = { key: server.keyPem, cert: server.certPem, ca: authority.certPem, requestCert: true };
  return createSecureServer(options).on("stream", answer) as unknown as Server;
}

/** Answers with a message, if any, and a status. */
function reply(status: number, message?: readonly number[]): (stream: ServerHttp2Stream) => void {
  return (stream) => {
    if (message === undefined) {
      stream.respond({ "content-type": "application/grpc", "grpc-status": status }, { endStream: true });
      return;
    }
    stream.respond({ "content-type": "application/grpc" }, { waitForTrailers: true });
    stream.on("wantTrailers", () => stream.sendTrailers({ "grpc-status": status }));
    stream.end(Buffer.from(message));
  };
}

const servers: Record<string, { readonly peer: () => Server; readonly answers: boolean; readonly why: string }> = {
  Serving: { peer: () => grpcServer(reply(0, [0, 0, 0, 0, 2, 8, 1])), answers: true, why: "its health check says so" },
  NotServing: {
    peer: () => grpcServer(reply(0, [0, 0, 0, 0, 2, 8, 2])),
    answers: false,
    why: "its health check says so",
  },
  UnknownState: { peer: () => grpcServer(reply(0, [0, 0, 0, 0, 0])), answers: false, why: "unknown is not serving" },
  NoHealthService: { peer: () => grpcServer(reply(12)), answers: true, why: "most SDKs have none, and it serves gRPC" },
  Internal: { peer: () => grpcServer(reply(13)), answers: false, why: "a server that fails is not ready" },
  NotGrpc: {
    peer: () => grpcServer((stream) => stream.respond({ ":status": 404 }, { endStream: true })),
    answers: false,
    why: "another server listens there",
  },
  HangsUp: { peer: () => createServer((socket) => socket.destroy()), answers: false, why: "no TLS" },
};
for (const [name, { peer, answers: expected, why }] of Object.entries(servers)) {
  test(`whether a function answers: ${name}`, async () => {
    await using at = await listening(peer());
    assert.equal(await answers({ address: at.address, tls, signal: AbortSignal.timeout(30_000) }), expected, why);
  });
}

test("a peer with a certificate of another authority is rejected", async () => {
  const other: SecureContext = createSecureContext({ ca: createAuthority({ commonName: "other" }).certPem });
  await using at = await listening(grpcServer(reply(12)));
  assert.equal(await answers({ address: at.address, tls: other, signal: AbortSignal.timeout(30_000) }), false);
});

test("an answer without end is refused after a few bytes of it", async () => {
  const closed = Promise.withResolvers<void>();
  let bytes = 0;
  const mebibyte = Buffer.alloc(2 ** 20);
  const server = grpcServer((stream) => {
    stream.respond({ "content-type": "application/grpc" });
    const more = (): void => {
      bytes += mebibyte.length;
      stream.write(mebibyte, (error) => error ?? more());
    };
    stream.on("error", () => {}).once("close", closed.resolve);
    more();
  });
  await using at = await listening(server);
  // Its limit of time is never reached.
  const never = new AbortController();
  assert.equal(await answers({ address: at.address, tls, signal: never.signal }), false);
  await closed.promise;
  assert.ok(bytes <= 8 * mebibyte.length, `${bytes} bytes`);
});

test("another function that took the port is not the function", async () => {
  await using at = await listening(grpcServer(reply(12)));
  const ask = (commonName: string): Promise<boolean> =>
    answers({ address: at.address, tls, commonName, signal: AbortSignal.timeout(30_000) });
  assert.equal(await ask("other-function"), false);
  assert.equal(await ask("s"), true);
});

test("a silent peer is probed again until the signal aborts", async () => {
  await using at = await listening(createServer(() => {}));
  const stop = new AbortController();
  const waiting = untilItAnswers({ address: at.address, tls, signal: stop.signal });
  stop.abort(new Error("enough"));
  await assert.rejects(waiting, /enough/);
});

test("a function that comes up later is found", async () => {
  const placeholder = await listening(createServer());
  const { address } = placeholder;
  await placeholder[Symbol.asyncDispose]();
  const found = untilItAnswers({ address, tls, signal: AbortSignal.timeout(30_000) });
  await using _ = await listening(grpcServer(reply(12)), Number(address.split(":")[1]));
  await found;
});

test("ports are free and none is handed out twice at a time", async () => {
  const pool = createPortPool();
  const ports = await Promise.all(Array.from({ length: 50 }, () => pool.take()));
  assert.equal(new Set(ports).size, 50);
  const [port = 0] = ports;
  const server = createServer().listen({ host: "127.0.0.1", port });
  await once(server, "listening");
  server.close();
  for (const taken of ports) pool.giveBack(taken);
});

test("the wanted port is returned if it is free, otherwise another one", async () => {
  const pool = createPortPool();
  const port = await pool.take();
  assert.notEqual(await pool.take(port), port, "it was handed out");
  pool.giveBack(port);
  assert.equal(await pool.take(port), port);
  pool.giveBack(port);
  const server = createServer().listen({ host: "127.0.0.1", port });
  await once(server, "listening");
  assert.notEqual(await pool.take(port), port, "another program listens there");
  server.close();
});

test("a published port of a function that did not come up there is not given to other functions", async () => {
  const offered = [4711, 4711, 4712, 4711];
  const pool = createPortPool(async (wanted) => wanted || offered.shift());
  assert.equal(await pool.take(4711), 4711);
  pool.giveBack(4711);
  assert.equal(await pool.take(), 4712, "callers of the first function would reach the second");
  assert.equal(await pool.take(4711), 4711, "the function itself gets it again");
});
