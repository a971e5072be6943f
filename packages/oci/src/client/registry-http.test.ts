// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { once } from "node:events";
import { type ClientRequest, Agent as HttpAgent, request as requestHttp } from "node:http";
import { createServer as createHttpsServer, request as requestHttps } from "node:https";
import { type AddressInfo, createServer, type Socket } from "node:net";
import { Readable } from "node:stream";
import { type TestContext, test } from "node:test";
import { getCACertificates, setDefaultCACertificates } from "node:tls";
import { createAuthority, issueCertificate } from "@purlin/certificates";
import { serveHttp } from "../../test/http-script.ts";
import { isOciError } from "../content/oci-error.ts";
import { createRegistryHttp, isTimeout, limitRequest, type RegistryHttpOptions, readBody } from "./registry-http.ts";

const send = createRegistryHttp();
const url = (host: string, path = "/"): URL => new URL(`http://${host}${path}`);

const redirects: { status: number; method: "GET" | "HEAD" | "POST"; isFollowed: boolean }[] = [
  { status: 301, method: "GET", isFollowed: true },
  { status: 302, method: "GET", isFollowed: true },
  { status: 303, method: "HEAD", isFollowed: true },
  { status: 307, method: "GET", isFollowed: true },
  { status: 308, method: "HEAD", isFollowed: true },
  { status: 307, method: "POST", isFollowed: false },
  { status: 300, method: "GET", isFollowed: false },
];
for (const { status, method, isFollowed } of redirects) {
  test(`a ${method} that is redirected by ${status} is ${isFollowed ? "" : "not "}followed`, async (t) => {
    const { host } = await serveHttp(t, (request, response) => {
      if (request.url === "/") response.writeHead(status, { location: "/there" }).end();
      else response.end();
    });
    const response = await send({ method, url: url(host) });
    response.body.resume();
    assert.deepEqual([response.status, response.url.pathname], isFollowed ? [200, "/there"] : [status, "/"]);
  });
}

test("authorization goes along on the same host, whatever its case, and stays behind otherwise", async (t) => {
  const other = await serveHttp(t, (_, response) => void response.end());
  const { host, asked } = await serveHttp(t, (request, response) => {
    if (request.url === "/same") response.writeHead(302, { location: "/end" }).end();
    else if (request.url === "/other") response.writeHead(302, { location: `http://${other.host}/end` }).end();
    else response.end();
  });
  for (const path of ["/same", "/other"]) {
    (await send({ method: "GET", url: url(host, path), headers: { AUTHORIZATION: "Bearer x" } })).body.resume();
  }
  assert.deepEqual(asked, ["GET /same Bearer x", "GET /end Bearer x", "GET /other Bearer x"]);
  assert.deepEqual(other.asked, ["GET /end anonymous"]);
});

test("a redirect without a Location is returned as a response", async (t) => {
  const { host } = await serveHttp(t, (_, response) => void response.writeHead(302).end());
  const response = await send({ method: "GET", url: url(host) });
  response.body.resume();
  assert.equal(response.status, 302);
});

test("a server that sends nothing times out", async (t) => {
  const silent = createServer(() => {});
  await new Promise<void>((resolve) => silent.listen(0, "127.0.0.1", resolve));
  t.after(() => silent.close());
  const host = `127.0.0.1:${(silent.address() as AddressInfo).port}`;
  await assert.rejects(createRegistryHttp({ idleTimeoutMs: 50 })({ method: "GET", url: url(host) }), {
    message: "no response for 0.05s",
    code: "ETIMEDOUT",
  });
});

test("a server that switches protocols fails the request", { timeout: 30_000 }, async (t) => {
  const { host } = await serveHttp(t, ({ socket }) => {
    socket.end("HTTP/1.1 101 Switching\r\nConnection: upgrade\r\nUpgrade: x\r\n\r\n");
  });
  await assert.rejects(send({ method: "GET", url: url(host) }), { message: "unexpected upgrade of the connection" });
});

test("a response sent before the end of the upload counts", async (t) => {
  const { host } = await serveHttp(t, (request, response) => {
    response.writeHead(413, { connection: "close" }).end("too large");
    request.socket.once("drain", () => request.socket.destroy());
  });
  async function* endless(): AsyncGenerator<Buffer> {
    for (let sent = 0; sent < 400; sent++) yield Buffer.alloc(64 * 1024);
  }
  const response = await send({ method: "PUT", url: url(host), body: () => Readable.from(endless()) });
  assert.equal(response.status, 413);
  response.body.destroy();
});

test("an upload body that cannot be opened fails the request", async (t) => {
  const { host } = await serveHttp(t, (request) => void request.resume());
  const failing = (): Readable =>
    new Readable({
      read() {
        this.destroy(new Error("no such file"));
      },
    });
  await assert.rejects(send({ method: "PUT", url: url(host), body: failing }), /no such file/);
});

test("an aborted request gets no response", async (t) => {
  const stopping = new AbortController();
  const { host } = await serveHttp(t, () => stopping.abort(new Error("enough")));
  await assert.rejects(send({ method: "GET", url: url(host), signal: stopping.signal }), { name: "AbortError" });
});

