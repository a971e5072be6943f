// SPDX-License-Identifier: Apache-2.0

import assert from "node:assert/strict";
import { once } from "node:events";
import { rmSync, writeFileSync } from "node:fs";
import { type AddressInfo, createServer } from "node:net";
import { join } from "node:path";
import { test } from "node:test";
import { createServer as createTlsServer } from "node:tls";
import { silentLog } from "@purlin/base";
import { manualClock } from "@purlin/base/testing";
import { issueCertificate } from "@purlin/certificates";
import {
  authority,
  serveFunction,
  serverCredentials,
  temporaryDirectory,
  writeClientFiles,
} from "../../test/function-server.ts";
import {
  assertNothingLeft,
  call,
  dial,
  gate,
  patience,
  rejectsSoon,
  request,
  resources,
  targetAt,
} from "../../test/runs.ts";
import { tlsFromDirectory } from "./channel-credentials.ts";
import type { NameResolver } from "./channel-resolver.ts";
import { createDiallingRunner } from "./dialling-runner.ts";

const loopback: NameResolver = { resolve: async () => ["127.0.0.1"] };

const reachable: Readonly<Record<string, { reason: string; names: object; host: string }>> = {
  Service: { reason: "the host part of the target is the name", names: { dnsNames: ["fn.ns"] }, host: "fn.ns" },
  Address: { reason: "an address is verified as an address", names: { ipAddresses: ["127.0.0.1"] }, host: "127.0.0.1" },
};

for (const [name, { reason, names, host }] of Object.entries(reachable)) {
  test(`mutual TLS ${name}: ${reason}`, async (t) => {
    const ca = authority();
    const directory = temporaryDirectory(t);
    writeClientFiles(directory, ca);
    await using fn = await serveFunction({ credentials: serverCredentials(ca, names) });
    const runner = dial(t, { security: tlsFromDirectory(directory), names: loopback });
    await runner.run(targetAt(`${host}:${fn.port}`), request(), call());
    assert.equal(fn.calls.length, 1);
  });
}

const unreachable: Readonly<Record<string, { reason: string; names: object; host: string; want: RegExp }>> = {
  OtherName: {
    reason: "C64: a certificate for another host is refused",
    names: { dnsNames: ["other.ns"] },
    host: "fn.ns",
    want: /before its deadline: TLS handshake failed: Hostname\/IP does not match certificate's altnames: Host: fn\.ns\. is not in the cert's altnames: DNS:other\.ns$/,
  },
  OtherAddress: {
    reason: "C64: a name does not stand for an address",
    names: { dnsNames: ["127.0.0.1", "fn.ns"] },
    host: "127.0.0.1",
    want: /TLS handshake failed: Hostname\/IP does not match certificate's altnames: IP: 127\.0\.0\.1 is not in the cert's list: $/,
  },
};

for (const [name, { reason, names, host, want }] of Object.entries(unreachable)) {
  test(`mutual TLS ${name}: ${reason}, and nothing is sent in plaintext`, async (t) => {
    const before = resources();
    const ca = authority();
    const directory = temporaryDirectory(t);
    writeClientFiles(directory, ca);
    await using fn = await serveFunction({ credentials: serverCredentials(ca, names) });
    const runner = createDiallingRunner({ security: tlsFromDirectory(directory), names: loopback });
    await rejectsSoon((call) => runner.run(targetAt(`${host}:${fn.port}`), request(), call), {
      status: "DeadlineExceeded",
      message: want,
    });
    assert.equal(fn.calls.length, 0);
    await assertNothingLeft(before, runner, fn);
  });
}

test("a function signed by another authority is refused", async (t) => {
  const directory = temporaryDirectory(t);
  writeClientFiles(directory, authority());
  await using fn = await serveFunction({ credentials: serverCredentials(authority(), { dnsNames: ["fn.ns"] }) });
  const runner = dial(t, { security: tlsFromDirectory(directory), names: loopback });
  await rejectsSoon((call) => runner.run(targetAt(`fn.ns:${fn.port}`), request(), call), {
    message: /before its deadline: TLS handshake failed: /,
  });
});

