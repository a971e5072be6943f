// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { once } from "node:events";
import { createServer, type IncomingMessage, type Server } from "node:http";
import { createServer as createHttps } from "node:https";
import type { AddressInfo } from "node:net";
import type { Duplex } from "node:stream";
import { buffer, text } from "node:stream/consumers";
import { after, describe, test } from "node:test";
import type { TLSSocket } from "node:tls";
import { createAuthority, issueCertificate } from "@purlin/certificates";
import { isForbidden, isNotFound, isUnauthorized } from "@purlin/kube-objects/errors";
import fc from "fast-check";
import { type ClusterAccess, type CredentialSource, fixedCredentials } from "./cluster-access.ts";
import { openPortForward } from "./port-forward.ts";

const port = 9443;
const announcement = Buffer.of(port & 0xff, port >> 8);

type Upgrade = (request: IncomingMessage, socket: Duplex) => void;

const open: Server[] = [];
const sockets: Duplex[] = [];
after(async () => {
  for (const socket of sockets) socket.destroy();
  for (const server of open) server.closeAllConnections();
  await Promise.all(open.map((server) => once(server.close(), "close")));
});

async function serve(onUpgrade: Upgrade, server: Server = createServer()): Promise<string> {
  server.on("upgrade", (request: IncomingMessage, socket: Duplex) => {
    socket.on("error", () => {});
    sockets.push(socket);
    onUpgrade(request, socket);
  });
  open.push(server);
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return `127.0.0.1:${(server.address() as AddressInfo).port}`;
}

function agree({ headers }: IncomingMessage, socket: Duplex, protocol = "v4.channel.k8s.io"): void {
  const key = `${headers["sec-websocket-key"] ?? ""}258EAFA5-E914-47DA-95CA-C5AB0DC85B11`;
  const accept = createHash("sha1").update(key).digest("base64");
  const lines = ["Upgrade: websocket", "Connection: Upgrade", `Sec-WebSocket-Accept: ${accept}`];
  socket.write(`HTTP/1.1 101 Switching\r\n${lines.join("\r\n")}\r\nSec-WebSocket-Protocol: ${protocol}\r\n\r\n`);
}

/** A frame of a server: the first byte, then the payload. */
function frame(first: number, payload: Buffer): Buffer {
  const { length } = payload;
  if (length < 126) return Buffer.concat([Buffer.of(first, length), payload]);
  const size = Buffer.alloc(length < 65_536 ? 2 : 8);
  if (length < 65_536) size.writeUInt16BE(length);
  else size.writeBigUInt64BE(BigInt(length));
  return Buffer.concat([Buffer.of(first, length < 65_536 ? 126 : 127), size, payload]);
}

const message = (channel: number, payload: Buffer | string): Buffer =>
  frame(0x82, Buffer.concat([Buffer.of(channel), Buffer.from(payload)]));
const announced = Buffer.concat([message(0, announcement), message(1, announcement)]);
const closing = frame(0x88, Buffer.of(0x03, 0xe8));

/** Agrees and sends these bytes, in pieces of a size. */
const sending =
  (bytes: Buffer, size = bytes.length): Upgrade =>
  (request, socket) => {
    agree(request, socket);
    for (let at = 0; at < bytes.length; at += size) socket.write(bytes.subarray(at, at + size));
    socket.end();
  };

const access = (address: string, credentials: CredentialSource = fixedCredentials({})): ClusterAccess => ({
  server: `http://${address}`,
  credentials,
});
const target = { namespace: "crossplane-system", pod: "fn-1", port };

async function connected(onUpgrade: Upgrade): Promise<Duplex> {
  return openPortForward(access(await serve(onUpgrade)), target);
}

interface ClientFrame {
  readonly first: number;
  readonly isMasked: boolean;
  readonly payload: Buffer;
}

