// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { connect as connectTcp } from "node:net";
import { describe, test } from "node:test";
import { connect as connectTls } from "node:tls";
import { gunzipSync } from "node:zlib";
import { createAuthority, issueCertificate } from "@purlin/certificates";
import { badRequest } from "@purlin/kube-objects/errors";
import { type ClientOptions, connectClient, type TestClient } from "../../test/test-client.ts";
import { staticTokens } from "../auth/user.ts";
import {
  type ApiRequest,
  type ApiResponse,
  documentPayload,
  type EventStream,
  encodedPayload,
  textPayload,
} from "../request/api-request.ts";
import { errorResponse } from "../request/negotiate.ts";
import { type Listener, listen, type Patience } from "./listener.ts";
import { maxBodyBytes, serveExchange } from "./serve-exchange.ts";

const authority = createAuthority({ commonName: "ca" });
const stranger = createAuthority({ commonName: "ca" });
const serverPair = issueCertificate(authority, { commonName: "server", dnsNames: ["localhost"], usages: ["server"] });
const jane = issueCertificate(authority, { commonName: "jane", organizations: ["devs"], usages: ["client"] });
const mallory = issueCertificate(stranger, { commonName: "jane", usages: ["client"] });
const tokens = [staticTokens(new Map([["t0ken", { name: "robot", groups: ["bots"] }]]))];

interface Serving extends AsyncDisposable {
  readonly listener: Listener;
  readonly requests: ApiRequest[];
}

async function serve(
  handle: (request: ApiRequest) => Promise<ApiResponse> | ApiResponse,
  patience: Partial<Patience> = {},
): Promise<Serving> {
  const requests: ApiRequest[] = [];
  const front = {
    tokens,
    handle: async (request: ApiRequest): Promise<ApiResponse> => {
      requests.push(request);
      try {
        return await handle(request);
      } catch (error) {
        return errorResponse(error, request);
      }
    },
  };
  const onExchange = (exchange: Parameters<typeof serveExchange>[0]): void => void serveExchange(exchange, front);
  const listener = await listen({
    ...serverPair,
    host: "localhost",
    clientAuthorityPem: authority.certPem,
    onExchange,
    patience,
  });
  return { listener, requests, [Symbol.asyncDispose]: () => listener.close(0) };
}

const echo = async (request: ApiRequest): Promise<ApiResponse> => {
  const body = request.body.kind === "bytes" ? Buffer.from(await request.body.read()) : Buffer.alloc(0);
  const { method, path, user } = request;
  const value = {
    method,
    path,
    query: [...request.query].flat(),
    user: user.name,
    groups: [...user.groups],
    body: body.toString(),
  };
  return { kind: "complete", code: 200, payload: documentPayload(value, { mediaType: "application/json" }) };
};

/** A stream that gives the lines one after the other, and reports its outcome. */
function lineStream(lines: string[], onReady: () => void): EventStream & { closed: boolean; push(line: string): void } {
  return {
    closed: false,
    push(line) {
      lines.push(line);
      onReady();
    },
    take() {
      const line = lines.shift();
      return line === "end"
        ? undefined
        : line === undefined
          ? []
          : [{ parts: () => [Buffer.from(line)], value: () => line }];
    },
    close() {
      this.closed = true;
    },
  };
}

