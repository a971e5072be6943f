// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer as createHttpServer, type IncomingMessage, type ServerResponse } from "node:http";
import { createServer, type Server } from "node:https";
import { type AddressInfo, createServer as createTcpServer } from "node:net";
import { after, before, test } from "node:test";
import { createAuthority, issueCertificate } from "@purlin/certificates";
import type { JsonObject, JsonValue } from "@purlin/kube-objects/json";
import { WebhookCallError, WebhookClient } from "./webhook-client.ts";

const authority = createAuthority({ commonName: "webhooks" });
const caBundle = Buffer.from(authority.certPem).toString("base64");
const pair = issueCertificate(authority, {
  commonName: "hook",
  dnsNames: ["hook.ns.svc"],
  ipAddresses: ["127.0.0.1"],
  usages: ["server"],
});

let hook: Server;
let answer: (request: IncomingMessage, response: ServerResponse, body: string) => void = () => {};
let port = 0;
const services: object[] = [];
let client: WebhookClient;

before(async () => {
  hook = createServer({ key: pair.keyPem, cert: pair.certPem }, (request, response) => {
    const chunks: Buffer[] = [];
    request.on("data", (chunk: Buffer) => chunks.push(chunk));
    request.on("end", () => answer(request, response, Buffer.concat(chunks).toString()));
  });
  hook.listen(0, "127.0.0.1");
  await once(hook, "listening");
  ({ port } = hook.address() as AddressInfo);
  client = new WebhookClient((service) => {
    services.push(service);
    return { host: "127.0.0.1", port };
  });
});
after(() => {
  client.close();
  hook.closeAllConnections();
  hook.close();
});

const base = (): string => `https://127.0.0.1:${port}`;

function post(config: JsonObject = { url: `${base()}/`, caBundle }, timeoutMs = 10_000): Promise<JsonValue> {
  return client.post({ config, body: '{"a":"é"}', timeoutMs, userAgent: "purlin/test" });
}

/** The error of a call that the webhook answers so. */
async function errorOf(
  code: number,
  body: string | Buffer,
  headers: Record<string, string> = {},
): Promise<WebhookCallError> {
  answer = (_, response) => response.writeHead(code, headers).end(body);
  const error: unknown = await post().then(
    () => assert.fail("the call did not fail"),
    (reason: unknown) => reason,
  );
  assert.ok(error instanceof WebhookCallError, String(error));
  return error;
}

test("a call is a POST of JSON with its deadline in the query", async () => {
  let seen: object = {};
  answer = ({ method, url, headers }, response, body) => {
    seen = { method, url, body, type: headers["content-type"], length: headers["content-length"], headers };
    response.end('{"ok":true}');
  };
  assert.deepEqual(await post({ url: `${base()}/review`, caBundle }, 1001), { ok: true });
  const { headers, ...request } = seen as { headers: Record<string, string> };
  assert.deepEqual(request, {
    method: "POST",
    url: "/review?timeout=2s",
    body: '{"a":"é"}',
    type: "application/json",
    length: "10",
  });
  assert.equal(headers["user-agent"], "purlin/test");
  assert.equal(headers["accept"], "application/json, */*");
  assert.equal(headers["host"], `127.0.0.1:${port}`);
});

test("a call of a Service goes to its address under its name, to port 443 and path / where it states none", async () => {
  const seen: string[] = [];
  answer = ({ url, headers }, response) => {
    seen.push(`${headers.host} ${url}`);
    response.end("{}");
  };
  services.length = 0;
  await post({ service: { namespace: "ns", name: "hook" }, caBundle });
  await post({ service: { namespace: "ns", name: "hook", port: 8443, path: "/a/b" }, caBundle }, 30_000);
  assert.deepEqual(services, [
    { namespace: "ns", name: "hook", port: 443 },
    { namespace: "ns", name: "hook", port: 8443 },
  ]);
  assert.deepEqual(seen, ["hook.ns.svc /?timeout=10s", "hook.ns.svc:8443 /a/b?timeout=30s"]);
});

test("the certificate of a Service must name it", async () => {
  await assert.rejects(post({ service: { namespace: "ns", name: "other" }, caBundle }), {
    message:
      'Post "https://other.ns.svc:443/?timeout=10s": tls: failed to verify certificate: x509: certificate is valid for hook.ns.svc, not other.ns.svc',
    code: 503,
  });
});

test("a certificate of an authority outside the bundle is not trusted", async () => {
  const text = `Post "${base()}/?timeout=10s": tls: failed to verify certificate: x509: certificate signed by unknown authority`;
  const other = Buffer.from(createAuthority({ commonName: "other" }).certPem).toString("base64");
  await assert.rejects(post({ url: `${base()}/`, caBundle: other }), { message: text });
  await assert.rejects(post({ url: `${base()}/` }), { message: text });
});

