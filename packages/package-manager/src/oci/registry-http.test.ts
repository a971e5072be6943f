// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import type { AddressInfo } from "node:net";
import { createServer } from "node:net";
import { Readable } from "node:stream";
import { test } from "node:test";
import { serveHttp } from "../testing/http-script.ts";
import { isOciError } from "./oci-error.ts";
import { createRegistryHttp, readBody } from "./registry-http.ts";

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
  assert.deepEqual(other.asked, ["GET /end nobody"]);
});

test("a redirect without a place is an answer like any other", async (t) => {
  const { host } = await serveHttp(t, (_, response) => void response.writeHead(302).end());
  const response = await send({ method: "GET", url: url(host) });
  response.body.resume();
  assert.equal(response.status, 302);
});

test("a server that says nothing is given up", async (t) => {
  const silent = createServer(() => {});
  await new Promise<void>((resolve) => silent.listen(0, "127.0.0.1", resolve));
  t.after(() => silent.close());
  const host = `127.0.0.1:${(silent.address() as AddressInfo).port}`;
  await assert.rejects(createRegistryHttp({ idleTimeoutMs: 50 })({ method: "GET", url: url(host) }), {
    message: "it answers nothing for 0.05 s",
    code: "ETIMEDOUT",
  });
});

test("an answer that comes before everything was sent counts", async (t) => {
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

test("a body that cannot be opened is the error", async (t) => {
  const { host } = await serveHttp(t, (request) => void request.resume());
  const failing = (): Readable =>
    new Readable({
      read() {
        this.destroy(new Error("no such file"));
      },
    });
  await assert.rejects(send({ method: "PUT", url: url(host), body: failing }), /no such file/);
});

test("who stops waiting gets no answer", async (t) => {
  const stopping = new AbortController();
  const { host } = await serveHttp(t, () => stopping.abort(new Error("enough")));
  await assert.rejects(send({ method: "GET", url: url(host), signal: stopping.signal }), { name: "AbortError" });
});

test("a body is read up to a limit", async () => {
  const body = (): Readable => Readable.from([Buffer.from("hello "), Buffer.from("world")]);
  assert.equal((await readBody(body(), 11)).toString(), "hello world");
  const read = body();
  await assert.rejects(readBody(read, 10), (error) => isOciError(error, "too-large"));
  assert.ok(read.destroyed);
});