/** Calls back with each frame that a client sends. */
function onFrames(socket: Duplex, onFrame: (frame: ClientFrame) => void): void {
  let bytes = Buffer.alloc(0);
  socket.on("data", (chunk: Buffer) => {
    bytes = Buffer.concat([bytes, chunk]);
    for (;;) {
      if (bytes.length < 2) return;
      const code = bytes.readUInt8(1) & 0x7f;
      const start = code === 126 ? 4 : 2;
      if (bytes.length < start) return;
      const length = code === 126 ? bytes.readUInt16BE(2) : code;
      const end = start + 4 + length;
      if (bytes.length < end) return;
      const mask = bytes.subarray(start, start + 4);
      const payload = Buffer.from(bytes.subarray(start + 4, end).map((byte, at) => byte ^ (mask[at % 4] ?? 0)));
      onFrame({ first: bytes.readUInt8(0), isMasked: bytes.readUInt8(1) > 127, payload });
      bytes = bytes.subarray(end);
    }
  });
}

/** Sends back what comes, as a kubelet in front of an echo server. */
const echoing: Upgrade = (request, socket) => {
  agree(request, socket);
  socket.write(announced);
  onFrames(socket, ({ first, isMasked, payload }) => {
    assert.ok(isMasked);
    if (first === 0x88) socket.end(frame(0x88, payload));
    else if (first === 0x82) socket.write(frame(0x82, payload));
  });
};

test("bytes go both ways, in frames of any size", async () => {
  const stream = await connected(echoing);
  const sent = Buffer.alloc(1_000_003, "0123456789abcdef!");
  stream.write(Buffer.from("a"));
  stream.write(Buffer.alloc(125, "b"));
  stream.write(Buffer.alloc(126, "c"));
  stream.write(sent);
  const expected = Buffer.concat([Buffer.from("a"), Buffer.alloc(125, "b"), Buffer.alloc(126, "c"), sent]);
  const got: Buffer[] = [];
  let length = 0;
  for await (const chunk of stream as AsyncIterable<Buffer>) {
    got.push(chunk);
    length += chunk.length;
    if (length === expected.length) break;
  }
  assert.deepEqual(Buffer.concat(got), expected);
});

test("the end of the client is the end of both", async () => {
  const stream = await connected(echoing);
  stream.end("last");
  assert.equal(await text(stream), "last");
});

test("the request names the Pod, the port, and who is calling", async () => {
  const seen: IncomingMessage[] = [];
  const address = await serve((request, socket) => {
    seen.push(request);
    agree(request, socket);
    socket.end(Buffer.concat([announced, closing]));
  });
  const impersonate = { user: "jane", groups: ["dev", "ops"] };
  const credentials = fixedCredentials({ bearerToken: "t", impersonate });
  const stream = await openPortForward({ server: `http://${address}/prefix/`, credentials }, target);
  assert.equal(await text(stream), "");
  const [{ method, url, headers } = {} as IncomingMessage] = seen;
  assert.equal(method, "GET");
  assert.equal(url, "/prefix/api/v1/namespaces/crossplane-system/pods/fn-1/portforward?ports=9443");
  assert.equal(headers.authorization, "Bearer t");
  assert.equal(headers["impersonate-user"], "jane");
  assert.equal(headers["impersonate-group"], "dev, ops");
  assert.equal(headers["sec-websocket-protocol"], "v4.channel.k8s.io");
});

test("a client certificate is presented, and that of the server is verified", async () => {
  const authority = createAuthority({ commonName: "test" });
  const { certPem: cert, keyPem: key } = issueCertificate(authority, {
    commonName: "server",
    ipAddresses: ["127.0.0.1"],
    usages: ["server"],
  });
  const jane = issueCertificate(authority, { commonName: "jane", usages: ["client"] });
  const tls = { cert, key, ca: authority.certPem, requestCert: true };
  let client: string | string[] | undefined;
  const address = await serve((request, socket) => {
    client = (request.socket as TLSSocket).getPeerCertificate().subject.CN;
    sending(Buffer.concat([announced, message(0, "hello"), closing]))(request, socket);
  }, createHttps(tls));
  const credentials = fixedCredentials({ certPem: jane.certPem, keyPem: jane.keyPem });
  const server = `https://${address}`;
  assert.equal(await text(await openPortForward({ server, caPem: authority.certPem, credentials }, target)), "hello");
  assert.equal(client, "jane");
  const other = createAuthority({ commonName: "other" }).certPem;
  await assert.rejects(openPortForward({ server, caPem: other, credentials }, target), /certificate|issuer/i);
});