test("a bundle without a certificate is an error before any connection", async () => {
  const text = "unable to load root certificates: unable to parse bytes as PEM block";
  const config = { url: `${base()}/`, caBundle: Buffer.from("no PEM").toString("base64") };
  await assert.rejects(post(config), { message: text, code: 503 });
});

test("an address that cannot be found is an error of the call", async () => {
  const failing = new WebhookClient(() => {
    throw new Error('service "hook" not found');
  });
  const config = { service: { namespace: "ns", name: "hook" }, caBundle };
  await assert.rejects(failing.post({ config, body: "", timeoutMs: 1000, userAgent: "" }), {
    message: 'Post "https://hook.ns.svc:443/?timeout=1s": service "hook" not found',
  });
  failing.close();
});

test("a call that takes longer than its deadline is ended", async () => {
  answer = () => {};
  await assert.rejects(post({ url: `${base()}/`, caBundle }, 20), {
    message: `Post "${base()}/?timeout=1s": context deadline exceeded`,
    code: 503,
  });
});

test("a call ends with the request that makes it", async () => {
  const controller = new AbortController();
  answer = () => controller.abort();
  const config = { url: `${base()}/`, caBundle };
  const call = { config, body: "{}", timeoutMs: 10_000, userAgent: "", signal: controller.signal };
  await assert.rejects(client.post(call), WebhookCallError);
  await assert.rejects(client.post(call), WebhookCallError, "a request that has ended makes no call");
});

test("a call ends with its request and its deadline while the TLS handshake is not complete", {
  timeout: 60_000,
}, async (t) => {
  const silent = createTcpServer((socket) => void socket.on("error", () => {})).listen(0, "127.0.0.1");
  await once(silent, "listening");
  const url = `https://127.0.0.1:${(silent.address() as AddressInfo).port}/`;
  // Only what this test does ends a call.
  t.mock.timers.enable({ apis: ["setTimeout"] });
  const controller = new AbortController();
  const call = { config: { url, caBundle }, body: "{}", timeoutMs: 2000, userAgent: "" };
  const ended = async (signal: AbortSignal, end: () => void): Promise<string> => {
    const failed = client.post({ ...call, signal }).catch((error: unknown) => String(error));
    await once(silent, "connection");
    end();
    return String(await failed);
  };
  assert.match(await ended(controller.signal, () => controller.abort()), /aborted/);
  const late = await ended(new AbortController().signal, () => t.mock.timers.tick(2000));
  assert.equal(late, `Error: Post "${url}?timeout=2s": context deadline exceeded`);
  silent.close();
});

test("a connection that is closed without a response is EOF", async () => {
  answer = (request) => request.socket.destroy();
  const fresh = new WebhookClient(() => ({ host: "127.0.0.1", port }));
  const config = { url: `${base()}/`, caBundle };
  await assert.rejects(fresh.post({ config, body: "", timeoutMs: 10_000, userAgent: "" }), {
    message: `Post "${base()}/?timeout=10s": EOF`,
  });
  fresh.close();
});

test("a kept connection that was closed is replaced, and the call is sent again", async () => {
  let calls = 0;
  answer = (request, response) => {
    calls += 1;
    if (calls === 2) request.socket.destroy();
    else response.end(String(calls));
  };
  assert.equal(await post(), 1);
  assert.equal(await post(), 3);
});

test("codes from 200 to 206 are answers, others are not", async () => {
  for (const code of [200, 206]) {
    answer = (_, response) => response.writeHead(code).end("{}");
    assert.deepEqual(await post(), {});
  }
  const { message, code } = await errorOf(207, "{}");
  assert.equal(message, "the server responded with the status code 207 but did not return more information");
  assert.equal(code, 207);
});

test("the message of a Status is the message of the error, whatever the type of the response", async () => {
  const { message, code } = await errorOf(500, '{"kind":"Status","message":"broken"}', { "content-type": "x/y" });
  assert.deepEqual([message, code], ["broken", 500]);
  assert.equal((await errorOf(500, '{"kind":"Status"}')).message, "");
});

const prevented = (text: string): string =>
  `an error on the server (${JSON.stringify(text)}) has prevented the request from succeeding`;

test("a text in the response is part of the error, anything else is unknown", async () => {
  const html = await errorOf(500, " <b>no</b>\n", { "content-type": "text/html; charset=utf-8" });
  assert.equal(html.message, prevented("<b>no</b>"));
  assert.equal((await errorOf(500, "no", { "content-type": "Text/Plain" })).message, prevented("no"));
  assert.equal((await errorOf(500, "no")).message, prevented("no"), "a response without a type is text");
  assert.equal((await errorOf(500, "{}", { "content-type": "application/json" })).message, prevented("unknown"));
});

test("an error shows the first 2048 bytes of a text", async () => {
  assert.equal((await errorOf(500, "x".repeat(2048))).message, prevented("x".repeat(2048)));
  assert.equal((await errorOf(500, `${"x".repeat(2048)}y`)).message, prevented("x".repeat(2048)));
});

