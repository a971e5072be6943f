// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { X509Certificate } from "node:crypto";
import { readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { tempFolder } from "../testing/temp-folder.ts";
import { createFunctionCertificates } from "./function-certificates.ts";

test("a function gets a certificate for serving on this machine, and no key of the authority", async () => {
  using folder = tempFolder();
  const certificates = createFunctionCertificates(folder.path);
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
    const path = await createFunctionCertificates(join(folder.path, name)).serverFolder("fn");
    authorities.push(readFileSync(join(path, "ca.crt"), "utf8"));
  }
  assert.notEqual(authorities[0], authorities[1]);
});