test("a refused token is replaced once", async () => {
  const tokens = ["new", "old"];
  let token = tokens.pop();
  const credentials = {
    current: async () => ({ bearerToken: token }),
    refused: () => {
      token = tokens.pop();
    },
  };
  const address = await serve((request, socket) => {
    if (request.headers.authorization === "Bearer new") sending(announced)(request, socket);
    else socket.end("HTTP/1.1 401 Unauthorized\r\nContent-Length: 0\r\n\r\n");
  });
  assert.equal(await text(await openPortForward(access(address, credentials), target)), "");
  token = "old";
  await assert.rejects(openPortForward(access(address, credentials), target), isUnauthorized);
});

describe("a server that refuses", () => {
  const answering =
    (head: string, body: string): Upgrade =>
    (_request, socket) =>
      socket.end(`HTTP/1.1 ${head}\r\nContent-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`);
  const status = (code: number, reason: string, words: string): string =>
    JSON.stringify({ kind: "Status", apiVersion: "v1", status: "Failure", code, reason, message: words });

  test("is a StatusError with its words", async () => {
    const forbidden = status(403, "Forbidden", 'pods "fn-1" is forbidden');
    await assert.rejects(connected(answering("403 Forbidden", forbidden)), (error: Error) => {
      return isForbidden(error) && error.message === 'pods "fn-1" is forbidden';
    });
    const missing = status(404, "NotFound", 'pods "fn-1" not found');
    await assert.rejects(connected(answering("404 Not Found", missing)), isNotFound);
  });

  test("in other words than a Status has its text, cut", async () => {
    await assert.rejects(connected(answering("502 Bad Gateway", "no route ".repeat(20_000))), (error: Error) => {
      return error.message.startsWith("no route") && error.message.length <= 500;
    });
  });

  for (const [why, upgrade, expected] of [
    ["answers as if it were a page", answering("200 OK", "<html>"), /answered 200 and did not open a port-forward/],
    ["chooses another protocol", (request, socket) => agree(request, socket, "v1"), /did not agree to a port-forward/],
    [
      "did not read the handshake",
      (_request, socket) =>
        socket.write(
          "HTTP/1.1 101 S\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: x\r\nSec-WebSocket-Protocol: v4.channel.k8s.io\r\n\r\n",
        ),
      /did not agree to a port-forward/,
    ],
    ["hangs up", (_request, socket) => void socket.destroy(), /socket hang up|ECONNRESET/],
    ["speaks no HTTP", (_request, socket) => void socket.end("\0\0garbage\r\n\r\n"), /Parse Error|hang up/],
  ] as readonly (readonly [string, Upgrade, RegExp])[]) {
    test(why, () => assert.rejects(connected(upgrade), expected));
  }
});