test("a response that does not start like JSON is YAML, one that does is an error when it is not", async () => {
  answer = (_, response) => response.end(" ok \n");
  assert.equal(await post(), "ok");
  answer = (_, response) => response.end(" 12 ");
  assert.equal(await post(), 12);
  const { message, code } = await errorOf(200, '{"a":');
  assert.equal(message, "couldn't get version/kind; json parse error: unexpected end of JSON input");
  assert.equal(code, 503);
  answer = (_, response) => response.end("kind: A\nresponse:\n  uid: b\n");
  assert.deepEqual(await post(), { kind: "A", response: { uid: "b" } });
  assert.equal((await errorOf(200, "kind: [")).message, "yaml: line 1: did not find expected node content");
});

test("an empty response is an error with its code and type", async () => {
  const empty = "0-length response with status code:";
  assert.equal((await errorOf(200, "")).message, `${empty} 200 and content type: application/json`);
  const { message } = await errorOf(204, "", { "content-type": "text/plain" });
  assert.equal(message, `${empty} 204 and content type: text/plain`);
});

test("a server without TLS is named as one", async () => {
  const plain = createHttpServer((_, response) => response.end("{}")).listen(0, "127.0.0.1");
  await once(plain, "listening");
  const url = `https://127.0.0.1:${(plain.address() as AddressInfo).port}/x`;
  const call = { body: "{}", timeoutMs: 10_000, userAgent: "test", config: { url } };
  const message = `Post "${url}?timeout=10s": http: server gave HTTP response to HTTPS client`;
  await assert.rejects(client.post(call), { message });
  plain.close();
  await once(plain, "close");
});

test("a response of too many values is refused, one value fewer is read", async () => {
  const list = (values: number): string => `[${"0,".repeat(values - 2)}0]`;
  answer = (_, response) => response.end(list(100_000));
  assert.equal(((await post()) as unknown[]).length, 99_999);
  assert.equal((await errorOf(200, list(100_001))).message, "the response has more than 100000 values");
  const call = { config: { url: base(), caBundle }, body: "{}", timeoutMs: 10_000, userAgent: "test" };
  answer = (_, response) => response.end(list(100_001));
  assert.equal(((await client.post({ ...call, mostValues: 100_001 })) as unknown[]).length, 100_000);
});

test("an error of too many values is not parsed, and a long message of a Status is cut", async () => {
  const json = { "content-type": "application/json" };
  const many = `{"kind":"Status","message":"no","details":[${"0,".repeat(250_000)}0]}`;
  assert.equal((await errorOf(500, many, json)).message, prevented("unknown"));
  const long = JSON.stringify({ kind: "Status", message: "x".repeat(1_000_000) });
  assert.equal((await errorOf(500, long, json)).message, "x".repeat(16_384));
});

test("a webhook that switches protocols is an error at once", { timeout: 30_000 }, async () => {
  answer = ({ socket }) => void socket.end("HTTP/1.1 101 Switching\r\nConnection: upgrade\r\nUpgrade: x\r\n\r\n");
  await assert.rejects(post(), { message: `Post "${base()}/?timeout=10s": unexpected upgrade of the connection` });
});

test("a response of more than 8 MiB is refused", async () => {
  const { message } = await errorOf(200, Buffer.alloc(8 * 1024 * 1024 + 1, 32));
  assert.equal(message, `Post "${base()}/?timeout=10s": the response has more than 8388608 bytes`);
});

test("a response of more than 3 MiB of YAML is refused, and errors about YAML are cut", async () => {
  const most = 3 * 1024 * 1024;
  assert.equal(
    (await errorOf(200, "x".repeat(most + 1))).message,
    `the response has more than ${most} characters of YAML`,
  );
  answer = (_, response) => response.end("x".repeat(most));
  assert.equal(String(await post()).length, most);
  const { message } = await errorOf(200, `a: *${"x".repeat(100_000)}`);
  assert.match(message, /^yaml: unknown anchor .x{1000,1024}. referenced$/);
});

test("a redirect is followed: 307 and 308 keep the method and body, others become GET", async () => {
  for (const [code, expected] of [
    [301, "GET /to "],
    [302, "GET /to "],
    [303, "GET /to "],
    [307, 'POST /to {"a":"é"}'],
    [308, 'POST /to {"a":"é"}'],
  ] as const) {
    answer = ({ method, url }, response, body) => {
      if (url === "/to") response.end(JSON.stringify(`${method} ${url} ${body}`));
      else response.writeHead(code, { location: "/to" }).end();
    };
    assert.equal(await post(), expected, String(code));
  }
});

test("the eleventh redirect is not followed", async () => {
  const seen: string[] = [];
  answer = ({ url = "" }, response) => {
    seen.push(url);
    response.writeHead(307, { location: `/${seen.length}` }).end();
  };
  await assert.rejects(post(), { message: `Post "${base()}/10": stopped after 10 redirects` });
  assert.equal(seen.length, 11);
  assert.equal(seen.at(-1), "/10");
});
