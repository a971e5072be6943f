// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { X509Certificate } from "node:crypto";
import { readdirSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { load } from "js-yaml";
import { tempDirectory } from "../store/testing/temp-store.ts";
import { adminKubeconfig } from "./kubeconfig.ts";
import { loadCertificates } from "./serving-certificates.ts";

const start = new Date("2030-01-01T00:00:00Z");
const later = (days: number): Date => new Date(start.getTime() + days * 86_400_000);

test("certificates are made once, for the names the server is reached by, and for their owner only", () => {
  const directory = tempDirectory();
  const made = loadCertificates(directory, { now: start });
  assert.deepEqual(loadCertificates(directory, { now: later(1) }), made);
  const server = new X509Certificate(made.server.certPem);
  for (const name of ["localhost", "kubernetes", "kubernetes.default.svc"]) {
    assert.equal(server.checkHost(name), name);
  }
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

test("a new authority issues everything anew", () => {
  const directory = tempDirectory();
  const first = loadCertificates(directory, { now: start });
  writeFileSync(join(directory, "pki", "ca.pem"), "half a file");
  const second = loadCertificates(directory, { now: start });
  assert.notEqual(second.authority.certPem, first.authority.certPem);
  const issuer = new X509Certificate(second.authority.certPem);
  assert.ok(new X509Certificate(second.server.certPem).verify(issuer.publicKey));
  assert.ok(new X509Certificate(second.admin.certPem).verify(issuer.publicKey));
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