describe("what the server sends", () => {
  const hello = message(0, "hello");
  for (const [why, bytes, expected] of [
    ["data, then the end", [announced, hello, closing], "hello"],
    ["the connection ends without a close frame", [announced, hello], "hello"],
    ["nothing after the close frame counts", [announced, hello, closing, message(0, "more")], "hello"],
    [
      "the port comes in pieces",
      [message(0, announcement.subarray(0, 1)), message(0, announcement.subarray(1)), hello],
      "hello",
    ],
    ["data follows the port in one frame", [message(0, Buffer.concat([announcement, Buffer.from("hello")]))], "hello"],
    [
      "a message in fragments",
      [announced, frame(0x02, Buffer.from("\0he")), frame(0x00, Buffer.from("l")), frame(0x80, Buffer.from("lo"))],
      "hello",
    ],
    [
      "a message whose first fragment is empty",
      [announced, frame(0x02, Buffer.alloc(0)), frame(0x80, Buffer.from("\0hello"))],
      "hello",
    ],
    [
      "pings and pongs between fragments",
      [
        announced,
        frame(0x02, Buffer.from("\0hel")),
        frame(0x89, Buffer.from("x")),
        frame(0x8a, Buffer.alloc(0)),
        frame(0x80, Buffer.from("lo")),
      ],
      "hello",
    ],
    ["empty messages", [announced, frame(0x82, Buffer.alloc(0)), message(0, ""), hello], "hello"],
    ["a large frame", [announced, message(0, Buffer.alloc(200_000, "x"))], "x".repeat(200_000)],
  ] as readonly (readonly [string, readonly Buffer[], string])[]) {
    for (const size of [1_000_000, 3, 1]) {
      if (size < 3 && expected.length > 1000) continue;
      test(`${why}, in pieces of ${size}`, async () => {
        assert.equal(await text(await connected(sending(Buffer.concat(bytes), size))), expected);
      });
    }
  }

  for (const [why, bytes, expected] of [
    ["an error", [announced, message(1, "connection refused\n")], /^Error: connection refused$/],
    [
      "an error in fragments",
      [
        announced,
        frame(0x02, Buffer.from("\u0001refu")),
        frame(0x00, Buffer.from("sed")),
        frame(0x80, Buffer.alloc(0)),
      ],
      /^Error: refused$/,
    ],
    ["a long error", [announced, message(1, "e".repeat(100_000))], /^Error: e{500}$/],
    ["another port", [message(0, Buffer.of(1, 0))], /it is for port 1, not for port 9443/],
    ["an unknown channel", [announced, message(2, "x")], /the unknown channel 2/],
    ["a masked frame", [announced, Buffer.of(0x82, 0x81, 1, 2, 3, 4, 5)], /a frame is masked/],
    ["an extension", [announced, Buffer.of(0xc2, 0)], /uses an extension/],
    ["a text frame", [announced, Buffer.of(0x81, 0)], /unexpected opcode 1/],
    ["a reserved control frame", [announced, Buffer.of(0x8b, 0)], /unexpected opcode 11/],
    ["a fragmented control frame", [announced, Buffer.of(0x09, 0)], /control frame/],
    ["a large control frame", [announced, frame(0x89, Buffer.alloc(126))], /control frame/],
    ["a continuation of nothing", [announced, frame(0x80, Buffer.from("x"))], /fragmented wrongly/],
    ["a message within a message", [announced, frame(0x02, Buffer.from("\0x")), hello], /fragmented wrongly/],
    [
      "a frame beyond every limit",
      [announced, Buffer.of(0x82, 127, 255, 255, 255, 255, 255, 255, 255, 255)],
      /more than 1048576/,
    ],
    ["the end within a frame", [announced, hello.subarray(0, 4)], /cut off within a frame/],
    [
      "a close frame with a reason",
      [announced, frame(0x88, Buffer.from("\u0003\u00f3broken", "latin1"))],
      /closed the port-forward: broken/,
    ],
  ] as readonly (readonly [string, readonly Buffer[], RegExp])[]) {
    for (const size of [1_000_000, 1]) {
      if (size === 1 && why === "a long error") continue;
      test(`${why} is an error, in pieces of ${size}`, async () => {
        const stream = await connected(sending(Buffer.concat(bytes), size));
        await assert.rejects(buffer(stream), (error: Error) => expected.test(String(stream.errored ?? error)));
        assert.ok(stream.destroyed);
      });
    }
  }

  test("no bytes do harm", async () => {
    let bytes = Buffer.alloc(0);
    const address = await serve((request, socket) => sending(bytes)(request, socket));
    const garbage = fc.uint8Array({ maxLength: 200 });
    await fc.assert(
      fc.asyncProperty(garbage, fc.boolean(), async (some, isAnnounced) => {
        bytes = Buffer.concat([isAnnounced ? announced : Buffer.alloc(0), some]);
        const stream = await openPortForward(access(address), target);
        const got = await buffer(stream).catch(() => undefined);
        assert.ok(got === undefined || got.length <= bytes.length);
        assert.ok(stream.destroyed);
      }),
      { numRuns: 100 },
    );
  });
});

