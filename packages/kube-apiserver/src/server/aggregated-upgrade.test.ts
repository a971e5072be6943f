// SPDX-License-Identifier: Apache-2.0
// Connections that switch to another protocol through the API of another server: WebSockets, SPDY, or anything else.
import assert from "node:assert/strict";
import { once } from "node:events";
import type { IncomingMessage } from "node:http";
import { createServer } from "node:https";
import type { AddressInfo } from "node:net";
import type { Duplex } from "node:stream";
import { after, before, test } from "node:test";
import { connect, type TLSSocket } from "node:tls";
import { createAuthority, issueCertificate } from "@purlin/certificates";
import { startTestServer, type TestServer } from "@purlin/kube-builtin/testing";
import { answerValue } from "../../test/test-server.ts";
import { parseAuditPolicy } from "../audit/audit-policy.ts";
import type { ApiListener } from "./api-server.ts";

const services = "/apis/apiregistration.k8s.io/v1/apiservices";
const group = "streams.example.com";
const things = `/apis/${group}/v1/namespaces/default/things`;
const stack = new AsyncDisposableStack();
const auditLines: string[] = [];
let server: TestServer;
let listener: ApiListener;
type OnUpgrade = (request: IncomingMessage, socket: TLSSocket, head: Buffer) => void;
let onUpgrade: OnUpgrade = (_, socket) => void socket.end();
/** The lines of plain requests for objects: none may come over a connection that was to switch. */
const plain: string[] = [];
const open = new Set<Duplex>();

const accepted = "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: echo\r\nX-Own: 1\r\n\r\n";

before(async () => {
  const authority = createAuthority({ commonName: "streams" });
  const pair = issueCertificate(authority, {
    ...{ commonName: "streams", dnsNames: ["streams.default.svc"], usages: ["server"] },
  });
  const backend = createServer({ cert: pair.certPem, key: pair.keyPem, requestCert: true, rejectUnauthorized: false });
  backend.on("request", (request, response) => {
    if (request.url?.includes("/things")) plain.push(`${request.method} ${request.url}`);
    response.end("{}");
  });
  backend.on("upgrade", (request, socket, head) => {
    open.add(socket);
    socket.on("close", () => open.delete(socket)).on("error", () => {});
    request.socket.allowHalfOpen = true;
    socket.allowHalfOpen = true;
    onUpgrade(request, socket as TLSSocket, head);
    // What is not read does not end.
    if (!socket.readableFlowing) socket.resume();
    socket.on("end", () => socket.end());
  });
  backend.listen(0, "127.0.0.1");
  await once(backend, "listening");
  stack.defer(() => void backend.close());
  const { port } = backend.address() as AddressInfo;
  server = stack.use(await startWith(port));
  listener = await server.server.listen();
  backend.setSecureContext({ cert: pair.certPem, key: pair.keyPem, ca: server.server.certificates.frontProxy.certPem });
  await register(server, authority.certPem);
});
after(() => stack.disposeAsync());

function startWith(port: number): Promise<TestServer> {
  const policy = parseAuditPolicy({ apiVersion: "audit.k8s.io/v1", kind: "Policy", rules: [{ level: "Metadata" }] });
  return startTestServer({
    webhookTargets: new Map([["default/streams:443", { host: "127.0.0.1", port }]]),
    inFlightLimits: { atOnce: 3, waiting: 8 },
    audit: { policy, write: (line) => auditLines.push(line) },
  });
}

async function register(to: TestServer, authorityPem: string): Promise<void> {
  const service = { metadata: { name: "streams" }, spec: { type: "ExternalName", externalName: "unused" } };
  await to.post("/api/v1/namespaces/default/services", { apiVersion: "v1", kind: "Service", ...service });
  await to.post(services, {
    apiVersion: "apiregistration.k8s.io/v1",
    kind: "APIService",
    metadata: { name: `v1.${group}` },
    spec: {
      ...{ group, version: "v1", groupPriorityMinimum: 1000, versionPriority: 15 },
      service: { name: "streams", namespace: "default" },
      caBundle: Buffer.from(authorityPem).toString("base64"),
    },
  });
  await to.until(`${services}/v1.${group}`, (response) => JSON.stringify(answerValue(response)).includes("Passed"));
}

/** A connection of a client, as bytes. */
class Client {
  readonly socket: TLSSocket;
  text = "";
  readonly ended: Promise<void>;
  #wake = (): void => {};

  constructor({ isAdmin = true, url = listener.url }: { readonly isAdmin?: boolean; readonly url?: string } = {}) {
    const { authority, admin } = server.server.certificates;
    const { hostname: host, port } = new URL(url);
    this.socket = connect({
      ...{ host, port: Number(port), ca: authority.certPem, ALPNProtocols: ["http/1.1"] },
      ...(isAdmin && { cert: admin.certPem, key: admin.keyPem }),
    });
    this.socket.allowHalfOpen = true;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.ended = promise;
    const wake = (): void => this.#wake();
    this.socket.on("data", (bytes: Buffer) => {
      this.text += bytes.toString("latin1");
      wake();
    });
    this.socket
      .on("error", () => {})
      .on("end", resolve)
      .on("close", resolve)
      .on("close", wake);
  }

