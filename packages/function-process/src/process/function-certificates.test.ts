// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { createPrivateKey, X509Certificate } from "node:crypto";
import { readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { tempFolder } from "@purlin/base/testing/temp-folder";
import { createFunctionCertificates } from "./function-certificates.ts";

const year = { now: Date.now, days: 365 };
const dayMs = 86_400_000;

test("a function gets a certificate for serving on this machine, and no key of the authority", async () => {
  using folder = tempFolder();
  const certificates = createFunctionCertificates(folder.path, year);
  const path = await certificates.serverFolder("fn");
  assert.equal(path, join(folder.path, "fn"));
  assert.deepEqual(readdirSync(path).sort(), ["ca.crt", "tls.crt", "tls.key"]);
  assert.equal(statSync(join(path, "tls.key")).mode & 0o777, 0o600);
  const certificate = new X509Certificate(readFileSync(join(path, "tls.crt")));
  assert.equal(certificate.subjectAltName, "DNS:localhost, IP Address:127.0.0.1");
  assert.deepEqual(certificate.keyUsage, ["1.3.6.1.5.5.7.3.1"], "serverAuth alone");
  assert.ok(certificate.verify(new X509Certificate(readFileSync(join(path, "ca.crt"))).publicKey));
});

test("each control plane has an authority of its own", async () => {
  using folder = tempFolder();
  const authorities = [];
  for (const name of ["a", "b"]) {
    const path = await createFunctionCertificates(join(folder.path, name), year).serverFolder("fn");
    authorities.push(readFileSync(join(path, "ca.crt"), "utf8"));
  }
  assert.notEqual(authorities[0], authorities[1]);
});

test("a certificate is renewed in another folder when a third of its life is left; the one before it stays for a while", async () => {
  using folder = tempFolder();
  let now = Date.now();
  const certificates = createFunctionCertificates(folder.path, { now: () => now, days: 30 });
  const first = await certificates.serverFolder("fn");
  assert.ok(Math.abs(certificates.renewInMs("fn") - 20 * dayMs) < dayMs / 24);
  now += 19.9 * dayMs;
  assert.equal(await certificates.serverFolder("fn"), first);
  now += 0.2 * dayMs;
  assert.equal(certificates.renewInMs("fn"), 0);
  const second = await certificates.serverFolder("fn");
  assert.equal(second, join(folder.path, "fn~2"));
  assert.notEqual(readFileSync(join(second, "tls.crt"), "utf8"), readFileSync(join(first, "tls.crt"), "utf8"));
  assert.deepEqual(readdirSync(folder.path).sort(), ["fn", "fn~2"]);
  assert.equal(await certificates.serverFolder("fn"), second);
});

test("the files of a removed function and of an earlier control plane are removed", async () => {
  using folder = tempFolder();
  let now = Date.now();
  const times = { now: () => now, days: 30 };
  await createFunctionCertificates(folder.path, times).serverFolder("earlier");
  const certificates = createFunctionCertificates(folder.path, times);
  await certificates.serverFolder("fn");
  await certificates.serverFolder("other");
  now += 21 * dayMs;
  await certificates.serverFolder("fn");
  assert.deepEqual(readdirSync(folder.path).sort(), ["fn", "fn~2", "other"]);
  await certificates.forget("fn");
  await certificates.forget("unknown");
  assert.deepEqual(readdirSync(folder.path), ["other"]);
  assert.equal(await certificates.serverFolder("fn"), join(folder.path, "fn"), "it may come back");
});

test("the client certificate is renewed too", () => {
  using folder = tempFolder();
  let now = Date.now();
  const { client } = createFunctionCertificates(folder.path, { now: () => now, days: 30 });
  const first = client.current();
  assert.equal(client.current(), first);
  now += 21 * dayMs;
  assert.notEqual(client.current(), first);
});

test("the client certificate is written to clientFolder before the first call and again at each renewal", () => {
  using folder = tempFolder();
  const clientFolder = join(folder.path, "client");
  let now = Date.now();
  const read = (file: string): string => readFileSync(join(clientFolder, file), "utf8");
  const { client } = createFunctionCertificates(join(folder.path, "servers"), {
    now: () => now,
    days: 30,
    clientFolder,
  });
  assert.deepEqual(readdirSync(clientFolder).sort(), ["ca.crt", "tls.crt", "tls.key"]);
  assert.equal(statSync(clientFolder).mode & 0o777, 0o700);
  assert.equal(statSync(join(clientFolder, "tls.key")).mode & 0o777, 0o600);
  const certificate = new X509Certificate(read("tls.crt"));
  assert.deepEqual(certificate.keyUsage, ["1.3.6.1.5.5.7.3.2"], "clientAuth alone");
  assert.ok(certificate.verify(new X509Certificate(read("ca.crt")).publicKey));
  assert.ok(certificate.checkPrivateKey(createPrivateKey(read("tls.key"))));
  client.current();
  assert.equal(read("tls.crt"), certificate.toString());
  now += 21 * dayMs;
  client.current();
  assert.notEqual(read("tls.crt"), certificate.toString());
});

test("a function that comes back while its folder is being removed has its files", async () => {
  using folder = tempFolder();
  const certificates = createFunctionCertificates(folder.path, year);
  await certificates.serverFolder("fn");
  for (let turn = 0; turn < 20; turn++) {
    const gone = certificates.forget("fn");
    const [path] = await Promise.all([certificates.serverFolder("fn"), gone]);
    assert.deepEqual(readdirSync(path).sort(), ["ca.crt", "tls.crt", "tls.key"], `turn ${turn}`);
  }
  assert.deepEqual(readdirSync(folder.path), ["fn"]);
});

test("forget succeeds when the files of a function cannot be removed", async () => {
  using folder = tempFolder();
  const path = join(folder.path, "certificates");
  const certificates = createFunctionCertificates(path, year);
  await certificates.serverFolder("fn");
  rmSync(path, { recursive: true });
  writeFileSync(path, "in the way");
  await certificates.forget("fn");
  await assert.rejects(certificates.serverFolder("fn"), { code: /^(ENOTDIR|EEXIST)$/ });
  rmSync(path);
  assert.deepEqual(readdirSync(await certificates.serverFolder("fn")).sort(), ["ca.crt", "tls.crt", "tls.key"]);
});