test("a ping is answered with its payload", async () => {
  const answered = Promise.withResolvers<ClientFrame>();
  const stream = await connected((request, socket) => {
    agree(request, socket);
    socket.write(Buffer.concat([announced, frame(0x89, Buffer.from("are you there"))]));
    onFrames(socket, answered.resolve);
  });
  stream.resume();
  const { first, isMasked, payload } = await answered.promise;
  assert.deepEqual(
    { first, isMasked, payload: payload.toString() },
    { first: 0x8a, isMasked: true, payload: "are you there" },
  );
  stream.destroy();
});

test("a server that asks and does not read gets no more answers than a bounded number", async () => {
  const pings = Buffer.concat(Array.from({ length: 20_000 }, () => frame(0x89, Buffer.alloc(125))));
  let server: Duplex | undefined;
  const stream = await connected((request, socket) => {
    server = socket;
    agree(request, socket);
    socket.pause();
    socket.write(announced);
    for (let at = 0; at < 10; at++) socket.write(pings);
    socket.write(message(0, "done"));
  });
  const [chunk] = (await once(stream, "data")) as [Buffer];
  assert.equal(chunk.toString(), "done");
  stream.destroy();
  server?.destroy();
});

test("what a server sends after it has closed is ignored", async () => {
  const masked = Buffer.of(0x82, 0x80);
  const closed = Buffer.concat([announced, message(0, "all"), closing, masked]);
  assert.equal(await text(await connected(sending(closed))), "all", "in the same piece");
  const later = Promise.withResolvers<void>();
  const stream = await connected((request, socket) => {
    agree(request, socket);
    socket.write(Buffer.concat([announced, message(0, "all"), closing]));
    onFrames(socket, ({ first }) => {
      if (first === 0x82) socket.end(masked, later.resolve);
    });
  });
  await once(stream, "readable");
  stream.write("the next pieces come after this one");
  await later.promise;
  assert.equal(await text(stream), "all", "in the next piece");
});

test("what is not read is not taken from the server", async () => {
  const block = message(0, Buffer.alloc(60_000));
  let written = 0;
  const stream = await connected((request, socket) => {
    agree(request, socket);
    socket.write(announced);
    const fill = (): void => {
      while (!socket.destroyed && written < 2000 && socket.write(block)) written++;
    };
    socket.on("drain", fill);
    fill();
  });
  // The server stops when the buffers between are full: long before 120 MB.
  let last = -1;
  while (last !== written) {
    last = written;
    for (let turn = 0; turn < 200; turn++) await new Promise((resolve) => setImmediate(resolve));
  }
  assert.ok(written < 1000, String(written));
  stream.destroy();
});

test("a server that does not read stops the writer", async () => {
  const stream = await connected((request, socket) => {
    agree(request, socket);
    socket.pause();
    socket.write(announced);
  });
  let written = 0;
  while (written < 2000 && stream.write(Buffer.alloc(60_000))) written++;
  assert.ok(written < 1000, String(written));
  stream.destroy();
});

test("an aborted signal ends the request, and the connection", async () => {
  const stopped = new AbortController();
  const silent = await serve(() => {});
  const opening = openPortForward(access(silent), { ...target, signal: stopped.signal });
  setImmediate(() => stopped.abort());
  await assert.rejects(opening, { name: "AbortError" });
  const later = new AbortController();
  const stream = await openPortForward(access(await serve(echoing)), { ...target, signal: later.signal });
  const ended = assert.rejects(buffer(stream));
  later.abort();
  await ended;
  assert.ok(stream.destroyed);
});
