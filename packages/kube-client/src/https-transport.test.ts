// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { createSecureServer, type Http2SecureServer } from "node:http2";
import { createServer as createHttp1, type Server } from "node:https";
import type { AddressInfo } from "node:net";
import { after, before, describe, test } from "node:test";
import type { TLSSocket } from "node:tls";
import { createAuthority, issueCertificate } from "@purlin/certificates";
import { isConflict } from "@purlin/kube-objects/errors";
import { type ClusterAccess, type Credentials, fixedCredentials } from "./cluster-access.ts";
import { createHttpsTransport } from "./https-transport.ts";
import type { KubeTransport } from "./transport.ts";

const authority = createAuthority({ commonName: "test" });
const serverPair = issueCertificate(authority, {
  commonName: "server",
  ipAddresses: ["127.0.0.1"],
  dnsNames: ["kube.test"],
  usages: ["server"],
});
const clientPair = issueCertificate(authority, { commonName: "jane", usages: ["client"] });

interface Exchange {
  readonly method: string | undefined;
  readonly url: string | undefined;
  readonly headers: Readonly<Record<string, unknown>>;
  readonly body: string;
  readonly client: string | undefined;
}

interface Reply {
  readonly code?: number;
  readonly headers?: Record<string, string>;
  readonly text: string;
  /** Leave the stream open after the text. */
  readonly open?: boolean;
}

// Both kinds of server give their handlers the same few members.
interface Incoming extends AsyncIterable<Uint8Array> {
  readonly method?: string;
  readonly url?: string;
  readonly headers: Readonly<Record<string, unknown>>;
  readonly socket: object;
}
interface Outgoing {
  writeHead(code: number, headers: Record<string, string>): unknown;
  write(text: string): unknown;
  end(text?: string): unknown;
}

