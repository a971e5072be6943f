// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { after, test } from "node:test";
import * as tls from "node:tls";
import {
  type CrossplaneLeafOptions,
  createCrossplaneAuthority,
  issueAsCrossplane,
} from "../../test/crossplane-certificates.ts";
import { createAuthority, issueCertificate } from "../certificate.ts";
import type { KeyPair } from "../issuer.ts";
import {
  createTlsIdentity,
  dialTls,
  type PeerCertificateError,
  parseCertificates,
  type TlsIdentity,
  verifyPeer,
} from "./verified-connection.ts";

const dayMs = 86_400_000;
const ago = (days: number): Date => new Date(Date.now() - days * dayMs);

const authority = createCrossplaneAuthority();
const sameSubject = createCrossplaneAuthority();
const notAuthority = createCrossplaneAuthority({ ca: false });
const maySignNothing = createCrossplaneAuthority({ maySign: false });
const expiredAuthority = createCrossplaneAuthority({ notBefore: ago(20), notAfter: ago(10) });
const ordinary = createAuthority({ commonName: "ordinary" });
const otherSubject = createAuthority({ commonName: "other subject", algorithm: "rsa-2048" });

/** A peer: the authority it is signed by, what the other end trusts, and the code of the error. */
interface Peer {
  readonly signer?: KeyPair;
  readonly trusted?: string;
  readonly leaf?: Partial<CrossplaneLeafOptions>;
  readonly refusedWith?: string;
}

const peers: Readonly<Record<string, Peer>> = {
  "a leaf as Crossplane makes it is accepted": {},
  "a leaf of Crossplane is accepted wherever its authority is in the bundle": {
    trusted: `# ours\n${ordinary.certPem}\n# foreign\n${sameSubject.certPem}# Crossplane's\n${authority.certPem}`,
  },
  "a leaf that is good for both ends is accepted": { leaf: { usages: ["server", "client"] } },
  "a leaf of another authority with the same subject is refused": {
    signer: sameSubject,
    refusedWith: "DEPTH_ZERO_SELF_SIGNED_CERT",
  },
  "a leaf of Crossplane is refused where another authority is trusted": {
    trusted: ordinary.certPem,
    refusedWith: "DEPTH_ZERO_SELF_SIGNED_CERT",
  },
  "a leaf that has expired is refused": {
    leaf: { notBefore: ago(2), notAfter: ago(1) },
    refusedWith: "CERT_HAS_EXPIRED",
  },
  "a leaf that is not valid yet is refused": { leaf: { notBefore: ago(-1) }, refusedWith: "CERT_NOT_YET_VALID" },
  "a leaf without extended key usage is refused": { leaf: { usages: [] }, refusedWith: "INVALID_PURPOSE" },
  "a leaf whose issuer says that it is not an authority is refused": {
    signer: notAuthority,
    trusted: notAuthority.certPem,
    refusedWith: "DEPTH_ZERO_SELF_SIGNED_CERT",
  },
  "a leaf whose issuer may not sign certificates is refused": {
    signer: maySignNothing,
    trusted: maySignNothing.certPem,
    refusedWith: "DEPTH_ZERO_SELF_SIGNED_CERT",
  },
  "a leaf that names another issuer than the authority whose key signed it is refused": {
    signer: otherSubject,
    trusted: otherSubject.certPem,
    refusedWith: "DEPTH_ZERO_SELF_SIGNED_CERT",
  },
  "a leaf whose authority has expired is refused": {
    signer: expiredAuthority,
    trusted: expiredAuthority.certPem,
    refusedWith: "CERT_HAS_EXPIRED",
  },
};

const versions = ["TLSv1.2", "TLSv1.3"] as const;
const opposite = { server: "client", client: "server" } as const;

for (const [name, { signer = authority, trusted = authority.certPem, leaf, refusedWith }] of Object.entries(peers)) {
  for (const usage of ["server", "client"] as const) {
    const certificate = issueAsCrossplane(signer, { dnsNames: ["localhost"], usages: [usage], ...leaf });
    for (const version of versions) {
      test(`${name}: ${usage}, ${version}`, async () => {
        const verify = usage === "server" ? verifiedServer : verifiedClient;
        assert.equal((await verify(certificate, trusted, { version }))?.code, refusedWith);
      });
    }
  }
}

