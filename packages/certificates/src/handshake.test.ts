// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { after, test } from "node:test";
import * as tls from "node:tls";
import { createAuthority, issueCertificate, renewAuthority } from "./certificate.ts";
import type { KeyAlgorithm, KeyPair } from "./issuer.ts";

const authority = createAuthority({ commonName: "handshake authority" });
const stranger = createAuthority({ commonName: "handshake authority" });
const client = issueCertificate(authority, { commonName: "alice", organizations: ["devs"], usages: ["client"] });

const servers: tls.Server[] = [];
after(() => {
  for (const server of servers) server.close();
});

async function serve(certificate: KeyPair, ca: string = authority.certPem): Promise<number> {
  const options = { cert: certificate.certPem, key: certificate.keyPem, ca, requestCert: true };
  const server = tls.createServer(options, (socket) => {
    socket.on("error", () => socket.destroy());
    socket.end(`hello ${socket.getPeerCertificate().subject.CN}`);
  });
  server.on("tlsClientError", (_error, socket) => socket.destroy());
  server.listen(0, "localhost");
  await once(server, "listening");
  servers.push(server);
  return (server.address() as AddressInfo).port;
}

async function greet(port: number, options: tls.ConnectionOptions): Promise<string> {
  const socket = tls.connect({ port, host: "localhost", ca: authority.certPem, ...options });
  let text = "";
  socket.setEncoding("utf8").on("data", (chunk: string) => {
    text += chunk;
  });
  await once(socket, "close");
  // TLS 1.3 lets a client finish its handshake before the server refuses it: then there is an end, but no greeting.
  assert.notEqual(text, "", "closed without a greeting");
  return text;
}

function serverCertificate(algorithm: KeyAlgorithm = "ecdsa-p256"): KeyPair {
  return issueCertificate(authority, { commonName: "server", dnsNames: ["localhost"], usages: ["server"], algorithm });
}

for (const algorithm of ["ecdsa-p256", "rsa-2048"] as const) {
  test(`mutual TLS with a ${algorithm} server succeeds and names the caller`, async () => {
    const port = await serve(serverCertificate(algorithm));
    assert.equal(await greet(port, { cert: client.certPem, key: client.keyPem }), "hello alice");
  });
}

test("a client without a certificate is refused", async () => {
  const port = await serve(serverCertificate());
  await assert.rejects(greet(port, {}), { code: "ERR_SSL_TLSV13_ALERT_CERTIFICATE_REQUIRED" });
});

test("a client of another authority with the same name is refused", async () => {
  const port = await serve(serverCertificate());
  const mallory = issueCertificate(stranger, { commonName: "alice", usages: ["client"] });
  await assert.rejects(
    greet(port, { cert: mallory.certPem, key: mallory.keyPem }),
    /alert|ECONNRESET|closed without a greeting/,
  );
});

test("a server certificate cannot be used by a client", async () => {
  const server = serverCertificate();
  const port = await serve(server);
  await assert.rejects(
    greet(port, { cert: server.certPem, key: server.keyPem }),
    /alert|ECONNRESET|closed without a greeting/,
  );
});

test("a server of another authority is refused by the client", async () => {
  const port = await serve(serverCertificate());
  await assert.rejects(
    greet(port, { ca: stranger.certPem }),
    /certificate signature failure|unable to verify|self-signed/,
  );
});

test("a server under a name its certificate lacks is refused", async () => {
  const port = await serve(
    issueCertificate(authority, { commonName: "localhost", dnsNames: ["else"], usages: ["server"] }),
  );
  const credentials = { cert: client.certPem, key: client.keyPem };
  await assert.rejects(greet(port, credentials), { code: "ERR_TLS_CERT_ALTNAME_INVALID" });
});

test("an expired server certificate is refused", async () => {
  const past = new Date("2020-01-01T00:00:00Z");
  const ca = createAuthority({ commonName: "ca", now: past, days: 36_500 });
  const port = await serve(
    issueCertificate(ca, { commonName: "s", dnsNames: ["localhost"], usages: ["server"], now: past, days: 1 }),
  );
  await assert.rejects(greet(port, { ca: ca.certPem }), { code: "CERT_HAS_EXPIRED" });
});

for (const algorithm of ["ecdsa-p256", "rsa-2048"] as const) {
  test(`a renewed ${algorithm} authority and the one before it vouch for each other's certificates`, async () => {
    const before = createAuthority({ commonName: "renewed", dnsNames: ["ca.example.org"], days: 30, algorithm });
    const after = renewAuthority(before);
    const issued = [before, after].map((one) =>
      issueCertificate(one, { commonName: "x", dnsNames: ["localhost"], usages: ["server", "client"] }),
    );
    for (const server of issued) {
      for (const ca of [before.certPem, after.certPem]) {
        const port = await serve(server, ca);
        for (const caller of issued) {
          assert.equal(await greet(port, { ca, cert: caller.certPem, key: caller.keyPem }), "hello x");
        }
      }
    }
  });
}
