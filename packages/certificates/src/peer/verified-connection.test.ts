// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer, type RequestOptions, request } from "node:https";
import { type AddressInfo, createServer as createTcpServer, type Socket } from "node:net";
import { test } from "node:test";
import { createCrossplaneAuthority, issueAsCrossplane } from "../../test/crossplane-certificates.ts";
import { createAuthority, issueCertificate } from "../certificate.ts";
import type { KeyPair } from "../issuer.ts";
import { type VerifiedRequestOptions, VerifyingAgent } from "./verified-connection.ts";

interface Outcome {
  /** The body of the answer, or the code of the error. */
  readonly answer: string;
  /** Whether the server received the request. */
  readonly isReceived: boolean;
}

/** Sends one request to a server that shows a certificate. */
async function ask(shown: KeyPair, options: RequestOptions): Promise<Outcome> {
  let isReceived = false;
  const server = createServer({ cert: shown.certPem, key: shown.keyPem }, (_request, response) => {
    isReceived = true;
    response.end("hello");
  });
  server.on("tlsClientError", () => {});
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const agent = new VerifyingAgent({ keepAlive: true });
  try {
    const { port } = server.address() as AddressInfo;
    const answer = await new Promise<string>((resolve) => {
      const sent = request({ host: "127.0.0.1", port, method: "POST", agent, ...options }, (response) => {
        response.setEncoding("utf8").on("data", resolve);
      });
      sent.on("error", (error: NodeJS.ErrnoException) => resolve(error.code ?? error.message));
      sent.end("secret");
    });
    return { answer, isReceived };
  } finally {
    agent.destroy();
    server.closeAllConnections();
    server.close();
  }
}

const served: Outcome = { answer: "hello", isReceived: true };
const refused = (answer: string): Outcome => ({ answer, isReceived: false });

const authority = createAuthority({ commonName: "test" });
const leaf = issueCertificate(authority, { commonName: "x", ipAddresses: ["127.0.0.1"], usages: ["server"] });
const crossplane = createCrossplaneAuthority();
const names = { ipAddresses: ["127.0.0.1"], dnsNames: ["hook.default.svc"] };
const crossplaneLeaf = issueAsCrossplane(crossplane, { ...names, usages: ["server"] });
const partial = { allowPartialTrustChain: true };

test("what Node accepts is accepted", async () => {
  assert.deepEqual(await ask(leaf, { ca: authority.certPem }), served);
  assert.deepEqual(await ask(leaf, { rejectUnauthorized: false }), served);
});

test("what Node refuses is refused before the request is sent", async () => {
  assert.deepEqual(await ask(leaf, {}), refused("UNABLE_TO_VERIFY_LEAF_SIGNATURE"));
  assert.deepEqual(await ask(leaf, { ca: crossplane.certPem }), refused("UNABLE_TO_VERIFY_LEAF_SIGNATURE"));
  const other = { ca: authority.certPem, servername: "other.default.svc" };
  assert.deepEqual(await ask(leaf, other), refused("ERR_TLS_CERT_ALTNAME_INVALID"));
});

test("a certificate with the subject of its authority and without key identifiers is accepted", async () => {
  assert.deepEqual(await ask(crossplaneLeaf, { ca: crossplane.certPem, ...partial }), served);
  const named = { ca: crossplane.certPem, servername: "hook.default.svc", ...partial };
  assert.deepEqual(await ask(crossplaneLeaf, named), served);
});

test("such a certificate is refused when its authority, name, usage or time is wrong", async () => {
  const untrusted = refused("DEPTH_ZERO_SELF_SIGNED_CERT");
  assert.deepEqual(await ask(crossplaneLeaf, { ca: createCrossplaneAuthority().certPem, ...partial }), untrusted);
  assert.deepEqual(await ask(crossplaneLeaf, {}), untrusted);
  const ca = crossplane.certPem;
  const other = { ca, servername: "other.default.svc", ...partial };
  assert.deepEqual(await ask(crossplaneLeaf, other), refused("ERR_TLS_CERT_ALTNAME_INVALID"));
  const client = issueAsCrossplane(crossplane, { ...names, usages: ["client"] });
  assert.deepEqual(await ask(client, { ca, ...partial }), refused("INVALID_PURPOSE"));
  const notAfter = new Date(Date.now() - 60_000);
  const old = issueAsCrossplane(crossplane, { ...names, usages: ["server"], notBefore: new Date(0), notAfter });
  assert.deepEqual(await ask(old, { ca, ...partial }), refused("CERT_HAS_EXPIRED"));
});

test("a handshake ends when its request is given up, and its connection is closed", { timeout: 60_000 }, async (t) => {
  // The limit of handshakes does not end this one.
  t.mock.timers.enable({ apis: ["setTimeout"] });
  const silent = createTcpServer().listen(0, "127.0.0.1");
  await once(silent, "listening");
  const { port } = silent.address() as AddressInfo;
  const agent = new VerifyingAgent({ keepAlive: true });
  const controller = new AbortController();
  const { signal } = controller;
  const options: VerifiedRequestOptions = { host: "127.0.0.1", port, agent, signal, handshakeSignal: signal };
  const sent = request(options);
  const failed = once(sent, "error");
  sent.end();
  const [connection] = (await once(silent, "connection")) as [Socket];
  const closed = once(connection.resume(), "close");
  connection.on("error", () => {});
  controller.abort();
  const [error] = (await failed) as [Error];
  assert.match(error.message, /aborted/);
  await closed;
  assert.deepEqual(Object.values(agent.sockets).flat(), []);
  agent.destroy();
  silent.close();
});

test("a server that cannot be reached fails the request", async () => {
  const agent = new VerifyingAgent();
  const sent = request({ host: "127.0.0.1", port: 1, agent });
  const failed = once(sent, "error");
  sent.end();
  const [error] = (await failed) as [NodeJS.ErrnoException];
  assert.equal(error.code, "ECONNREFUSED");
  agent.destroy();
});
