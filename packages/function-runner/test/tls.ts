// SPDX-License-Identifier: Apache-2.0
// Certificates for tests, in the layout functions and runners use.
import { Buffer } from "node:buffer";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { TestContext } from "node:test";
import { ServerCredentials } from "@grpc/grpc-js";
import { createAuthority, issueCertificate, type KeyPair } from "@purlin/certificates";
import { type CrossplaneLeafOptions, issueAsCrossplane } from "@purlin/certificates/testing";

/** A directory that is removed when the test ends. */
export function temporaryDirectory(t: TestContext): string {
  const directory = mkdtempSync(join(tmpdir(), "purlin-runner-"));
  t.after(() => rmSync(directory, { recursive: true, force: true }));
  return directory;
}

export function authority(): KeyPair {
  return createAuthority({ commonName: "test authority" });
}

/** Writes, or replaces, the client side of mutual TLS. */
export function writeClientFiles(directory: string, ca: KeyPair, signer: KeyPair = ca): void {
  const client = issueCertificate(signer, { commonName: "runner", usages: ["client"] });
  writeFileSync(join(directory, "ca.crt"), ca.certPem);
  writeFileSync(join(directory, "tls.crt"), client.certPem);
  writeFileSync(join(directory, "tls.key"), client.keyPem);
}

/** Writes the client side of mutual TLS as Crossplane makes it. */
export function writeCrossplaneFiles(directory: string, ca: KeyPair): void {
  const client = issueAsCrossplane(ca, { dnsNames: ["crossplane.crossplane-system"], usages: ["client"] });
  writeFileSync(join(directory, "ca.crt"), ca.certPem);
  writeFileSync(join(directory, "tls.crt"), client.certPem);
  writeFileSync(join(directory, "tls.key"), client.keyPem);
}

/** The server side of TLS as Crossplane makes it. Clients are not checked: grpc-js cannot verify such certificates. */
export function crossplaneCredentials(ca: KeyPair, options: Partial<CrossplaneLeafOptions>): ServerCredentials {
  const { certPem, keyPem } = issueAsCrossplane(ca, { usages: ["server"], ...options });
  const pair = { private_key: Buffer.from(keyPem), cert_chain: Buffer.from(certPem) };
  return ServerCredentials.createSsl(Buffer.from(ca.certPem), [pair], false);
}

/** The server side of mutual TLS; clients must show a certificate of the same authority. */
export function serverCredentials(
  ca: KeyPair,
  names: { readonly dnsNames?: readonly string[]; readonly ipAddresses?: readonly string[] },
): ServerCredentials {
  const { certPem, keyPem } = issueCertificate(ca, { commonName: "function", usages: ["server"], ...names });
  const pair = { private_key: Buffer.from(keyPem), cert_chain: Buffer.from(certPem) };
  return ServerCredentials.createSsl(Buffer.from(ca.certPem), [pair], true);
}