  /** Sends a request to switch protocols, with what follows it in the same packet. */
  ask(
    path: string,
    { method = "GET", headers = [], rest = "" }: { method?: string; headers?: string[]; rest?: string } = {},
  ): this {
    const lines = [`${method} ${path} HTTP/1.1`, "Host: api", "Connection: Upgrade", "Upgrade: echo", ...headers];
    this.socket.write(`${lines.join("\r\n")}\r\n\r\n${rest}`);
    return this;
  }

  /** Waits until what has arrived has a text. */
  async until(text: string): Promise<string> {
    while (!this.text.includes(text)) {
      if (this.socket.destroyed) throw new Error(`closed before ${JSON.stringify(text)}: ${JSON.stringify(this.text)}`);
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
    return this.text;
  }

  /** All that arrives until the server ends the connection. */
  async whole(): Promise<string> {
    await this.ended;
    this.socket.destroy();
    return this.text;
  }
}

async function untilNoneIsOpen(): Promise<void> {
  while (open.size > 0) await new Promise((resolve) => setTimeout(resolve, 5));
}

const echo: OnUpgrade = (_, socket, head) => {
  socket.write(accepted);
  if (head.length > 0) socket.write(head);
  socket.pipe(socket);
};

test("both directions pass, from the bytes that follow the headers on", async () => {
  onUpgrade = (_, socket, head) => {
    socket.write(`${accepted}hello `);
    assert.equal(head.length, 0, "nothing is sent to a backend that has not switched");
    socket.pipe(socket);
  };
  const client = new Client().ask(`${things}/a/stream?b=2&a=1`, { rest: "early " });
  const text = await client.until("early ");
  const [head = "", rest] = text.split("\r\n\r\n");
  const lines = head.toLowerCase().split("\r\n");
  assert.deepEqual(lines.sort(), [
    "connection: upgrade",
    "http/1.1 101 switching protocols",
    "upgrade: echo",
    "x-own: 1",
  ]);
  assert.equal(rest, "hello early ");
  client.socket.write("more");
  await client.until("hello early more");
  client.socket.end();
  await client.whole();
  await untilNoneIsOpen();
});

test("the backend knows the user and the server, and no header that the client forges", async () => {
  let seen: IncomingMessage | undefined;
  onUpgrade = (request, socket) => {
    seen = request;
    assert.equal((request.socket as TLSSocket).authorized, true);
    socket.end(accepted);
  };
  const headers = [
    ...["X-Remote-User: evil", "X-Remote-Group: system:masters", "X-Remote-Extra-Foo: x", "X-Remote-Uid: 1"],
    ...["Authorization: Bearer x", "X-Custom: kept", "Proxy-Authorization: x", "TE: trailers"],
    ...["Impersonate-User: jane", "Impersonate-Group: g1", "Impersonate-Extra-Scope: s"],
    ...["Sec-WebSocket-Protocol: a", "Sec-WebSocket-Protocol: b"],
  ];
  // Jane may do this.
  await bindToEverything("jane");
  await new Client().ask(`${things}/a/stream?b=2&a=1`, { method: "POST", headers }).whole();
  assert.equal(seen?.url, `${things}/a/stream?a=1&b=2`);
  assert.equal(seen.method, "POST");
  const shown = Object.entries(seen.headers).filter(([name]) => !["host", "audit-id"].includes(name));
  assert.deepEqual(Object.fromEntries(shown), {
    ...{ connection: "Upgrade", upgrade: "echo", "sec-websocket-protocol": "a, b", "x-custom": "kept" },
    ...{ "x-forwarded-for": "127.0.0.1", "x-remote-user": "jane", "x-remote-group": "g1, system:authenticated" },
    ...{ "x-remote-extra-scope": "s", "content-length": "0" },
  });
  await untilNoneIsOpen();
});

async function bindToEverything(user: string): Promise<void> {
  const rbac = { apiVersion: "rbac.authorization.k8s.io/v1", metadata: { name: user } };
  await server.post("/apis/rbac.authorization.k8s.io/v1/clusterrolebindings", {
    ...{ ...rbac, kind: "ClusterRoleBinding" },
    roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name: "cluster-admin" },
    subjects: [{ apiGroup: "rbac.authorization.k8s.io", kind: "User", name: user }],
  });
}

