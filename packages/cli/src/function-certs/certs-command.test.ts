// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { X509Certificate } from "node:crypto";
import { readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { tempFolder } from "@purlin/base/testing/temp-folder";
import { runInProcess } from "../../test/test-io.ts";

test("one certificate is good for both ends of a call on this machine", async () => {
  using folder = tempFolder();
  const { exitCode, stdout } = await runInProcess(["function", "certs", "certs"], { cwd: folder.path });
  assert.equal(exitCode, 0);
  assert.match(stdout, /^Created certs with ca\.crt, tls\.crt and tls\.key/);
  assert.deepEqual(readdirSync(join(folder.path, "certs")).sort(), ["ca.crt", "tls.crt", "tls.key"]);

  const read = (name: string): X509Certificate => new X509Certificate(readFileSync(join(folder.path, "certs", name)));
  const certificate = read("tls.crt");
  assert.ok(certificate.verify(read("ca.crt").publicKey));
  assert.equal(certificate.subjectAltName, "DNS:localhost, IP Address:127.0.0.1, IP Address:0:0:0:0:0:0:0:1");
  assert.deepEqual(certificate.keyUsage, ["1.3.6.1.5.5.7.3.1", "1.3.6.1.5.5.7.3.2"]);
  assert.equal(statSync(join(folder.path, "certs/tls.key")).mode & 0o077, 0, "the key is for its owner only");
});

test("a folder with anything in it is left alone", async () => {
  using folder = tempFolder({ "certs/tls.key": "mine" });
  const { exitCode, stderr } = await runInProcess(["function", "certs", "certs"], { cwd: folder.path });
  assert.equal(exitCode, 1);
  assert.equal(
    stderr,
    "error: cannot create certs: the folder exists and is not empty: choose another name, or empty it\n",
  );
  assert.equal(readFileSync(join(folder.path, "certs/tls.key"), "utf8"), "mine");
});