for (const protocol of ["h2", "http/1.1"] as const) {
  const connect = (serving: Serving, options: Partial<ClientOptions> = {}): Promise<TestClient> =>
    connectClient({ protocol, port: serving.listener.port, authorityPem: authority.certPem, pair: jane, ...options });

  describe(`over ${protocol}`, () => {
    test("method, path, query, body and user arrive, and the answer with the headers every answer has", async () => {
      await using serving = await serve(echo);
      await using client = await connect(serving);
      const reply = await client.send("/a/b%20c?x=1&x=2", {
        method: "POST",
        body: "hello",
        headers: { "audit-id": "mine" },
      });
      assert.deepEqual(JSON.parse(reply.text), {
        method: "POST",
        path: "/a/b%20c",
        query: ["x", "1", "x", "2"],
        user: "jane",
        groups: ["devs", "system:authenticated"],
        body: "hello",
      });
      assert.equal(reply.headers["content-type"], "application/json");
      assert.equal(reply.headers["cache-control"], "no-cache, private");
      assert.equal(reply.headers["audit-id"], "mine");
      assert.equal(reply.headers["content-length"], String(reply.bytes.length));
      assert.ok(reply.headers["date"]);
      assert.match(String((await client.send("/")).headers["audit-id"]), /^[0-9a-f-]{36}$/);
    });

    const callers: Record<
      string,
      { reason: string; options: Partial<ClientOptions>; token?: string; code: number; user?: string }
    > = {
      Anonymous: { reason: "no credentials", options: { pair: undefined }, code: 200, user: "system:anonymous" },
      Token: { reason: "a bearer", options: { pair: undefined }, token: "t0ken", code: 200, user: "robot" },
      WrongToken: { reason: "an unknown token", options: { pair: undefined }, token: "nope", code: 401 },
      OtherAuthority: {
        reason: "a certificate with the right names of the wrong authority",
        options: { pair: mallory },
        code: 401,
      },
    };
    for (const [name, { reason, options, token, code, user }] of Object.entries(callers)) {
      test(`caller: ${name}`, async () => {
        await using serving = await serve(echo);
        await using client = await connect(serving, options);
        const reply = await client.send(
          "/",
          token === undefined ? {} : { headers: { authorization: `Bearer ${token}` } },
        );
        assert.equal(reply.code, code, reason);
        const body = JSON.parse(reply.text) as { user?: string; reason?: string };
        assert.deepEqual(
          [body.user, body.reason],
          code === 200 ? [user, undefined] : [undefined, "Unauthorized"],
          reason,
        );
      });
    }

    test("bodies up to the limit are taken, larger ones refused, with and without a declared length", async () => {
      await using serving = await serve(echo);
      await using client = await connect(serving);
      const largest = await client.send("/", { method: "PUT", body: "x".repeat(maxBodyBytes) });
      assert.equal(largest.code, 200);
      for (const headers of [{}, { "content-length": String(maxBodyBytes + 1) }]) {
        const reply = await client.send("/", { method: "PUT", headers, body: "x".repeat(maxBodyBytes + 1) });
        const { message, reason } = JSON.parse(reply.text) as { message: string; reason: string };
        assert.deepEqual(
          [reply.code, reason, message],
          [413, "RequestEntityTooLarge", "Request entity too large: limit is 3145728"],
        );
      }
      assert.equal((await client.send("/")).code, 200, "the connection continues");
    });

    test("a request whose body is not read is answered, and the next one too", async () => {
      await using serving = await serve(() => ({ kind: "complete", code: 403, payload: textPayload("no") }));
      await using client = await connect(serving);
      for (let i = 0; i < 3; i += 1) {
        assert.equal((await client.send("/", { method: "POST", body: "x".repeat(300_000) })).text, "no");
      }
    });

    test("large answers are compressed for who takes it, small ones never", async () => {
      const big = Buffer.alloc(300_000, "abc ");
      const payload = encodedPayload(
        () => [big.subarray(0, 100_000), big.subarray(100_000)],
        () => null,
      );
      await using serving = await serve(({ path }) => ({
        kind: "complete",
        code: 200,
        payload: path === "/big" ? payload : textPayload("small"),
      }));
      await using client = await connect(serving);
      const zipped = await client.send("/big", { headers: { "accept-encoding": "br, gzip" } });
      assert.deepEqual([zipped.headers["content-encoding"], zipped.headers["vary"]], ["gzip", "Accept-Encoding"]);
      assert.ok(zipped.bytes.length < 10_000);
      assert.equal(
        createHash("sha1").update(gunzipSync(zipped.bytes)).digest("hex"),
        createHash("sha1").update(big).digest("hex"),
      );
      for (const accept of ["", "gzip;q=0", "br"]) {
        const plain = await client.send("/big", { headers: { "accept-encoding": accept } });
        assert.deepEqual([plain.headers["content-encoding"], plain.bytes.length], [undefined, big.length]);
      }
      const small = await client.send("/", { headers: { "accept-encoding": "gzip" } });
      assert.deepEqual([small.headers["content-encoding"], small.text], [undefined, "small"]);
    });

    test("HEAD has the headers of GET and no body, 304 neither body nor length", async () => {
      await using serving = await serve(({ path }) =>
        path === "/304"
          ? { kind: "complete", code: 304, headers: { etag: '"x"' } }
          : { kind: "complete", code: 200, payload: textPayload("four") },
      );
      await using client = await connect(serving);
      const head = await client.send("/", { method: "HEAD" });
      assert.deepEqual([head.code, head.headers["content-length"], head.text], [200, "4", ""]);
      const unchanged = await client.send("/304");
      assert.deepEqual([unchanged.code, unchanged.headers["etag"], unchanged.text], [304, '"x"', ""]);
    });

    test("warnings and failures become headers and a Status", async () => {
      await using serving = await serve(({ path }) => {
        if (path === "/fail") throw badRequest("no good");
        return { kind: "complete", code: 200, warnings: ['unknown field "a"', "b"], payload: textPayload("ok") };
      });
      await using client = await connect(serving);
      const { headers } = await client.send("/");
      assert.equal([headers["warning"]].flat().join(", "), '299 - "unknown field \\"a\\"", 299 - "b"');
      const failed = await client.send("/fail");
      assert.deepEqual([failed.code, (JSON.parse(failed.text) as { message: string }).message], [400, "no good"]);
    });

    test("a stream flushes its headers at once, each event as it comes, and ends", async () => {
      const streams: ReturnType<typeof lineStream>[] = [];
      await using serving = await serve(() => ({
        kind: "stream",
        code: 200,
        contentType: "application/json",
        open: (onReady) => {
          streams.push(lineStream(["first\n"], onReady));
          return streams[0] as EventStream;
        },
      }));
      await using client = await connect(serving);
      const { code, chunks } = await client.stream("/watch");
      assert.equal(code, 200);
      const iterator = chunks[Symbol.asyncIterator]();
      assert.equal(String((await iterator.next()).value), "first\n");
      streams[0]?.push("second\n");
      assert.equal(String((await iterator.next()).value), "second\n");
      streams[0]?.push("end");
      assert.equal((await iterator.next()).done, true);
    });

    test("a client that leaves closes its stream", async () => {
      const { promise, resolve } = Promise.withResolvers<void>();
      await using serving = await serve(() => ({
        kind: "stream",
        code: 200,
        contentType: "application/json",
        open: () => ({ take: () => [], close: resolve }),
      }));
      await using client = await connect(serving);
      const { close } = await client.stream("/watch");
      close();
      await promise;
    });

    test("a client that does not read stops the stream from being taken, and loses nothing", async () => {
      const total = 400;
      const line = Buffer.alloc(64 * 1024, "x");
      let taken = 0;
      await using serving = await serve(() => ({
        kind: "stream",
        code: 200,
        contentType: "application/json",
        open: () => ({
          take: () => {
            if (taken === total) return undefined;
            taken += 1;
            return [{ parts: () => [line], value: () => null }];
          },
          close: () => {},
        }),
      }));
      await using client = await connect(serving);
      const { chunks } = await client.stream("/watch");
      await new Promise((resolve) => setImmediate(resolve));
      assert.ok(taken < total, "25 MB fit into no buffer here");
      let received = 0;
      for await (const chunk of chunks) {
        received += chunk.length;
      }
      assert.deepEqual([taken, received], [total, total * line.length]);
    });

    test("the signal of a request is aborted when the client disconnects", async () => {
      const { promise, resolve } = Promise.withResolvers<void>();
      await using serving = await serve(async (request) => {
        await new Promise<void>((gone) => {
          request.signal.addEventListener("abort", () => gone());
          resolve();
        });
        return { kind: "complete", code: 200 };
      });
      const client = await connect(serving);
      const lost = assert.rejects(client.stream("/"));
      await promise;
      await client[Symbol.asyncDispose]();
      if (protocol === "http/1.1") serving.listener.close(0).catch(() => {});
      await lost;
      await new Promise<void>((done) => serving.requests[0]?.signal.addEventListener("abort", () => done()) ?? done());
    });

    test("closing waits for answers under way and takes no new connections", async () => {
      const { promise: asked, resolve: ask } = Promise.withResolvers<void>();
      const { promise: go, resolve: proceed } = Promise.withResolvers<void>();
      const serving = await serve(async () => {
        ask();
        await go;
        return { kind: "complete", code: 200, payload: textPayload("done") };
      });
      await using client = await connect(serving);
      const reply = client.send("/slow");
      await asked;
      const closed = serving.listener.close(60_000);
      proceed();
      assert.equal((await reply).text, "done");
      await closed;
      await assert.rejects(connect(serving).then((late) => late.send("/")));
    });
  });
}