test("a body is read up to a limit", async () => {
  const body = (): Readable => Readable.from([Buffer.from("hello "), Buffer.from("world")]);
  assert.equal((await readBody(body(), 11)).toString(), "hello world");
  const read = body();
  await assert.rejects(readBody(read, 10), (error) => isOciError(error, "TOO_LARGE"));
  assert.ok(read.destroyed);
});

test("authorities of our own are trusted in addition to those of Node, and the User-Agent is ours to choose", async (t) => {
  const [usual, own] = [await serveHttps(t), await serveHttps(t)];
  const before = getCACertificates("default");
  setDefaultCACertificates([usual.authority]);
  t.after(() => setDefaultCACertificates(before));
  const get = async (from: HttpsScript, options: RegistryHttpOptions): Promise<string> => {
    const { body } = await createRegistryHttp(options)({ method: "GET", url: new URL(`https://${from.host}/`) });
    return String(await readBody(body, 1024));
  };
  await assert.rejects(get(own, {}), { code: "UNABLE_TO_VERIFY_LEAF_SIGNATURE" });
  assert.equal(await get(own, { ca: own.authority, userAgent: "acme/1" }), "acme/1");
  assert.equal(await get(usual, { ca: own.authority }), "purlin");
});

interface HttpsScript {
  readonly host: string;
  readonly authority: string;
}

/** Answers with the User-Agent of the request, under an authority of its own. */
async function serveHttps(t: TestContext): Promise<HttpsScript> {
  const authority = createAuthority({ commonName: "registry" });
  const { certPem: cert, keyPem: key } = issueCertificate(authority, {
    commonName: "registry",
    dnsNames: ["localhost"],
    usages: ["server"],
  });
  const server = createHttpsServer(
    { cert, key },
    (request, response) => void response.end(request.headers["user-agent"]),
  );
  await new Promise<void>((resolve) => server.listen(0, "localhost", resolve));
  t.after(() => {
    server.close();
    server.closeAllConnections();
  });
  return { host: `localhost:${(server.address() as AddressInfo).port}`, authority: authority.certPem };
}

const limits = { connectTimeoutMs: 10_000, idleTimeoutMs: 30_000 };

/** A server that accepts connections and sends nothing. */
async function silentServer(t: TestContext): Promise<string> {
  const sockets: Socket[] = [];
  const server = createServer((socket) => void sockets.push(socket.on("error", () => {})));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  t.after(() => {
    server.close();
    for (const socket of sockets) socket.destroy();
  });
  return `127.0.0.1:${(server.address() as AddressInfo).port}`;
}

async function failureOf(outgoing: ClientRequest): Promise<Error> {
  const [error] = await once(outgoing, "error").catch((thrown: unknown) => [thrown]);
  assert.ok(isTimeout(error), String(error));
  return error as Error;
}

test("a connection that is not established fails with a connection timeout", async (t) => {
  t.mock.timers.enable({ apis: ["setTimeout"] });
  // Theirs is the time for which a connection may idle between two requests; it runs while one is made, too.
  const agent = new HttpAgent({ keepAlive: true, timeout: 20 });
  const outgoing = requestHttp({ host: "registry.example.org", agent, lookup: () => {} });
  limitRequest(outgoing, limits);
  const failed = once(outgoing, "error");
  const [socket] = (await once(outgoing, "socket")) as [Socket];
  await once(socket, "timeout");
  t.mock.timers.tick(9_999);
  assert.equal(outgoing.destroyed, false, "the agent's time is not ours");
  t.mock.timers.tick(1);
  const [error] = (await failed) as [Error];
  assert.deepEqual([error.message, isTimeout(error)], ["connection timed out after 10s", true]);
});

test("a server that accepts the connection but does no TLS fails with a handshake timeout", async (t) => {
  t.mock.timers.enable({ apis: ["setTimeout"] });
  const outgoing = requestHttps(`https://${await silentServer(t)}/`);
  limitRequest(outgoing, limits);
  const failed = failureOf(outgoing);
  const [socket] = (await once(outgoing, "socket")) as [Socket];
  await once(socket, "connect");
  t.mock.timers.tick(10_000);
  assert.equal((await failed).message, "TLS handshake timed out after 10s");
});

test("a server that sends no response fails with an idle timeout", async (t) => {
  const outgoing = requestHttp(`http://${await silentServer(t)}/`);
  limitRequest(outgoing, { ...limits, idleTimeoutMs: 50 });
  outgoing.end();
  assert.equal((await failureOf(outgoing)).message, "no response for 0.05s");
});

test("the connect timeout ends with the connection, new or reused", async (t) => {
  t.mock.timers.enable({ apis: ["setTimeout"] });
  const connections = new Set<Socket>();
  const { host } = await serveHttp(t, (request, response) => {
    connections.add(request.socket);
    t.mock.timers.tick(60_000);
    response.end();
  });
  const send = createRegistryHttp();
  for (let time = 0; time < 3; time++) {
    const { status, body } = await send({ method: "GET", url: new URL(`http://${host}/`) });
    body.resume();
    await once(body, "close");
    await new Promise((go) => setImmediate(go));
    assert.equal(status, 200);
  }
  assert.equal(connections.size, 1);
});

test("errors that are not timeouts", () => {
  const reset = Object.assign(new Error("read ECONNRESET"), { code: "ECONNRESET" });
  for (const error of [reset, new Error("no response"), { code: "ETIMEDOUT" }, undefined]) {
    assert.equal(isTimeout(error), false, String(error));
  }
});