for (const protocol of ["h2", "http/1.1"] as const) {
  describe(`over ${protocol}`, () => {
    const exchanges: Exchange[] = [];
    let reply: (exchange: Exchange) => Reply = () => ({ text: "{}" });
    let server: Server | Http2SecureServer;
    /** Large bodies are not read before. */
    let gate: Promise<void> = Promise.resolve();
    const transports: KubeTransport[] = [];

    async function answer(incoming: Incoming, outgoing: Outgoing): Promise<void> {
      const chunks: Uint8Array[] = [];
      if (incoming.url === "/large") await gate;
      for await (const chunk of incoming) chunks.push(chunk);
      const { method, url, headers } = incoming;
      const socket = (
        "stream" in incoming ? (incoming.stream as { session: { socket: object } }).session.socket : incoming.socket
      ) as TLSSocket;
      const client = socket.getPeerCertificate?.()?.subject?.CN as string | undefined;
      const exchange: Exchange = { method, url, headers, body: Buffer.concat(chunks).toString(), client };
      exchanges.push(exchange);
      const { code = 200, headers: extra = {}, text, open } = reply(exchange);
      outgoing.writeHead(code, { "content-type": "application/json", ...extra });
      if (open) outgoing.write(text);
      else outgoing.end(text);
    }

    before(async () => {
      const tls = {
        cert: serverPair.certPem,
        key: serverPair.keyPem,
        ca: authority.certPem,
        requestCert: true,
        rejectUnauthorized: false,
      };
      const handler = (incoming: unknown, outgoing: unknown): void =>
        void answer(incoming as Incoming, outgoing as Outgoing);
      server = protocol === "h2" ? createSecureServer(tls, handler) : createHttp1(tls, handler);
      await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    });
    after(async () => {
      for (const transport of transports) await transport.close();
      await new Promise<void>((resolve) => server.close(() => resolve()));
    });

    function connect(credentials: Credentials = {}, change: Partial<ClusterAccess> = {}): KubeTransport {
      const { port } = server.address() as AddressInfo;
      const transport = createHttpsTransport({
        server: `https://127.0.0.1:${port}`,
        caPem: authority.certPem,
        credentials: fixedCredentials(credentials),
        ...change,
      });
      transports.push(transport);
      return transport;
    }

    test("sends method, path, query, headers and body", async () => {
      reply = () => ({ text: '{"ok":9007199254740993}', headers: { warning: '299 - "one \\"q\\"", 299 - "two"' } });
      const { port } = server.address() as AddressInfo;
      const transport = connect({ bearerToken: "secret" }, { server: `https://127.0.0.1:${port}/prefix/` });
      const response = await transport.request({
        method: "PATCH",
        path: "/api/v1/things/a",
        query: { fieldManager: "me", labelSelector: "a=b,c" },
        contentType: "application/merge-patch+json",
        body: { big: 9007199254740993n },
      });
      assert.deepEqual(response, { code: 200, body: { ok: 9007199254740993n }, warnings: ['one "q"', "two"] });
      const last = exchanges.at(-1);
      assert.equal(last?.url, "/prefix/api/v1/things/a?fieldManager=me&labelSelector=a%3Db%2Cc");
      assert.deepEqual(
        [
          last?.method,
          last?.body,
          last?.headers["content-type"],
          last?.headers["authorization"],
          last?.headers["user-agent"],
        ],
        ["PATCH", '{"big":9007199254740993}', "application/merge-patch+json", "Bearer secret", "purlin"],
      );
    });

    test("a watch that is aborted before it is read does no harm", async () => {
      reply = () => ({ text: '{"type":"ADDED"}\n', open: true });
      const transport = connect();
      const stop = new AbortController();
      await transport.stream({ method: "GET", path: "/watch", signal: stop.signal });
      stop.abort(new Error("enough"));
      // An error without a listener would end the process before this response comes.
      reply = () => ({ text: "{}" });
      assert.equal((await transport.request({ method: "GET", path: "/version" })).code, 200);
    });

    test("a client certificate names the caller, impersonation goes in headers", async () => {
      reply = () => ({ text: "{}" });
      const impersonate = { user: "bob", groups: ["dev", "ops"] };
      const transport = connect({ certPem: clientPair.certPem, keyPem: clientPair.keyPem, impersonate });
      await transport.request({ method: "GET", path: "/version" });
      assert.equal(exchanges.at(-1)?.client, "jane");
      assert.equal(exchanges.at(-1)?.headers["impersonate-user"], "bob");
      assert.match(String(exchanges.at(-1)?.headers["impersonate-group"]), /dev,\s?ops/);
    });

    test("a Status is thrown as it is, anything else as text with the code", async () => {
      const transport = connect();
      reply = () => ({
        code: 409,
        text: JSON.stringify({ kind: "Status", apiVersion: "v1", reason: "Conflict", message: "changed", code: 409 }),
      });
      await assert.rejects(
        transport.request({ method: "PUT", path: "/x", body: {} }),
        (error) => isConflict(error) && (error as Error).message === "changed",
      );
      reply = () => ({ code: 502, text: "<h1>bad gateway</h1>", headers: { "content-type": "text/html" } });
      await assert.rejects(transport.request({ method: "GET", path: "/x" }), {
        code: 502,
        message: "<h1>bad gateway</h1>",
      });
      reply = () => ({ code: 503, text: "" });
      await assert.rejects(transport.stream({ method: "GET", path: "/x" }), { code: 503, message: /without a body/ });
    });

    test("a watch yields line by line and ends with the signal", async () => {
      reply = () => ({ text: '{"type":"ADDED","n":1}\n{"type":"ADDED",', open: true });
      const stop = new AbortController();
      const seen: unknown[] = [];
      for await (const event of await connect().stream({ method: "GET", path: "/watch", signal: stop.signal })) {
        seen.push(event);
        stop.abort();
      }
      assert.deepEqual(seen, [{ type: "ADDED", n: 1 }]);
    });

    test("a refused token is fetched again, once", async () => {
      let tokens = 0;
      const credentials = { current: async () => ({ bearerToken: `t${tokens}` }), refused: () => void tokens++ };
      reply = ({ headers }) =>
        headers["authorization"] === "Bearer t1" ? { text: '"in"' } : { code: 401, text: "{}" };
      const response = await connect({}, { credentials }).request({ method: "GET", path: "/x" });
      assert.deepEqual([response.body, tokens], ["in", 1]);
      reply = () => ({ code: 401, text: '{"kind":"Status","code":401,"message":"no"}' });
      await assert.rejects(connect({}, { credentials }).request({ method: "GET", path: "/x" }), { code: 401 });
    });

    const busy = (code: number, seconds: string): Reply => ({
      code,
      text: JSON.stringify({ kind: "Status", code, message: "storage is (re)initializing" }),
      headers: { "retry-after": seconds },
    });
    for (const code of [429, 503]) {
      test(`a request that is answered with ${code} and Retry-After is sent again, with its body`, async () => {
        const from = exchanges.length;
        reply = () => (exchanges.length < from + 3 ? busy(code, "0") : { text: '"taken"' });
        const { body } = await connect().request({ method: "POST", path: "/x", body: { a: 1 } });
        assert.equal(body, "taken");
        assert.deepEqual(
          exchanges.slice(from).map((one) => one.body),
          ['{"a":1}', '{"a":1}', '{"a":1}'],
        );
      });
    }

    test("a server that stays busy is reported after ten retries", async () => {
      const from = exchanges.length;
      reply = () => busy(429, "0");
      const message = "storage is (re)initializing";
      await assert.rejects(connect().request({ method: "GET", path: "/x" }), { code: 429, message });
      assert.equal(exchanges.length - from, 11);
    });

    const final: Record<string, Reply> = {
      "a client error": busy(409, "0"),
      "a wait of more than 30 seconds": busy(429, "31"),
      "a date": busy(503, "Tue, 17 Nov 2026 18:00:00 GMT"),
      "no Retry-After": { ...busy(429, "0"), headers: {} },
    };
    for (const [name, answered] of Object.entries(final)) {
      test(`a request is not sent again: ${name}`, async () => {
        const from = exchanges.length;
        reply = () => answered;
        await assert.rejects(connect().request({ method: "GET", path: "/x" }), { code: answered.code });
        assert.equal(exchanges.length - from, 1);
      });
    }

    test("the wait for a busy server ends with the signal", { timeout: 20_000 }, async () => {
      const stop = new AbortController();
      reply = () => {
        setTimeout(() => stop.abort(), 100);
        return busy(429, "30");
      };
      await assert.rejects(connect().request({ method: "GET", path: "/x", signal: stop.signal }), /abort/i);
    });

    test("a server with a certificate of another authority, or for another name, is not trusted", async () => {
      const caPem = createAuthority({ commonName: "other" }).certPem;
      await assert.rejects(connect({}, { caPem }).request({ method: "GET", path: "/x" }), /certificate/);
      await assert.rejects(
        connect({}, { tlsServerName: "other.test" }).request({ method: "GET", path: "/x" }),
        /other\.test|altnames/,
      );
      reply = () => ({ text: "{}" });
      assert.equal(
        (await connect({}, { tlsServerName: "kube.test" }).request({ method: "GET", path: "/x" })).code,
        200,
      );
      assert.equal(
        (await connect({}, { caPem, insecureSkipTlsVerify: true }).request({ method: "GET", path: "/x" })).code,
        200,
      );
    });

    test("a body that no server takes is refused in the server's words, and never sent", async () => {
      reply = () => ({ text: "{}" });
      const transport = connect();
      const before = exchanges.length;
      const request = { method: "POST", path: "/x", body: { text: "é".repeat(1.5 * 2 ** 20) } } as const;
      await assert.rejects(transport.request(request), {
        code: 413,
        message: "Request entity too large: limit is 3145728",
      });
      await transport.request({ ...request, body: { text: "e".repeat(3 * 2 ** 20 - 11) } });
      assert.equal(exchanges.length, before + 1);
    });

    test("large objects on their way to a slow server do not delay other requests", async () => {
      let proceed = (): void => {};
      gate = new Promise<void>((resolve) => {
        proceed = resolve;
      });
      reply = () => ({ text: "{}" });
      const transport = connect();
      const body = { text: "x".repeat(2.5 * 2 ** 20) };
      const large = Array.from({ length: 8 }, () => transport.request({ method: "POST", path: "/large", body }));
      const others = Array.from({ length: 50 }, () => transport.request({ method: "GET", path: "/small" }));
      for (const { code } of await Promise.all(others)) assert.equal(code, 200);
      proceed();
      for (const { code } of await Promise.all(large)) assert.equal(code, 200);
    });

    test("many requests at once all come back", async () => {
      reply = ({ url }) => ({ text: JSON.stringify(url) });
      const transport = connect();
      const paths = Array.from({ length: 400 }, (_, index) => `/n/${index}`);
      const bodies = await Promise.all(
        paths.map(async (path) => (await transport.request({ method: "GET", path })).body),
      );
      assert.deepEqual(bodies, paths);
    });
  });
}

test("a server that is not there is an error, and tried again by the next request", async () => {
  const transport = createHttpsTransport({ server: "https://127.0.0.1:1", credentials: fixedCredentials({}) });
  await assert.rejects(transport.request({ method: "GET", path: "/x" }), /ECONNREFUSED/);
  await assert.rejects(transport.request({ method: "GET", path: "/x" }), /ECONNREFUSED/);
  await transport.close();
});