test("connections are refused below TLS 1.2", async () => {
  await using serving = await serve(echo);
  const { promise, resolve } = Promise.withResolvers<Error>();
  const socket = connectTls({
    port: serving.listener.port,
    host: "localhost",
    ca: authority.certPem,
    maxVersion: "TLSv1.1",
    minVersion: "TLSv1",
  });
  socket.on("error", resolve);
  assert.match(String(await promise), /protocol|alert|ECONNRESET/i);
});

test("traffic that is not TLS, or not HTTP, does not affect other clients", async () => {
  await using serving = await serve(echo);
  const socket = connectTls({
    port: serving.listener.port,
    host: "localhost",
    ca: authority.certPem,
    ALPNProtocols: ["http/1.1"],
  });
  socket.on("error", () => {});
  await new Promise<void>((resolve) => socket.once("secureConnect", resolve));
  socket.end("this is not HTTP\r\n\r\n");
  await new Promise<void>((resolve) => socket.once("close", () => resolve()));
  await using client = await connectClient({
    protocol: "h2",
    port: serving.listener.port,
    authorityPem: authority.certPem,
  });
  assert.equal((await client.send("/")).code, 200);
});

test("a renewed certificate serves new connections", async () => {
  await using serving = await serve(echo);
  const fingerprint = (): Promise<string> =>
    new Promise((resolve) => {
      const socket = connectTls({ port: serving.listener.port, host: "localhost", ca: authority.certPem }, () => {
        resolve(socket.getPeerCertificate().fingerprint256);
        socket.destroy();
      });
    });
  const before = await fingerprint();
  const pair = issueCertificate(authority, { commonName: "server", dnsNames: ["localhost"], usages: ["server"] });
  serving.listener.renew({ ...pair, clientAuthorityPem: authority.certPem });
  assert.notEqual(await fingerprint(), before);
});

