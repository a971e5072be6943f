// SPDX-License-Identifier: Apache-2.0
import { mkdtemp, rename, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { TestContext } from "node:test";
import { createAuthority, issueCertificate, type KeyPair } from "@purlin/certificates";

/** A certificate authority for a test. */
export function newAuthority(name = "test"): KeyPair {
  return createAuthority({ commonName: name });
}

/** A certificate for a function that is reached as localhost. */
export function serverCertificate(authority: KeyPair, commonName = "function"): KeyPair {
  return issueCertificate(authority, { commonName, dnsNames: ["localhost"], usages: ["server"] });
}

/** A client certificate for calling functions. */
export function clientCertificate(authority: KeyPair): KeyPair {
  return issueCertificate(authority, { commonName: "runner", usages: ["client"] });
}

/** A directory that is gone when the test ends. */
export async function temporaryDirectory(t: TestContext): Promise<string> {
  const directory = await mkdtemp(join(tmpdir(), "function-sdk-"));
  t.after(() => rm(directory, { recursive: true, force: true }));
  return directory;
}

/** Writes the three files of a certificate directory, each complete at once. */
export async function writeCertificates(directory: string, authority: KeyPair, server: KeyPair): Promise<void> {
  await writeWhole(join(directory, "ca.crt"), authority.certPem);
  await writeWhole(join(directory, "tls.key"), server.keyPem);
  await writeWhole(join(directory, "tls.crt"), server.certPem);
}

async function writeWhole(path: string, text: string): Promise<void> {
  await writeFile(`${path}.new`, text);
  await rename(`${path}.new`, path);
}
