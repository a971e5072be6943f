// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer as createHttpServer } from "node:http";
import { createSecureServer, createServer } from "node:http2";
import { type AddressInfo, createServer as createTcpServer, type Server, type Socket } from "node:net";
import { join } from "node:path";
import { test } from "node:test";
import { tempFolder } from "@purlin/base/testing/temp-folder";
import { createAuthority, issueCertificate, type KeyPair } from "@purlin/certificates";
import { createTlsIdentity, type TlsIdentity } from "@purlin/certificates/peer";
import { createCrossplaneAuthority, issueAsCrossplane } from "@purlin/certificates/testing";
import { parseTarget, probeTarget, type Target } from "./probe-target.ts";

const authority = createAuthority({ commonName: "ours" });
const stranger = createAuthority({ commonName: "theirs" });
const usages = ["server", "client"] as const;
const own = issueCertificate(authority, { commonName: "a", dnsNames: ["localhost"], usages });
const foreign = issueCertificate(stranger, { commonName: "a", dnsNames: ["localhost"], usages });
const elsewhere = issueCertificate(authority, { commonName: "a", dnsNames: ["elsewhere"], usages });
const lastYear = new Date(Date.now() - 400 * 86_400_000);
const expired = issueCertificate(authority, { commonName: "a", dnsNames: ["localhost"], usages, now: lastYear });

const serving = (pair: KeyPair): Server =>
  createSecureServer({ ca: authority.certPem, cert: pair.certPem, key: pair.keyPem, requestCert: true });
const as = (pair: KeyPair, trust = authority): TlsIdentity =>
  createTlsIdentity({ ca: trust.certPem, cert: pair.certPem, key: pair.keyPem });

/** Long enough for any answer that comes at all. */
const patience = 60_000;

/** Starts a server and probes it. Connections that the probe leaves open would keep the test from ending. */
async function probe(
  server: Server,
  identity?: TlsIdentity,
  { host = "localhost", timeoutMs = patience } = {},
): Promise<void> {
  const sockets = new Set<Socket>();
  server.on("connection", (socket: Socket) => sockets.add(socket));
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const target = parseTarget(`${host}:${(server.address() as AddressInfo).port}`);
  try {
    await probeAt(target, identity, timeoutMs);
  } finally {
    server.close();
    for (const socket of sockets) socket.destroy();
  }
}

function probeAt(target: Target, identity?: TlsIdentity, timeoutMs = patience): Promise<void> {
  const tls = identity === undefined ? undefined : { identity, directory: "certs" };
  return probeTarget(target, { tls, timeoutMs, signal: new AbortController().signal });
}

test("a function that can be reached is left alone", async () => {
  await probe(createServer());
  await probe(serving(own), as(own));
});

const crossplane = createCrossplaneAuthority();
const fromCrossplane = issueAsCrossplane(crossplane, { dnsNames: ["localhost"], usages });
const sameSubject = issueAsCrossplane(createCrossplaneAuthority(), { dnsNames: ["localhost"], usages });

test("a function with a certificate that Crossplane issued can be reached", async () => {
  // What the server thinks of our certificate is not in question.
  const server = createSecureServer({ cert: fromCrossplane.certPem, key: fromCrossplane.keyPem });
  await probe(server, as(fromCrossplane, crossplane));
});

test("a function whose certificate only looks like one of Crossplane's gets no HTTP/2", async () => {
  let sessions = 0;
  const server = createSecureServer({ cert: sameSubject.certPem, key: sameSubject.keyPem });
  server.on("session", (session) => session.once("remoteSettings", () => (sessions += 1)));
  await assert.rejects(
    probe(server, as(fromCrossplane, crossplane)),
    /: its certificate is not signed by certs\/ca\.crt \(self-signed certificate, or signed by an authority that is not trusted\): use/,
  );
  assert.equal(sessions, 0);
});

test("sockets with a path work, with and without TLS", async () => {
  using folder = tempFolder();
  for (const [server, identity] of [
    [createServer(), undefined],
    [serving(own), as(own)],
  ] as const) {
    const path = join(folder.path, "socket");
    server.listen(path);
    await once(server, "listening");
    await probeAt(parseTarget(`unix:${path}`), identity);
    server.close();
  }
});

const refusedCertificate =
  "it rejected the client certificate: certs/tls.crt must be valid and signed by the authority the function trusts";