// Node's parser failed with HPE_PAUSED when a large request came while the large answer before it was not quite sent.
test("large requests that do not wait for large answers are answered in turn", { timeout: 60_000 }, async () => {
  await using server = await serve(echo);
  const requests = 20;
  const options = { port: server.listener.port, host: "localhost", ca: authority.certPem, ALPNProtocols: ["http/1.1"] };
  const socket = connectTls(options);
  const body = "x".repeat(200_000);
  const head = `POST /large HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer t0ken\r\nContent-Length: ${body.length}\r\n\r\n`;
  for (let sent = 0; sent < requests; sent += 1) socket.write(head + body);
  let text = "";
  for await (const chunk of socket.setEncoding("latin1")) {
    text += String(chunk);
    if (text.split("HTTP/1.1 200 ").length > requests) break;
  }
  assert.equal(text.split("HTTP/1.1 200 ").length - 1, requests);
});

// Node resets a connection that is not kept as soon as it is answered, and the answer with it.
for (const [what, answer] of [
  ["with words", { kind: "complete", code: 403, payload: textPayload("no") }],
  ["without", { kind: "complete", code: 403 }],
] as const) {
  test(`a client that gets ${what} while it still sends can finish`, { timeout: 60_000 }, async () => {
    await using server = await serve(() => answer);
    const options = { port: server.listener.port, host: "localhost", ca: authority.certPem };
    const socket = connectTls({ ...options, ALPNProtocols: ["http/1.1"] });
    const pieces = 16;
    const piece = "x".repeat(65_536);
    const length = pieces * piece.length;
    const head = "POST / HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer t0ken\r\nConnection: close\r\n";
    socket.write(`${head}Content-Length: ${length}\r\n\r\n`);
    const chunks: string[] = [];
    const answered = new Promise<void>((resolve) => socket.once("data", () => resolve()));
    socket.on("data", (chunk) => void chunks.push(String(chunk)));
    const closed = new Promise<void>((resolve, reject) => socket.once("error", reject).once("close", () => resolve()));
    await answered;
    // All at once: the server has nothing to wait for in between.
    for (let sent = 0; sent < pieces; sent += 1) socket.write(piece);
    await closed;
    assert.match(chunks.join(""), /^HTTP\/1\.1 403 /);
  });
}