test("a function that does not accept our certificate is not called, and the error names the side that closed the connection", async (t) => {
  const ca = authority();
  const directory = temporaryDirectory(t);
  writeClientFiles(directory, ca, authority());
  await using fn = await serveFunction({ credentials: serverCredentials(ca, { dnsNames: ["fn.ns"] }) });
  const runner = dial(t, { security: tlsFromDirectory(directory), names: loopback });
  await rejectsSoon((call) => runner.run(targetAt(`fn.ns:${fn.port}`), request(), call), {
    message: /before its deadline: it closed the connection at once: does it accept the runner's certificate\?$/,
  });
  assert.equal(fn.calls.length, 0);
});

test("a function without TLS is not called by a runner that has it", async (t) => {
  const directory = temporaryDirectory(t);
  writeClientFiles(directory, authority());
  await using fn = await serveFunction();
  const runner = dial(t, { security: tlsFromDirectory(directory), names: loopback });
  await rejectsSoon((call) => runner.run(targetAt(`fn.ns:${fn.port}`), request(), call), {
    status: "DeadlineExceeded",
  });
  assert.equal(fn.calls.length, 0);
});

test("errors of OpenSSL keep their text, without memory addresses", async (t) => {
  const ca = authority();
  const directory = temporaryDirectory(t);
  writeClientFiles(directory, ca);
  const { certPem: cert, keyPem: key } = issueCertificate(ca, {
    commonName: "x",
    dnsNames: ["fn.ns"],
    usages: ["server"],
  });
  const server = createTlsServer({ cert, key, ALPNProtocols: ["http/1.1"] }).on("tlsClientError", () => {});
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  t.after(() => server.close());
  const { port } = server.address() as AddressInfo;
  const runner = dial(t, { security: tlsFromDirectory(directory), names: loopback });
  await rejectsSoon((call) => runner.run(targetAt(`fn.ns:${port}`), request(), call), {
    message: /before its deadline: TLS handshake failed: (?:ssl\/)?tlsv1 alert no application protocol$/i,
  });
});

test("a function that expects TLS does not get plaintext past it, and the error asks about it", async (t) => {
  await using fn = await serveFunction({ credentials: serverCredentials(authority(), { dnsNames: ["fn.ns"] }) });
  const dialler = dial(t);
  await rejectsSoon((call) => dialler.run(targetAt(fn.endpoint), request(), call), {
    message: /before its deadline: it closed the connection at once: does it expect TLS\?$/,
  });
  assert.equal(fn.calls.length, 0);
});

test("one target can be plaintext while the rest is not, and changing that makes a new connection", async (t) => {
  const directory = temporaryDirectory(t);
  writeClientFiles(directory, authority());
  await using fn = await serveFunction();
  const runner = dial(t, { security: tlsFromDirectory(directory), names: loopback });
  const target = targetAt(`fn.ns:${fn.port}`, { plaintext: true });
  await runner.run(target, request(), call());
  await rejectsSoon((call) => runner.run({ ...target, plaintext: false }, request(), call), {
    status: "DeadlineExceeded",
  });
  assert.equal(fn.calls.length, 1);
});

test("a function that restarts with a certificate of a new authority is reached once the runner's files are rotated", async (t) => {
  const before = resources();
  const [oldCa, newCa] = [authority(), authority()];
  const directory = temporaryDirectory(t);
  writeClientFiles(directory, oldCa);
  const names = { dnsNames: ["fn.ns"] };
  await using old = await serveFunction({ credentials: serverCredentials(oldCa, names) });
  const runner = createDiallingRunner({ security: tlsFromDirectory(directory), names: loopback });
  const target = targetAt(`fn.ns:${old.port}`);
  await runner.run(target, request(), call());

  await old.stop();
  await t.waitFor(() => assert.equal(runner.stats().openSockets, 0), { interval: 1, timeout: patience });
  await using restarted = await serveFunction({
    credentials: serverCredentials(newCa, names),
    listen: { host: "127.0.0.1", port: old.port },
  });
  // The runner's files lag behind: the call waits, and succeeds as soon as they are there.
  const waiting = runner.run(target, request(), call());
  await t.waitFor(() => assert.ok(restarted.accepted > 0), { interval: 1, timeout: patience });
  writeClientFiles(directory, newCa);
  await waiting;
  assert.equal(restarted.calls.length, 1);
  await assertNothingLeft(before, runner, old, restarted);
});