test("a user without credentials or rights is refused, and the backend is not asked", async () => {
  onUpgrade = () => assert.fail("the backend was asked");
  const unknown = await new Client({ isAdmin: false }).ask(things, { headers: ["Authorization: Bearer no"] }).whole();
  assert.match(unknown, /^HTTP\/1.1 401 [\s\S]*"reason":"Unauthorized"/);
  const asks = ["Impersonate-User: jack"];
  const denied = await new Client().ask(things, { method: "POST", headers: asks }).whole();
  assert.match(denied, /^HTTP\/1.1 403 [\s\S]*User \\"jack\\" cannot create resource \\"things\\" in API group/);
  assert.match(denied, /\r\nconnection: close\r\n/i);
});

test("a refusal of the backend is returned as it is, and nothing more is taken from the connection", async () => {
  onUpgrade = (_, socket) => {
    socket.write("HTTP/1.1 403 Forbidden\r\nContent-Type: text/plain\r\nX-Own: 1\r\nContent-Length: 3\r\n\r\nno!");
  };
  const forged = `GET ${things}/forged HTTP/1.1\r\nHost: api\r\nX-Remote-User: evil\r\nX-Remote-Group: system:masters\r\n\r\n`;
  const client = new Client().ask(`${things}/a/stream`, { rest: forged });
  const text = await client.until("no!");
  assert.match(text, /^HTTP\/1.1 403 Forbidden\r\n[\s\S]*x-own: 1\r\n/i);
  client.socket.write(forged);
  await client.whole();
  await untilNoneIsOpen();
  assert.deepEqual(plain, []);
});

const refusals: Readonly<Record<string, { readonly by: OnUpgrade; readonly want: RegExp; readonly query?: string }>> = {
  "answers with success instead": {
    by: (_, socket) => void socket.write("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"),
    want: /^HTTP\/1.1 503 [\s\S]*\r\n\r\ninvalid upgrade response: status code 200\n$/,
  },
  redirects: {
    by: (_, socket) => void socket.write("HTTP/1.1 302 Found\r\nLocation: /x\r\nContent-Length: 0\r\n\r\n"),
    want: /^HTTP\/1.1 503 [\s\S]*invalid upgrade response: status code 302\n$/,
  },
  "hangs up": { by: (_, socket) => void socket.destroy(), want: /^HTTP\/1.1 503 [\s\S]*\r\n\r\nunexpected EOF\n$/ },
  "closes amid the headers": {
    by: (_, socket) => void socket.end("HTTP/1.1 101 Switching"),
    want: /^HTTP\/1.1 503 /,
  },
  "sends garbage": { by: (_, socket) => void socket.end("SMTP ready\r\n"), want: /^HTTP\/1.1 503 / },
  "sends a very long header": {
    by: (_, socket) => void socket.end(`HTTP/1.1 101 Yes\r\nX: ${"y".repeat(200_000)}\r\n\r\n`),
    want: /^HTTP\/1.1 503 /,
  },
  "never responds": { by: () => {}, query: "?timeout=300ms", want: /^HTTP\/1.1 504 / },
  "switches without saying to what": {
    by: (_, socket) => void socket.write("HTTP/1.1 101 Switching Protocols\r\n\r\n"),
    want: /^HTTP\/1.1 503 [\s\S]*invalid upgrade response: status code 101\n$/,
  },
};

for (const [what, { by, want, query = "" }] of Object.entries(refusals)) {
  test(`a backend that ${what} gives an error, and both connections are closed`, async () => {
    onUpgrade = by;
    assert.match(await new Client().ask(`${things}/a/stream${query}`).whole(), want);
    await untilNoneIsOpen();
  });
}

test("a backend that closes midway closes the connection of the client", async () => {
  onUpgrade = (_, socket) => void socket.write(`${accepted}part`, () => socket.destroy());
  assert.match(await new Client().ask(`${things}/a/stream`).whole(), /\r\n\r\npart$/);
  await untilNoneIsOpen();
});

test("a client that ends its side still gets what the backend has to send", async () => {
  onUpgrade = (_, socket) => {
    socket.write(accepted);
    let got = "";
    socket.on("data", (bytes) => (got += String(bytes)));
    socket.on("end", () => socket.end(`got ${got}`));
  };
  const client = new Client().ask(`${things}/a/stream`);
  await client.until("\r\n\r\n");
  client.socket.end("all");
  assert.match(await client.whole(), /\r\n\r\ngot all$/);
  await untilNoneIsOpen();
});

test("a client that goes ends the connection to the backend, before and after it has switched", async () => {
  for (const answer of ["", accepted]) {
    const { promise, resolve } = Promise.withResolvers<void>();
    onUpgrade = (_, socket) => {
      socket.write(answer);
      socket.on("data", () => {});
      resolve();
    };
    const client = new Client().ask(`${things}/a/stream`);
    await (answer === "" ? promise : client.until("\r\n\r\n"));
    client.socket.destroy();
    await untilNoneIsOpen();
  }
});

