// SPDX-License-Identifier: Apache-2.0
// Callers whose certificates Crossplane issued: authority and leaf have one subject, and OpenSSL calls the leaf self-signed.
import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import { type TestContext, test } from "node:test";
import { connect, type TLSSocket } from "node:tls";
import type { KeyPair } from "@purlin/certificates";
import { createCrossplaneAuthority, issueAsCrossplane } from "@purlin/certificates/testing";
import {
  clientCertificate,
  newAuthority,
  serverCertificate,
  temporaryDirectory,
  writeCertificates,
} from "../../test/raw-client.ts";
import { type LogFields, nopLogger } from "../logging/new-logger.ts";
import { type RunningFunction, start } from "./start.ts";

const dayMs = 86_400_000;
const crossplane = createCrossplaneAuthority();
const sameSubject = createCrossplaneAuthority();
const caller = issueAsCrossplane(crossplane, { dnsNames: ["crossplane.crossplane-system"], usages: ["client"] });
const versions = ["TLSv1.2", "TLSv1.3"] as const;

interface Serving {
  readonly running: RunningFunction;
  readonly directory: string;
  /** The codes of the certificates that were refused. */
  readonly refused: unknown[];
  /** Resolves when the certificates were replaced. */
  readonly replaced: Promise<void>;
}

async function serve(t: TestContext, authority = crossplane, server = serverOf(authority)): Promise<Serving> {
  const directory = await temporaryDirectory(t);
  await writeCertificates(directory, authority, server);
  const refused: unknown[] = [];
  const { promise: replaced, resolve } = Promise.withResolvers<void>();
  const info = (message: string, fields: LogFields = {}): void => {
    if (message === "client certificate rejected") refused.push(fields["code"]);
    if (message === "using new certificates") resolve();
  };
  const options = { address: "localhost:0", tlsCertsDir: directory, metricsAddress: "", log: { ...nopLogger, info } };
  const running = await start((req, ctx) => ctx.to(req), options);
  t.after(() => running.stop(0));
  return { running, directory, refused, replaced };
}

function serverOf(authority: KeyPair): KeyPair {
  return issueAsCrossplane(authority, { dnsNames: ["fn.ns", "localhost"], usages: ["server"] });
}

interface Connection {
  /** The first bytes after the handshake; none when the server hung up. */
  readonly answer: Buffer;
  readonly session: Buffer | undefined;
  readonly resumed: boolean;
}

interface ConnectionOptions {
  readonly certificate?: KeyPair | undefined;
  readonly maxVersion?: (typeof versions)[number];
  readonly session?: Buffer | undefined;
}

/** Speaks first, as HTTP/2 demands, and waits for the answer or the end. The server's certificate is not in question. */
async function open({ port }: RunningFunction, options: ConnectionOptions): Promise<Connection> {
  const { certificate, maxVersion = "TLSv1.3", session } = options;
  const socket: TLSSocket = connect({
    port,
    host: "localhost",
    rejectUnauthorized: false,
    maxVersion,
    ALPNProtocols: ["h2"],
    ...(certificate && { cert: certificate.certPem, key: certificate.keyPem }),
    ...(session && { session }),
  });
  let ticket: Buffer | undefined;
  let answer: Buffer = Buffer.alloc(0);
  let resumed = false;
  const { promise: ended, resolve: end } = Promise.withResolvers<void>();
  socket.on("session", (offered) => {
    ticket = offered;
  });
  socket.on("secureConnect", () => {
    resumed = socket.isSessionReused();
  });
  socket.once("data", (chunk: Buffer) => {
    answer = chunk;
    socket.destroy();
  });
  socket.on("error", () => {}).once("close", () => end());
  socket.write("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0");
  await ended;
  return { answer, session: ticket, resumed };
}

/** The type of the first frame of HTTP/2. */
const settings = 4;

for (const maxVersion of versions) {
  test(`a caller with a certificate of Crossplane is served, and its session resumed: ${maxVersion}`, async (t) => {
    const { running } = await serve(t);
    const first = await open(running, { certificate: caller, maxVersion });
    assert.equal(first.answer[3], settings);
    const second = await open(running, { certificate: caller, maxVersion, session: first.session });
    assert.deepEqual([second.answer[3], second.resumed], [settings, true]);
  });
}

const kinds = {
  "of Crossplane": {
    authorities: [crossplane, sameSubject],
    server: serverOf,
    client: (authority: KeyPair) => issueAsCrossplane(authority, { usages: ["client"] }),
  },
  "of ours": { authorities: [newAuthority(), newAuthority()], server: serverCertificate, client: clientCertificate },
} as const;

for (const [kind, { authorities, server, client }] of Object.entries(kinds)) {
  for (const maxVersion of versions) {
    test(`a session does not outlive an authority ${kind} that the caller was trusted for: ${maxVersion}`, async (t) => {
      const [before, after] = authorities;
      const { running, directory, replaced, refused } = await serve(t, before, server(before));
      const certificate = client(before);
      const { answer, session } = await open(running, { certificate, maxVersion });
      assert.equal(answer[3], settings);
      assert.ok(session !== undefined);
      await writeCertificates(directory, after, server(after));
      await replaced;
      const later = await open(running, { certificate, maxVersion, session });
      assert.equal(later.answer.length, 0);
      assert.equal(refused.length, 1);
      assert.equal((await open(running, { certificate: client(after), maxVersion })).answer[3], settings);
    });
  }
}

const strangers: Readonly<Record<string, { readonly certificate?: KeyPair; readonly code: string }>> = {
  "without a certificate": { code: "NO_CERTIFICATE" },
  "with a certificate of another authority with the same subject": {
    certificate: issueAsCrossplane(sameSubject, { usages: ["client"] }),
    code: "DEPTH_ZERO_SELF_SIGNED_CERT",
  },
  "with an expired certificate": {
    certificate: issueAsCrossplane(crossplane, {
      usages: ["client"],
      notBefore: new Date(Date.now() - 2 * dayMs),
      notAfter: new Date(Date.now() - dayMs),
    }),
    code: "CERT_HAS_EXPIRED",
  },
  "with a server's certificate": { certificate: serverOf(crossplane), code: "INVALID_PURPOSE" },
};

for (const [name, { certificate, code }] of Object.entries(strangers)) {
  for (const maxVersion of versions) {
    test(`a caller ${name} gets no byte of HTTP/2, also with the session of its first attempt: ${maxVersion}`, async (t) => {
      const { running, refused } = await serve(t);
      const first = await open(running, { certificate, maxVersion });
      const second = await open(running, { certificate, maxVersion, session: first.session });
      assert.deepEqual([first.answer.length, second.answer.length], [0, 0]);
      assert.deepEqual(refused, [code, code]);
    });
  }
}