for (const secured of [true, false]) {
  test(`a peer that accepts connections and never responds does not keep the channel, TLS ${secured}`, async (t) => {
    const clock = manualClock(Date.UTC(2026, 0, 1));
    const [connected, closed] = [gate(), gate()];
    const silent = createServer((socket) => {
      connected.open();
      socket
        .on("error", () => {})
        .on("close", closed.open)
        .resume();
    }).listen(0, "127.0.0.1");
    await once(silent, "listening");
    t.after(() => silent.close());
    const { port } = silent.address() as AddressInfo;
    const directory = temporaryDirectory(t);
    writeClientFiles(directory, authority());
    const runner = dial(t, { security: secured ? tlsFromDirectory(directory) : "plaintext", clock });
    const controller = new AbortController();
    const run = runner.run(targetAt(`127.0.0.1:${port}`), request(), call({ signal: controller.signal }));
    await connected.opened;
    await t.waitFor(() => assert.equal(clock.waiting, 1), { interval: 1, timeout: patience });
    clock.advance(20_000);
    await closed.opened;
    controller.abort();
    await assert.rejects(run, { status: "Canceled" });
  });
}

const broken: Readonly<Record<string, { reason: string; spoil: (directory: string) => void; want: RegExp }>> = {
  Missing: {
    reason: "a missing file is named",
    spoil: (directory) => rmSync(join(directory, "tls.key")),
    want: /^cannot read TLS file ".*tls\.key": ENOENT.*\(expected ca\.crt, tls\.crt, tls\.key in PEM form in ".*"\)$/,
  },
  BadAuthority: {
    reason: "what is not a certificate is not trusted",
    spoil: (directory) => writeFileSync(join(directory, "ca.crt"), "hello"),
    want: /^TLS file ".*ca\.crt" is not a PEM certificate: /,
  },
  BadCertificate: {
    reason: "the client's own certificate is checked at start",
    spoil: (directory) => writeFileSync(join(directory, "tls.crt"), ""),
    want: /^TLS file ".*tls\.crt" is not a PEM certificate: /,
  },
  BadKey: {
    reason: "the client's key is checked at start",
    spoil: (directory) => writeFileSync(join(directory, "tls.key"), "-----BEGIN PRIVATE KEY-----\n"),
    want: /^TLS file ".*tls\.key" is not a PEM private key: /,
  },
  OtherKey: {
    reason: "key and certificate must belong together",
    spoil: (directory) => {
      const other = issueCertificate(authority(), { commonName: "other", usages: ["client"] });
      writeFileSync(join(directory, "tls.key"), other.keyPem);
    },
    want: /^TLS file ".*tls\.key" does not belong to tls\.crt: /,
  },
};

for (const [name, { reason, spoil, want }] of Object.entries(broken)) {
  test(`TLS directory ${name}: ${reason}`, (t) => {
    const directory = temporaryDirectory(t);
    writeClientFiles(directory, authority());
    spoil(directory);
    assert.throws(() => tlsFromDirectory(directory), { name: "RunnerError", code: "TLS", message: want });
  });

  test(`TLS directory ${name} while running: the last good files stay in use, and the log says why`, (t) => {
    const directory = temporaryDirectory(t);
    writeClientFiles(directory, authority());
    const logged: unknown[] = [];
    const source = tlsFromDirectory(directory, {
      ...silentLog,
      info: (_message, fields) => logged.push(fields?.["error"]),
    });
    const good = source.current();
    spoil(directory);
    assert.equal(source.current(), good);
    assert.match(String(logged[0]), want);
    writeClientFiles(directory, authority());
    assert.notEqual(source.current(), good);
  });
}

test("files that have not changed are not read again", (t) => {
  const directory = temporaryDirectory(t);
  writeClientFiles(directory, authority());
  const source = tlsFromDirectory(directory);
  assert.equal(source.current(), source.current());
});
