// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import { once } from "node:events";
import { rename, symlink, writeFile } from "node:fs/promises";
import { connect } from "node:net";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { type TLSSocket, connect as tlsConnect } from "node:tls";
import { status } from "@grpc/grpc-js";
import type { KeyPair } from "@purlin/certificates";
import { runFunctionPaths } from "@purlin/function-protocol";
import {
  clientCertificate,
  hasCode,
  newAuthority,
  RawClient,
  serverCertificate,
  temporaryDirectory,
  writeCertificates,
} from "../../test/raw-client.ts";
import { isFunctionError } from "../errors/function-error.ts";
import { type LogFields, type Logger, nopLogger } from "../logging/new-logger.ts";
import { type RunningFunction, start } from "./start.ts";

const authority = newAuthority();
const client = clientCertificate(authority);

async function serveTls(t: TestContext, directory: string, log: Logger = nopLogger): Promise<RunningFunction> {
  const options = { address: "localhost:0", tlsCertsDir: directory, metricsAddress: "", log };
  const running = await start((req, ctx) => ctx.to(req), options);
  t.after(() => running.stop(0));
  return running;
}

async function newDirectory(t: TestContext, server: KeyPair = serverCertificate(authority)): Promise<string> {
  const directory = await temporaryDirectory(t);
  await writeCertificates(directory, authority, server);
  return directory;
}

const call = (raw: RawClient): Promise<Buffer> => raw.call(runFunctionPaths.v1, Buffer.alloc(0));
const target = ({ port }: RunningFunction): string => `localhost:${port}`;

test("a caller with a certificate of the authority is served", async (t) => {
  const running = await serveTls(t, await newDirectory(t));
  await call(new RawClient(t, target(running), { authority, certificate: client }));
});

test("a caller without a certificate, or with one of another authority, is refused", async (t) => {
  const running = await serveTls(t, await newDirectory(t));
  const stranger = newAuthority("stranger");
  const strangers: Record<string, KeyPair | undefined> = {
    none: undefined,
    foreign: clientCertificate(stranger),
    "a server's": serverCertificate(authority),
  };
  for (const [name, certificate] of Object.entries(strangers)) {
    const raw = new RawClient(t, target(running), { authority, certificate });
    await assert.rejects(call(raw), hasCode(status.UNAVAILABLE), name);
  }
  await assert.rejects(call(new RawClient(t, target(running))), hasCode(status.UNAVAILABLE), "plaintext");
  await call(new RawClient(t, target(running), { authority, certificate: client }));
});

test("TLS below 1.2 is refused", async (t) => {
  const running = await serveTls(t, await newDirectory(t));
  const socket = tlsConnect({
    port: running.port,
    host: "localhost",
    ca: authority.certPem,
    cert: client.certPem,
    key: client.keyPem,
    minVersion: "TLSv1",
    maxVersion: "TLSv1.1",
    ciphers: "DEFAULT@SECLEVEL=0",
  });
  const [error] = (await once(socket, "error")) as [Error];
  assert.match(error.message, /version|protocol|alert/i);
});

test("a peer without TLS, or one that disconnects during the handshake, does no harm", async (t) => {
  const running = await serveTls(t, await newDirectory(t));
  for (const bytes of ["GET / HTTP/1.1\r\n\r\n", "\x16\x03\x01"]) {
    const socket = connect(running.port, "localhost");
    socket.on("error", () => {});
    await once(socket, "connect");
    socket.write(bytes);
    socket.resetAndDestroy();
    await once(socket, "close");
  }
  await call(new RawClient(t, target(running), { authority, certificate: client }));
});

const broken: Record<string, { change: (directory: string) => Promise<void>; names: RegExp }> = {
  MissingFile: {
    change: (directory) => rename(join(directory, "tls.key"), join(directory, "gone")),
    names: /tls\.key/,
  },
  OtherKey: {
    change: (directory) => writeFile(join(directory, "tls.key"), serverCertificate(authority).keyPem),
    names: /tls\.crt and tls\.key in .* do not match/,
  },
  GarbageCertificate: { change: (directory) => writeFile(join(directory, "tls.crt"), "garbage"), names: /tls\.crt/ },
  GarbageAuthority: {
    change: (directory) => writeFile(join(directory, "ca.crt"), "garbage"),
    names: /ca\.crt contains no PEM certificate/,
  },
  EmptyAuthority: { change: (directory) => writeFile(join(directory, "ca.crt"), ""), names: /ca\.crt/ },
};