const notGrpc = "it accepts connections but does not speak gRPC: check the port";
const cases: Record<string, { readonly server: () => Server; readonly as?: TlsIdentity; readonly says: string }> = {
  PlaintextToTls: {
    server: () => serving(own),
    says: "it closed the plaintext connection: if the function serves TLS, use --tls-certs-dir DIR instead of --insecure",
  },
  TlsToPlaintext: {
    server: () => createServer(),
    as: as(own),
    says: "it does not speak TLS: if the function serves plaintext, use --insecure instead of --tls-certs-dir",
  },
  OurCertificateIsForeign: { server: () => serving(own), as: as(foreign), says: refusedCertificate },
  OurCertificateHasExpired: { server: () => serving(own), as: as(expired), says: refusedCertificate },
  TheirCertificateIsForeign: {
    server: () => serving(own),
    as: as(own, stranger),
    says: "its certificate is not signed by certs/ca.crt (self-signed certificate in certificate chain): use the authority that signed it",
  },
  TheirCertificateHasExpired: {
    server: () => serving(expired),
    as: as(own),
    says: "its certificate has expired or is not valid yet (certificate has expired): renew the function's tls.crt",
  },
  TheirCertificateIsForAnotherHost: {
    server: () => serving(elsewhere),
    as: as(own),
    says: "its certificate is not valid for this host (Hostname/IP does not match certificate's altnames: Host: localhost. is not in the cert's altnames: DNS:elsewhere): call it by a name in the certificate",
  },
  AWebServer: { server: () => createHttpServer(), says: notGrpc },
};
for (const [name, { server, as: identity, says }] of Object.entries(cases)) {
  test(`what is wrong with a target: ${name}`, async () => {
    await assert.rejects(probe(server(), identity), (error: Error) => {
      assert.equal(error.message.replace(/localhost:\d+/, "TARGET"), `cannot call TARGET: ${says}`);
      return error.name === "UserError";
    });
  });
}

test("what is wrong with a target: Silence", async () => {
  const silence = createTcpServer(() => {});
  await assert.rejects(probe(silence, undefined, { timeoutMs: 100 }), new RegExp(`: ${notGrpc}$`));
});

test("an address is checked against the certificate too", async () => {
  await assert.rejects(
    probe(serving(own), as(own), { host: "127.0.0.1" }),
    /its certificate is not valid for this host/,
  );
});

test("a port without a listener", async () => {
  const server = createTcpServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, "close");
  await assert.rejects(probeAt(parseTarget(`localhost:${port}`)), {
    message: `cannot call localhost:${port}: connection refused: check the port, or start the function with "purlin function run"`,
  });
  await assert.rejects(probeAt(parseTarget("no-such-host.invalid:9443")), {
    message: 'cannot call no-such-host.invalid:9443: host "no-such-host.invalid" not found: check the name',
  });
});

test("the user may stop waiting", async () => {
  const stop = new AbortController();
  const target = parseTarget("localhost:1");
  stop.abort(new Error("stopped"));
  await assert.rejects(probeTarget(target, { tls: undefined, timeoutMs: 60_000, signal: stop.signal }), /stopped/);
});

const targets: Record<string, { readonly text: string; readonly target?: Partial<Target> }> = {
  HostAndPort: {
    text: "localhost:9443",
    target: { kind: "tcp", host: "localhost", port: 9443, text: "localhost:9443" },
  },
  PortOnly: { text: ":9443", target: { kind: "tcp", host: "localhost", port: 9443 } },
  Dns: { text: "dns:///fn.ns:9443", target: { kind: "tcp", host: "fn.ns", text: "fn.ns:9443" } },
  IPv6: { text: "[::1]:9443", target: { kind: "tcp", host: "::1", text: "[::1]:9443" } },
  Socket: { text: "unix:/a/b", target: { kind: "unix", path: "/a/b" } },
  NoPort: { text: "localhost" },
  PortZero: { text: "localhost:0" },
  LargePort: { text: "localhost:65536" },
  Url: { text: "https://localhost:9443" },
  Nothing: { text: "" },
  EmptySocket: { text: "unix:" },
};
for (const [name, { text, target }] of Object.entries(targets)) {
  test(`targets: ${name}`, () => {
    if (target === undefined) {
      const message = `--target: expected host:port, such as localhost:9443, or unix:path, not "${text}"`;
      assert.throws(() => parseTarget(text), { message, exitCode: 2 });
    } else assert.partialDeepStrictEqual(parseTarget(text), target);
  });
}