for (const usage of ["server", "client"] as const) {
  test(`a ${usage} with a certificate for the other end is refused`, async () => {
    const certificate = issueAsCrossplane(authority, { dnsNames: ["localhost"], usages: [opposite[usage]] });
    const verify = usage === "server" ? verifiedServer : verifiedClient;
    assert.equal((await verify(certificate, authority.certPem))?.code, "INVALID_PURPOSE");
  });

  test(`a ${usage} with an ordinary certificate is accepted, and refused where its authority is not trusted`, async () => {
    const certificate = issueCertificate(ordinary, { commonName: "a", dnsNames: ["localhost"], usages: [usage] });
    const verify = usage === "server" ? verifiedServer : verifiedClient;
    assert.equal(await verify(certificate, ordinary.certPem), undefined);
    const { code } = (await verify(certificate, authority.certPem)) ?? {};
    assert.match(code ?? "", /^UNABLE_TO_VERIFY_LEAF_SIGNATURE$|^SELF_SIGNED_CERT_IN_CHAIN$/);
  });
}

const names: Readonly<Record<string, { readonly serverName: string; readonly refused: boolean }>> = {
  "its name": { serverName: "fn.ns", refused: false },
  "its address": { serverName: "127.0.0.1", refused: false },
  "another name": { serverName: "other.ns", refused: true },
  "another address": { serverName: "127.0.0.2", refused: true },
};

for (const [name, { serverName, refused }] of Object.entries(names)) {
  test(`a server of Crossplane that is called by ${name} is ${refused ? "refused" : "accepted"}`, async () => {
    const options = { dnsNames: ["fn.ns"], ipAddresses: ["127.0.0.1"], usages: ["server"] } as const;
    const error = await verifiedServer(issueAsCrossplane(authority, options), authority.certPem, { serverName });
    assert.equal(error?.code, refused ? "ERR_TLS_CERT_ALTNAME_INVALID" : undefined);
  });
}

for (const [commonName, refusedWith] of [
  ["fn-abc", undefined],
  ["fn-def", "ERR_TLS_CERT_COMMON_NAME_INVALID"],
  ["fn-ab", "ERR_TLS_CERT_COMMON_NAME_INVALID"],
  ["", "ERR_TLS_CERT_COMMON_NAME_INVALID"],
] as const) {
  test(`a server whose certificate is for "fn-abc" is ${refusedWith ? "refused" : "accepted"} as "${commonName}"`, async () => {
    const certificate = issueCertificate(ordinary, {
      commonName: "fn-abc",
      dnsNames: ["localhost"],
      usages: ["server"],
    });
    assert.equal((await verifiedServer(certificate, ordinary.certPem, { commonName }))?.code, refusedWith);
  });
}

for (const version of versions) {
  test(`a client without a certificate is refused, also when it resumes its session: ${version}`, async () => {
    const verdicts: (string | undefined)[] = [];
    const server = await serve((error) => verdicts.push(error?.code), authority.certPem);
    const session = await sessionOf(server, version);
    await sessionOf(server, version, session);
    assert.deepEqual(verdicts, ["NO_CERTIFICATE", "NO_CERTIFICATE"]);
  });

  test(`a client that was refused is refused again when it resumes its session: ${version}`, async () => {
    const verdicts: (string | undefined)[] = [];
    const server = await serve((error) => verdicts.push(error?.code), authority.certPem);
    const foreign = issueAsCrossplane(sameSubject, { usages: ["client"] });
    const session = await sessionOf(server, version, undefined, foreign);
    await sessionOf(server, version, session, foreign);
    assert.deepEqual(verdicts, ["DEPTH_ZERO_SELF_SIGNED_CERT", "DEPTH_ZERO_SELF_SIGNED_CERT"]);
  });
}

