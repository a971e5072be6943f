// SPDX-License-Identifier: Apache-2.0
// Clients that send slowly: other clients are served meanwhile, and the slow ones are dropped in the end.
import assert from "node:assert/strict";
import { once } from "node:events";
import { connect as connectTcp } from "node:net";
import { test } from "node:test";
import { connect as connectTls } from "node:tls";
import type { Target } from "../conformance/harness/wire.ts";
import { ask, configMap, configMaps } from "./harness/config-maps.ts";
import { chaosDirectory, startServer } from "./harness/server-process.ts";

const each = 100;
const http2Preface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
const emptySettings = Buffer.from([0, 0, 0, 4, 0, 0, 0, 0, 0]);
/** HEADERS of stream 1, not the end of the headers: a CONTINUATION is promised that never comes. */
const unfinishedHeaders = Buffer.from([0, 0, 1, 1, 0, 0, 0, 0, 1, 0x82]);

interface Loris {
  readonly protocol?: "h2" | "http/1.1";
  /** What it says at first. */
  readonly says: readonly (string | Buffer)[];
  /** What it adds now and then, to look alive. */
  readonly drips: string | Buffer;
}

const kinds: Readonly<Record<string, Loris>> = {
  "no handshake": { says: [], drips: "" },
  "half a handshake": { says: [Buffer.from([0x16, 3, 1, 2, 0, 1])], drips: Buffer.from([0]) },
  "no request": { protocol: "http/1.1", says: [], drips: "" },
  "dripping headers": { protocol: "http/1.1", says: ["GET /version HTTP/1.1\r\nHost: x\r\nX-A: "], drips: "a" },
  "endless headers": { protocol: "http/1.1", says: ["GET /version HTTP/1.1\r\nHost: x\r\n"], drips: "X-B: b\r\n" },
  "dripping body": {
    protocol: "http/1.1",
    says: [`POST ${configMaps} HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 5000\r\n\r\n{`],
    drips: " ",
  },
  "unfinished HTTP/2 headers": { protocol: "h2", says: [http2Preface, emptySettings, unfinishedHeaders], drips: "" },
};

/** Opens a connection, says the first words and sends the rest slowly; resolves to how it ended. */
async function annoy(target: Target, { protocol, says, drips }: Loris): Promise<{ dropped: Promise<unknown> }> {
  const { hostname: host, port: text } = new URL(target.server);
  const port = Number(text);
  const { caPem: ca, certPem: cert, keyPem: key } = target;
  const socket = protocol
    ? connectTls({ host, port, ca, cert, key, ALPNProtocols: [protocol] })
    : connectTcp(port, host);
  socket.on("error", () => {}).resume();
  // Closed or reset: either way it is dropped.
  const dropped = new Promise((resolve) => socket.once("close", resolve));
  const connected = once(socket, protocol ? "secureConnect" : "connect").catch(() => {});
  await Promise.race([connected, dropped]);
  for (const words of says) socket.write(words);
  const dripping = setInterval(() => socket.writable && socket.write(drips), 1000);
  void dropped.then(() => clearInterval(dripping));
  return { dropped };
}

test(`${each * Object.keys(kinds).length} clients that never finish a sentence`, { timeout: 300_000 }, async () => {
  await using server = startServer({ directory: chaosDirectory() });
  const target = await server.ready;
  assert.equal((await ask(target, "POST", configMaps, configMap("first", "1"))).code, 201);
  const before = server.memory();
  const all = Object.values(kinds).flatMap((kind) => Array.from({ length: each }, () => kind));
  const annoying = await Promise.all(all.map((kind) => annoy(target, kind)));

  for (let i = 0; i < 200; i += 1) {
    assert.equal((await ask(target, "POST", configMaps, configMap(`meanwhile-${i}`, "1"))).code, 201);
  }
  assert.equal((await ask(target, "GET", "/readyz")).code, 200);
  const grown = (server.memory() - before) / all.length;
  assert.ok(grown < 0.3, `each of them costs ${(grown * 1024).toFixed(0)} KiB`);

  // Nothing is asserted about when: only that none of them stays.
  await Promise.all(annoying.map(({ dropped }) => dropped));
  assert.equal((await ask(target, "GET", `${configMaps}/first`)).code, 200);
});
