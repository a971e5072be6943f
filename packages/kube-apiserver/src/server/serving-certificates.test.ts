// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { X509Certificate } from "node:crypto";
import { mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { load } from "js-yaml";
import { tempDirectory } from "../../test/store/temp-store.ts";
import { isStoreError } from "../store/store-error.ts";
import { adminKubeconfig } from "./api-server.ts";
import { loadCertificates } from "./serving-certificates.ts";

const start = new Date("2030-01-01T00:00:00Z");
const later = (days: number): Date => new Date(start.getTime() + days * 86_400_000);

test("certificates are made once, for the names the server is reached by, and for their owner only", () => {
  const directory = tempDirectory();
  const made = loadCertificates(directory, { now: start });
  assert.deepEqual(loadCertificates(directory, { now: later(1) }), made);
  const server = new X509Certificate(made.server.certPem);
  for (const name of ["localhost", "kubernetes", "kubernetes.default.svc"]) assert.equal(server.checkHost(name), name);
  assert.equal(server.checkIP("127.0.0.1"), "127.0.0.1");
  assert.equal(server.checkIP("::1"), "::1");
  assert.match(new X509Certificate(made.admin.certPem).subject, /O=system:masters\nCN=admin/);
  for (const name of readdirSync(join(directory, "pki"))) {
    assert.equal(statSync(join(directory, "pki", name)).mode & 0o777, 0o600, name);
  }
});

test("certificates about to expire are renewed, the authority stays", () => {
  const directory = tempDirectory();
  const first = loadCertificates(directory, { now: start });
  const second = loadCertificates(directory, { now: later(300) });
  assert.equal(second.authority.certPem, first.authority.certPem);
  assert.notEqual(second.server.certPem, first.server.certPem);
  assert.notEqual(second.admin.certPem, first.admin.certPem);
});

test("an authority that is renewed keeps its key, and what it issued stays good", () => {
  const directory = tempDirectory();
  const first = loadCertificates(directory, { now: start });
  const second = loadCertificates(directory, { now: later(9 * 365) });
  assert.notEqual(second.authority.certPem, first.authority.certPem);
  assert.equal(second.authority.keyPem, first.authority.keyPem, "kubeconfigs out there continue to work");
  const issuer = new X509Certificate(first.authority.certPem);
  for (const { certPem } of [second.server, second.admin]) {
    assert.ok(new X509Certificate(certPem).verify(issuer.publicKey));
  }
});

test("an authority that has expired is replaced, with all it issued", () => {
  const directory = tempDirectory();
  const first = loadCertificates(directory, { now: start });
  const second = loadCertificates(directory, { now: later(20 * 365) });
  assert.notEqual(second.authority.keyPem, first.authority.keyPem);
  assert.ok(new X509Certificate(second.server.certPem).checkIssued(new X509Certificate(second.authority.certPem)));
  assert.equal(second.tokens.keyPem, first.tokens.keyPem);
});

for (const days of [1, 400, 20 * 365]) {
  test(`certificates from the future are renewed: the clock goes back by ${days} days`, () => {
    const directory = tempDirectory();
    const first = loadCertificates(directory, { now: start });
    const now = later(-days);
    const second = loadCertificates(directory, { now });
    assert.equal(second.authority.keyPem, first.authority.keyPem);
    for (const { certPem } of [second.authority, second.server, second.admin]) {
      const { validFromDate, validToDate } = new X509Certificate(certPem);
      assert.ok(validFromDate <= now && validToDate > now);
    }
    assert.deepEqual(loadCertificates(directory, { now }), second);
  });
}

const damages: Record<string, { readonly says: RegExp; readonly damage: (folder: string) => void }> = {
  "an authority cut off": {
    says: /ca\.pem is damaged: it is cut off, or not a private key followed by a certificate: restore the file/,
    damage: (folder) => write(folder, "ca.pem", read(folder, "ca.pem").slice(0, 100)),
  },
  "an empty authority": { says: /ca\.pem is damaged: it is empty/, damage: (folder) => write(folder, "ca.pem", "") },
  "an authority without its key": {
    says: /ca\.pem is damaged: the private key is missing/,
    damage: (folder) => write(folder, "ca.pem", certificateIn(folder, "ca.pem")),
  },
  "an authority without its certificate": {
    says: /ca\.pem is damaged: the certificate is missing/,
    damage: (folder) => write(folder, "ca.pem", keyIn(folder, "ca.pem")),
  },
  "an authority that is missing": { says: /ca\.pem is missing: /, damage: (folder) => rmSync(join(folder, "ca.pem")) },
  "a certificate that is not an authority": {
    says: /ca\.pem is damaged: it is not the certificate of an authority/,
    damage: (folder) => write(folder, "ca.pem", read(folder, "server.pem")),
  },
  "a foreign authority": {
    says: /server\.pem is damaged: another authority than ca\.pem issued it/,
    damage: (folder) => write(folder, "ca.pem", read(folder, "tokens.pem")),
  },
  "a key of another certificate": {
    says: /server\.pem is damaged: the private key belongs to another certificate/,
    damage: (folder) => write(folder, "server.pem", keyIn(folder, "admin.pem") + certificateIn(folder, "server.pem")),
  },
  "garbage in a certificate": {
    says: /admin\.pem is damaged: it cannot be read: /,
    damage: (folder) =>
      write(
        folder,
        "admin.pem",
        read(folder, "admin.pem").replace(/BEGIN CERTIFICATE-----\n.{9}/, "BEGIN CERTIFICATE-----\nAAAAAAAAA"),
      ),
  },
  "a missing key of tokens": {
    says: /tokens\.pem is missing: .*tokens of Service/,
    damage: (folder) => rmSync(join(folder, "tokens.pem")),
  },
  "tokens cut off": {
    says: /tokens\.pem is damaged: it is cut off/,
    damage: (folder) => write(folder, "tokens.pem", read(folder, "tokens.pem").slice(0, -40).trimEnd()),
  },
};

const read = (folder: string, name: string): string => readFileSync(join(folder, name), "utf8");
const write = (folder: string, name: string, text: string): void => writeFileSync(join(folder, name), text);
const keyIn = (folder: string, name: string): string => read(folder, name).split("-----BEGIN CERT")[0] ?? "";
const certificateIn = (folder: string, name: string): string =>
  `-----BEGIN CERT${read(folder, name).split("-----BEGIN CERT")[1] ?? ""}`;

for (const [name, { says, damage }] of Object.entries(damages)) {
  test(`damaged files are reported, left as they are, and replaced on request only: ${name}`, () => {
    const directory = tempDirectory();
    loadCertificates(directory, { now: start });
    const folder = join(directory, "pki");
    damage(folder);
    const contents = (): string[] => readdirSync(folder).map((file) => file + read(folder, file));
    const before = contents();
    assert.throws(
      () => loadCertificates(directory, { now: start }),
      (error) =>
        isStoreError(error, "damaged") && says.test(error.message) && /--repair-certificates/.test(error.message),
    );
    assert.deepEqual(contents(), before);
    const warnings: string[] = [];
    const repaired = loadCertificates(directory, {
      now: start,
      repair: true,
      onWarning: (text) => warnings.push(text),
    });
    assert.ok(
      warnings.length > 0 && warnings.every((text) => /pem was .*; it was replaced, and /.test(text)),
      warnings.join(),
    );
    assert.ok(
      new X509Certificate(repaired.server.certPem).checkIssued(new X509Certificate(repaired.authority.certPem)),
    );
    assert.deepEqual(loadCertificates(directory, { now: start }), repaired);
  });
}

test("a missing certificate is issued again by the same authority, and reported", () => {
  const directory = tempDirectory();
  const first = loadCertificates(directory, { now: start });
  rmSync(join(directory, "pki", "server.pem"));
  const warnings: string[] = [];
  const second = loadCertificates(directory, { now: start, onWarning: (text) => warnings.push(text) });
  assert.deepEqual([second.authority, second.admin], [first.authority, first.admin]);
  assert.match(warnings.join(), /server\.pem was missing; it was replaced, and nothing else changes/);
});

test("a crash while the first ones are made leaves none", () => {
  const directory = tempDirectory();
  mkdirSync(join(directory, "pki.new"));
  writeFileSync(join(directory, "pki.new", "ca.pem"), "half a file");
  mkdirSync(join(directory, "pki"));
  loadCertificates(directory, { now: start });
  assert.deepEqual(readdirSync(directory), ["pki"]);
});

test("the kubeconfig holds everything needed", () => {
  const certificates = loadCertificates(tempDirectory(), { now: start });
  const config = load(adminKubeconfig("https://127.0.0.1:6443", certificates)) as Record<string, never>;
  const decode = (text: string): string => Buffer.from(text, "base64").toString();
  assert.equal(config["current-context"], "purlin");
  assert.equal(
    decode(config["clusters"]?.[0]?.["cluster"]?.["certificate-authority-data"] ?? ""),
    certificates.authority.certPem,
  );
  assert.equal(decode(config["users"]?.[0]?.["user"]?.["client-key-data"] ?? ""), certificates.admin.keyPem);
});
