// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { once } from "node:events";
import { createSecureServer } from "node:http2";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";
import { text } from "node:stream/consumers";
import { test } from "node:test";
import { createAuthority, issueCertificate } from "@purlin/certificates";
import { openSession } from "./http-session.ts";

const authority = createAuthority({ commonName: "test" });
const pair = issueCertificate(authority, { commonName: "server", ipAddresses: ["127.0.0.1"], usages: ["server"] });
const tls = { ca: authority.certPem, rejectUnauthorized: true };

/** A server that answers /hello and begins everything else without an end. */
async function startServer(): Promise<{ readonly port: number; stop(): void }> {
  const server = createSecureServer({ cert: pair.certPem, key: pair.keyPem }, (request, response) => {
    if (request.url === "/hello") response.end("hello");
    else response.write("begun");
  });
  // Clients here leave without a word.
  server.on("stream", (stream) => stream.on("error", () => {}));
  server.on("sessionError", () => {});
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return { port: (server.address() as AddressInfo).port, stop: () => void server.close() };
}

/** A proxy to a server that can drop all packets without closing connections. */
async function startWay(to: number): Promise<{ readonly port: number; block(): void; stop(): void }> {
  const ends = new Set<Socket>();
  const way = createServer((near) => {
    const far = connect(to, "127.0.0.1");
    for (const [one, other] of [[near, far] as const, [far, near] as const]) {
      ends.add(one);
      one.on("error", () => other.destroy()).on("close", () => other.destroy());
      one.pipe(other);
    }
  });
  way.listen(0, "127.0.0.1");
  await once(way, "listening");
  const block = (): void => {
    for (const end of ends) end.unpipe().pause();
  };
  const stop = (): void => {
    way.close();
    for (const end of ends) end.destroy();
  };
  return { port: (way.address() as AddressInfo).port, block, stop };
}

test("a request to a server that vanished fails, and the next request finds the server again", {
  timeout: 60_000,
}, async () => {
  const server = await startServer();
  const way = await startWay(server.port);
  // Time enough for a busy machine to answer before the way is blocked.
  const liveness = { pingEveryMs: 50, pingWithinMs: 3000 };
  const session = openSession(new URL(`https://127.0.0.1:${way.port}`), tls, liveness);
  const watch = await session.send({ method: "GET", path: "/watch", headers: {} });
  const [begun] = (await once(watch.body, "data")) as [Buffer];
  assert.equal(begun.toString(), "begun");
  way.block();
  const unanswered = session.send({ method: "GET", path: "/hello", headers: {} });
  await assert.rejects(once(watch.body, "end"), /ping/);
  await assert.rejects(unanswered, /ping|closed/);
  const again = await session.send({ method: "GET", path: "/hello", headers: {} });
  assert.equal(await text(again.body), "hello");
  session.close();
  way.stop();
  server.stop();
});

test("a server that answers pings is left alone, however long it sends nothing else", { timeout: 60_000 }, async () => {
  const server = await startServer();
  const session = openSession(new URL(`https://127.0.0.1:${server.port}`), tls, {
    pingEveryMs: 5,
    pingWithinMs: 5_000,
  });
  const watch = await session.send({ method: "GET", path: "/watch", headers: {} });
  await once(watch.body, "data");
  let ended = false;
  watch.body.once("close", () => {
    ended = true;
  });
  // Many pings later it is still the same stream.
  for (let i = 0; i < 20; i += 1) {
    assert.equal(await text((await session.send({ method: "GET", path: "/hello", headers: {} })).body), "hello");
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
  assert.equal(ended, false);
  session.close();
  server.stop();
});