for (const [name, { change, names }] of Object.entries(broken)) {
  test(`certificates that do not work stop the start: ${name}`, async (t) => {
    const directory = await newDirectory(t);
    await change(directory);
    await assert.rejects(
      serveTls(t, directory),
      (error: unknown) => isFunctionError(error, "INVALID_CERTIFICATES") && names.test(error.message),
    );
  });
}

/** A logger that resolves a promise when a message appears. */
function listening(message: string): { log: Logger; logged: () => Promise<LogFields> } {
  let { promise, resolve } = Promise.withResolvers<LogFields>();
  const write = (said: string, fields: LogFields = {}): void => {
    if (said === message) resolve(fields);
  };
  const logged = async (): Promise<LogFields> => {
    const fields = await promise;
    ({ promise, resolve } = Promise.withResolvers<LogFields>());
    return fields;
  };
  return { log: { ...nopLogger, info: write, error: write }, logged };
}

async function serverName(
  running: RunningFunction,
  identity: { authority: KeyPair; certificate: KeyPair },
): Promise<string> {
  const socket: TLSSocket = tlsConnect({
    port: running.port,
    host: "localhost",
    ca: identity.authority.certPem,
    cert: identity.certificate.certPem,
    key: identity.certificate.keyPem,
    ALPNProtocols: ["h2"],
  });
  await once(socket, "secureConnect");
  const name = String(socket.getPeerCertificate().subject.CN);
  socket.destroy();
  return name;
}

test("rotated certificates are used for new connections; old connections continue", async (t) => {
  const directory = await newDirectory(t, serverCertificate(authority, "before"));
  const { log, logged } = listening("using new certificates");
  const running = await serveTls(t, directory, log);
  const old = new RawClient(t, target(running), { authority, certificate: client });
  await call(old);
  assert.equal(await serverName(running, { authority, certificate: client }), "before");

  const renewed = newAuthority("renewed");
  await writeCertificates(directory, renewed, serverCertificate(renewed, "after"));
  await logged();
  const certificate = clientCertificate(renewed);
  assert.equal(await serverName(running, { authority: renewed, certificate }), "after");
  await call(new RawClient(t, target(running), { authority: renewed, certificate }));
  await assert.rejects(
    call(new RawClient(t, target(running), { authority: renewed, certificate: client })),
    hasCode(status.UNAVAILABLE),
    "C38 a certificate of the old authority no longer opens a connection",
  );
  await call(old);
});

test("a mounted Secret, which changes by moving a link, is noticed", async (t) => {
  const mount = await temporaryDirectory(t);
  const versions = [
    await newDirectory(t, serverCertificate(authority, "v1")),
    await newDirectory(t, serverCertificate(authority, "v2")),
  ];
  await symlink(versions[0] ?? "", join(mount, "..data"));
  for (const name of ["tls.crt", "tls.key", "ca.crt"]) await symlink(`..data/${name}`, join(mount, name));
  const { log, logged } = listening("using new certificates");
  const running = await serveTls(t, mount, log);
  await symlink(versions[1] ?? "", join(mount, "..data_tmp"));
  await rename(join(mount, "..data_tmp"), join(mount, "..data"));
  await logged();
  assert.equal(await serverName(running, { authority, certificate: client }), "v2");
});

test("new certificates that do not work are reported and the old ones kept", async (t) => {
  const directory = await newDirectory(t, serverCertificate(authority, "good"));
  const { log, logged } = listening("cannot load the new certificates, keeping the old ones");
  const running = await serveTls(t, directory, log);
  await writeFile(join(directory, "tls.crt"), "garbage");
  assert.match(String((await logged())["error"]), /tls\.crt/);
  assert.equal(await serverName(running, { authority, certificate: client }), "good");
});

test("without reloading, certificates stay what they were at the start", async (t) => {
  const directory = await newDirectory(t, serverCertificate(authority, "first"));
  const options = { address: "localhost:0", tlsCertsDir: directory, metricsAddress: "", log: nopLogger };
  const running = await start((req, ctx) => ctx.to(req), { ...options, reloadCerts: false });
  t.after(() => running.stop(0));
  await writeCertificates(directory, authority, serverCertificate(authority, "second"));
  assert.equal(await serverName(running, { authority, certificate: client }), "first");
});