/** A connection that sends this much and no more; resolves when the server closes it. */
async function untilDropped(port: number, text: string | Uint8Array, protocol?: "tcp" | "h2"): Promise<void> {
  const options = { port, host: "localhost", ca: authority.certPem, ALPNProtocols: [protocol ?? "http/1.1"] };
  const socket = protocol === "tcp" ? connectTcp(options) : connectTls(options);
  const closed = new Promise<void>((resolve) => socket.once("close", () => resolve()));
  socket.on("error", () => {});
  socket.write(text);
  socket.resume();
  await closed;
}

const preface = Buffer.concat([
  Buffer.from("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"),
  // Empty settings, and headers of stream 1 whose end is still to come.
  Buffer.from([0, 0, 0, 4, 0, 0, 0, 0, 0]),
  Buffer.from([0, 0, 1, 1, 0, 0, 0, 0, 1, 0x82]),
]);

const slow: Record<string, { reason: string; text: string | Uint8Array; protocol?: "tcp" | "h2" }> = {
  Silence: { reason: "a connection is for asking something", text: "" },
  HalfHeaders: { reason: "headers end some time", text: "GET /version HTTP/1.1\r\nHost: x\r\nX-Slow: " },
  NoHandshake: { reason: "TLS begins with a greeting", text: "\u0016\u0003", protocol: "tcp" },
  HalfRequest: {
    reason: "a request ends some time",
    text: "POST /large HTTP/1.1\r\nHost: x\r\nContent-Length: 500\r\n\r\n{",
  },
  HalfHttp2Headers: { reason: "without a stream there is nothing to wait for", text: preface, protocol: "h2" },
};

for (const [name, { reason, text, protocol }] of Object.entries(slow)) {
  test(`clients that never get to the point are dropped: ${name}`, { timeout: 60_000 }, async () => {
    const patience = { handshakeMs: 200, headersMs: 200, requestMs: 200, idleMs: 200 };
    await using server = await serve(() => new Promise<never>(() => {}), patience);
    await untilDropped(server.listener.port, text, protocol);
    assert.ok(server.requests.length <= 1, reason);
  });
}

type Watching = Awaited<ReturnType<TestClient["stream"]>>;

async function untilOpen(
  connect: () => Promise<TestClient>,
  path: string,
): Promise<{ readonly client: TestClient; readonly watch: Watching }> {
  for (;;) {
    let client: TestClient | undefined;
    try {
      client = await connect();
      return { client, watch: await client.stream(path) };
    } catch {
      await client?.[Symbol.asyncDispose]();
    }
  }
}

test("a watch may be silent for as long as it likes", { timeout: 60_000 }, async () => {
  const stream = { lines: [] as string[], push: (_line: string): void => {} };
  const handle = (request: ApiRequest): ApiResponse => {
    if (request.path !== "/watch") return { kind: "complete", code: 200 };
    const open = (onReady: () => void): EventStream => {
      const opened = lineStream(stream.lines, onReady);
      stream.push = (line) => opened.push(line);
      return opened;
    };
    return { kind: "stream", code: 200, contentType: "application/json", open };
  };
  await using server = await serve(handle, { idleMs: 100, headersMs: 100, requestMs: 100 });
  const options = { port: server.listener.port, authorityPem: authority.certPem, pair: jane };
  for (const protocol of ["h2", "http/1.1"] as const) {
    // On a busy machine even this client may be too slow to ask: that is not what is tried here, so it asks again.
    const { client, watch } = await untilOpen(() => connectClient({ ...options, protocol }), "/watch");
    await using _ = client;
    // Several times as long as other clients may be silent; the HTTP/1.1 server checks every hundred milliseconds.
    await new Promise((resolve) => setTimeout(resolve, 600));
    stream.push("late\n");
    for await (const chunk of watch.chunks) {
      assert.equal(chunk.toString(), "late\n");
      break;
    }
    watch.close();
  }
});

test("idle connections and those without a request do not delay the end", { timeout: 60_000 }, async () => {
  const server = await serve(echo);
  const { port } = server.listener;
  const idle = untilDropped(port, "GET /a HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer t0ken\r\n\r\n");
  while (server.requests.length === 0) await new Promise((resolve) => setImmediate(resolve));
  // Longer than the test may take: only idle connections are closed at once.
  const closing = server.listener.close(600_000);
  await Promise.all([idle, closing]);

  const other = await serve(echo);
  const silent = untilDropped(other.listener.port, "", "tcp");
  await new Promise<void>((resolve) => setImmediate(resolve));
  await Promise.all([silent, other.listener.close(0)]);
});