test("no direction outruns its reader, and all bytes arrive", async () => {
  onUpgrade = echo;
  const client = new Client().ask(`${things}/a/stream`);
  await client.until("\r\n\r\n");
  const size = 4 * 1024 * 1024;
  client.text = "";
  client.socket.end("x".repeat(size));
  assert.equal((await client.whole()).length, size);
  await untilNoneIsOpen();
});

test("the body of a request comes before what the client sends afterwards", async () => {
  let body = "";
  onUpgrade = (request, socket) => {
    request.on("data", (bytes) => (body += String(bytes)));
    request.on("end", () => {
      socket.write(accepted);
      socket.pipe(socket);
    });
  };
  for (const [headers, sent] of [
    [["Content-Length: 4"], "body"],
    [["Transfer-Encoding: chunked"], "4\r\nbody\r\n0\r\n\r\n"],
  ] as const) {
    body = "";
    const client = new Client().ask(`${things}/a/stream`, { method: "POST", headers: [...headers] });
    client.socket.write(sent);
    await client.until("\r\n\r\n");
    client.socket.end("then");
    assert.match(await client.whole(), /\r\n\r\nthen$/);
    assert.equal(body, "body");
    await untilNoneIsOpen();
  }
});

test("a WebSocket may send its token as a subprotocol, which the backend does not see", async () => {
  let offered: string | undefined;
  onUpgrade = (request, socket) => {
    offered = [request.headers["sec-websocket-protocol"], request.headers["x-remote-user"]].join(" ");
    socket.end(accepted);
  };
  const account = "/api/v1/namespaces/default/serviceaccounts/default/token";
  const { status } = await server.post(account, {
    apiVersion: "authentication.k8s.io/v1",
    kind: "TokenRequest",
    spec: { audiences: [] },
  });
  const { token } = status as { readonly token: string };
  await bindToEverything("system:serviceaccount:default:default");
  const protocol = `base64url.bearer.authorization.k8s.io.${Buffer.from(token).toString("base64url")}`;
  const client = new Client({ isAdmin: false });
  const lines = ["Host: api", "Connection: Upgrade", "Upgrade: WebSocket", `Sec-WebSocket-Protocol: ${protocol}, v5`];
  client.socket.write(`GET ${things}/a/stream HTTP/1.1\r\n${lines.join("\r\n")}\r\n\r\n`);
  assert.match(await client.whole(), /^HTTP\/1.1 101 /);
  assert.equal(offered, "v5 system:serviceaccount:default:default");
  await untilNoneIsOpen();
});

test("a user has as many connections at once as requests, and one more when one is closed", async () => {
  onUpgrade = echo;
  const clients = [1, 2, 3].map(() => new Client().ask(`${things}/a/stream`));
  for (const client of clients) await client.until("\r\n\r\n");
  const text = await new Client().ask(`${things}/a/stream`).whole();
  assert.match(
    text,
    /^HTTP\/1.1 429 [\s\S]*too many upgraded connections of user \\"[^"]+\\": at most 3 are open at once/,
  );
  // Plain requests of the same user have turns of their own.
  const plainly = new Client();
  plainly.socket.write("GET /version HTTP/1.1\r\nHost: api\r\nConnection: close\r\n\r\n");
  assert.match(await plainly.whole(), /^HTTP\/1.1 200 /);
  clients[0]?.socket.destroy();
  for (;;) {
    const next = new Client().ask(`${things}/a/stream`);
    await next.until("\r\n\r\n");
    next.socket.destroy();
    if (next.text.startsWith("HTTP/1.1 101 ")) break;
  }
  for (const { socket } of clients) socket.destroy();
  await untilNoneIsOpen();
});

test("a request for another API is answered without the upgrade", async () => {
  const client = new Client().ask("/version");
  assert.match(await client.until("gitVersion"), /^HTTP\/1.1 200 /);
  client.socket.destroy();
});

test("the audit log has the connection when it begins and when it ends", async () => {
  onUpgrade = echo;
  auditLines.length = 0;
  const client = new Client().ask(`${things}/audited/stream`);
  await client.until("\r\n\r\n");
  client.socket.destroy();
  await untilNoneIsOpen();
  const events = auditLines.filter((line) => line.includes("/audited/")).map((line) => JSON.parse(line));
  assert.deepEqual(
    events.map(({ stage, responseStatus }) => [stage, responseStatus?.code]),
    [
      ["RequestReceived", undefined],
      ["ResponseStarted", 101],
      ["ResponseComplete", 101],
    ],
  );
});

test("a server that stops ends the connections of both sides at once", async () => {
  onUpgrade = echo;
  const client = new Client().ask(`${things}/a/stream`);
  await client.until("\r\n\r\n");
  const closing = server.server.close();
  await client.whole();
  await untilNoneIsOpen();
  await closing;
});