test("nothing is sent to a server that is refused", async () => {
  const foreign = issueAsCrossplane(sameSubject, { dnsNames: ["localhost"], usages: ["server"] });
  let received = 0;
  const server = tls.createServer({ cert: foreign.certPem, key: foreign.keyPem, ALPNProtocols: ["h2"] }, (socket) => {
    socket
      .on("error", () => {})
      .on("data", (chunk) => {
        received += chunk.length;
      });
  });
  const port = await listen(server);
  const { socket, verified } = dialTls({ identity: us(), serverName: "localhost", to: { host: "localhost", port } });
  try {
    await assert.rejects(verified, { name: "PeerCertificateError", code: "DEPTH_ZERO_SELF_SIGNED_CERT" });
    assert.ok(socket.destroyed);
  } finally {
    socket.destroy();
  }
  await new Promise<void>((resolve) => server.close(() => resolve()));
  assert.equal(received, 0);
});

test("a bundle without a certificate, or with one that is malformed, is refused", () => {
  for (const pem of [
    "",
    "hello",
    `${authority.certPem}-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n`,
  ]) {
    assert.throws(() => parseCertificates(pem));
  }
  assert.equal(parseCertificates(Buffer.from(authority.certPem + ordinary.certPem)).length, 2);
});

interface Variation {
  readonly version?: (typeof versions)[number];
  readonly serverName?: string;
  readonly commonName?: string;
}

const client = issueAsCrossplane(authority, { usages: ["client"] });
const us = (trusted = authority.certPem): TlsIdentity =>
  createTlsIdentity({ ca: trusted, cert: client.certPem, key: client.keyPem });

/** What a client says about a server with this certificate. */
async function verifiedServer(
  certificate: KeyPair,
  trusted: string,
  { version = "TLSv1.3", serverName = "localhost", commonName }: Variation = {},
): Promise<PeerCertificateError | undefined> {
  const options = { cert: certificate.certPem, key: certificate.keyPem, maxVersion: version, ALPNProtocols: ["h2"] };
  const port = await listen(tls.createServer(options, (socket) => socket.on("error", () => {})));
  const { socket, verified } = dialTls({
    identity: us(trusted),
    serverName,
    commonName,
    to: { host: "localhost", port },
  });
  try {
    await verified;
    assert.equal(socket.getProtocol(), version);
    return undefined;
  } catch (error) {
    return error as PeerCertificateError;
  } finally {
    socket.destroy();
  }
}

/** What a server says about a client with this certificate. */
async function verifiedClient(
  certificate: KeyPair,
  trusted: string,
  { version = "TLSv1.3" }: Variation = {},
): Promise<PeerCertificateError | undefined> {
  const { promise, resolve } = Promise.withResolvers<PeerCertificateError | undefined>();
  const port = await serve(resolve, trusted);
  const verdict = await Promise.all([promise, sessionOf(port, version, undefined, certificate)]);
  return verdict[0];
}

const host = issueCertificate(ordinary, { commonName: "host", dnsNames: ["localhost"], usages: ["server"] });

async function serve(report: (error: PeerCertificateError | undefined) => void, ca: string): Promise<number> {
  const identity = { ca, cert: host.certPem, key: host.keyPem, requestCert: true, rejectUnauthorized: false };
  const authorities = parseCertificates(ca);
  const server = tls.createServer(identity, (socket) => {
    report(verifyPeer(socket, { usage: "client", authorities }));
    // The client has its session ticket by then.
    socket.on("error", () => {}).end("bye");
  });
  return listen(server);
}

/** Connects, and returns the session that the server offers, once the connection is over. */
async function sessionOf(
  port: number,
  maxVersion: (typeof versions)[number],
  session?: Buffer,
  certificate?: KeyPair,
): Promise<Buffer | undefined> {
  const socket = tls.connect({
    port,
    host: "localhost",
    ca: ordinary.certPem,
    maxVersion,
    ...(session && { session }),
    ...(certificate && { cert: certificate.certPem, key: certificate.keyPem }),
  });
  let offered: Buffer | undefined;
  socket.on("session", (ticket) => {
    offered = ticket;
  });
  socket.once("secureConnect", () => assert.equal(socket.isSessionReused(), session !== undefined));
  socket.resume();
  await once(socket, "close");
  return offered;
}

const servers: tls.Server[] = [];
after(() => {
  for (const server of servers) server.close();
});

async function listen(server: tls.Server): Promise<number> {
  servers.push(server);
  server.on("tlsClientError", () => {});
  server.listen(0, "localhost");
  await once(server, "listening");
  return (server.address() as AddressInfo).port;
}
