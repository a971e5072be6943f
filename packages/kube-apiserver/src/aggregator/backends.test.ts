// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { once } from "node:events";
import type { IncomingMessage, ServerResponse } from "node:http";
import { createServer, type Server } from "node:https";
import type { AddressInfo } from "node:net";
import { after, before, test } from "node:test";
import type { TLSSocket } from "node:tls";
import { createAuthority, issueCertificate } from "@purlin/certificates";
import type { RemoteApi } from "./api-service.ts";
import { Backends, hostOf, TransportError, userHeaders } from "./backends.ts";

const authority = createAuthority({ commonName: "backends" });
const caBundle = Buffer.from(authority.certPem).toString("base64");
const pair = issueCertificate(authority, { commonName: "api", dnsNames: ["api.ns.svc"], usages: ["server"] });
const own = issueCertificate(authority, { commonName: "front-proxy-client", usages: ["client"] });

let backend: Server;
let backends: Backends;
let answer: (request: IncomingMessage, response: ServerResponse) => void = () => {};
before(async () => {
  const options = {
    key: pair.keyPem,
    cert: pair.certPem,
    ca: authority.certPem,
    requestCert: true,
    rejectUnauthorized: false,
  };
  backend = createServer(options, (request, response) => {
    request.resume();
    request.on("end", () => answer(request, response));
  });
  backend.listen(0, "127.0.0.1");
  await once(backend, "listening");
  const { port } = backend.address() as AddressInfo;
  backends = new Backends(
    () => ({ host: "127.0.0.1", port }),
    () => own,
  );
});
after(() => {
  backends.close();
  backend.closeAllConnections();
  backend.close();
});

const remote: RemoteApi = {
  name: "v1.example.org",
  group: "example.org",
  version: "v1",
  groupPriority: 1,
  versionPriority: 1,
  service: { namespace: "ns", name: "api", port: 443 },
  caBundle,
  skipsVerification: false,
};
const request = { method: "GET", path: "/x?a=1", headers: { accept: "a/b" }, signal: new AbortController().signal };

test("an IPv6 address is in brackets", () => {
  assert.equal(hostOf({ host: "::1", port: 443 }), "[::1]:443");
  assert.equal(hostOf({ host: "10.0.0.1", port: 80 }), "10.0.0.1:80");
});

test("the headers of a user are bytes without line breaks; keys of extra are escaped", () => {
  assert.deepEqual(userHeaders({ name: "a\r\nb", groups: [] }), { "x-remote-user": "a  b", "x-remote-group": [] });
  const user = { name: "é", uid: "", groups: ["ü"], extra: { "Example.org/Key%é": ["1", "2\n"] } };
  assert.deepEqual(userHeaders(user), {
    "x-remote-user": Buffer.from("é").toString("latin1"),
    "x-remote-group": [Buffer.from("ü").toString("latin1")],
    "x-remote-extra-example.org%2fkey%25%c3%a9": ["1", "2 "],
  });
});

test("a request has the name of the Service, the certificate of this server and its own headers", async () => {
  let seen: unknown;
  answer = ({ method, url, headers, socket }, response) => {
    const { subject } = (socket as TLSSocket).getPeerCertificate();
    seen = {
      method,
      url,
      accept: headers["accept"],
      host: headers.host,
      client: subject.CN,
      sni: (socket as TLSSocket & { servername: string }).servername,
    };
    response.end();
  };
  (await backends.send(remote, request)).resume();
  const { port } = backend.address() as AddressInfo;
  assert.deepEqual(seen, {
    method: "GET",
    url: "/x?a=1",
    accept: "a/b",
    host: `127.0.0.1:${port}`,
    client: "front-proxy-client",
    sni: "api.ns.svc",
  });
});

test("a certificate for another Service, or of another authority, is not accepted unless verification is off", async () => {
  answer = (_, response) => response.end();
  const other = { ...remote, service: { ...remote.service, name: "other" } };
  await assert.rejects(backends.send(other, request), { code: "ERR_TLS_CERT_ALTNAME_INVALID" });
  await assert.rejects(backends.send({ ...remote, caBundle: "" }, request));
  const response = await backends.send({ ...other, caBundle: "", skipsVerification: true }, request);
  response.resume();
  assert.equal(response.statusCode, 200);
});

test("a bundle without a certificate is an error of the APIService", () => {
  backends.checkTransport(remote);
  backends.checkTransport({ ...remote, caBundle: "" });
  assert.throws(
    () => backends.checkTransport({ ...remote, caBundle: "eA==" }),
    (error: Error) => {
      assert.ok(error instanceof TransportError);
      assert.equal(error.message, "unable to load root certificates: unable to parse bytes as PEM block");
      return true;
    },
  );
});

test("a read on a kept connection that was closed is sent again, a write has its own connection", async () => {
  let calls = 0;
  const sockets = new Set<unknown>();
  answer = ({ socket }, response) => {
    calls += 1;
    sockets.add(socket);
    if (calls === 2) socket.destroy();
    else response.end(String(calls));
  };
  const text = async (method: string): Promise<string> => {
    const response = await backends.send(remote, { ...request, method });
    return Buffer.concat(await response.toArray()).toString();
  };
  assert.equal(await text("GET"), "1");
  assert.equal(await text("GET"), "3");
  sockets.clear();
  await text("POST");
  await text("POST");
  assert.equal(sockets.size, 2);
});

test("a document is read whole, up to 3 MiB", async () => {
  const limit = 3 * 1024 * 1024;
  answer = ({ url }, response) =>
    response.writeHead(203, { "content-type": "a/b", etag: '"1"' }).end(Buffer.alloc(Number(url?.slice(1))));
  const read = (bytes: number): ReturnType<Backends["read"]> =>
    backends.read(remote, { path: `/${bytes}`, headers: {}, signal: request.signal });
  const { body, ...head } = await read(limit);
  assert.equal(body.length, limit);
  assert.deepEqual(head, { code: 203, contentType: "a/b", etag: '"1"' });
  await assert.rejects(read(limit + 1), { message: "the response has more than 3145728 bytes" });
});

test("a backend that switches protocols is an error", async () => {
  answer = ({ socket }) =>
    void socket.end("HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: x\r\n\r\n");
  await assert.rejects(
    backends.send(remote, { ...request, method: "POST", headers: { connection: "upgrade", upgrade: "x" } }),
    {
      message: "unexpected upgrade of the connection",
    },
  );
});
