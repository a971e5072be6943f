// SPDX-License-Identifier: Apache-2.0
import { createPrivateKey, X509Certificate } from "node:crypto";
import { readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import type { KeyPair } from "@purlin/certificates";

/** What is in the file of a key and its certificate. */
export type StoredPair =
  | { readonly state: "missing" }
  | { readonly state: "damaged"; readonly reason: string }
  | { readonly state: "good"; readonly pair: KeyPair };

const parts = /^(-----BEGIN PRIVATE KEY-----\n.*-----END PRIVATE KEY-----\n)?(-----BEGIN CERTIFICATE-----\n.*\n)?$/s;

/** Reads the file of a key and its certificate, and sees that they belong together. */
export function readPair(path: string): StoredPair {
  let text: string;
  try {
    text = readFileSync(path, "utf8");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return { state: "missing" };
    throw error;
  }
  if (text === "") return damaged("it is empty");
  const [whole, keyPem, certPem] = parts.exec(text) ?? [];
  if (whole === undefined) return damaged("it is cut off, or not a private key followed by a certificate");
  if (keyPem === undefined) return damaged("the private key is missing");
  if (certPem === undefined) return damaged("the certificate is missing");
  return checked({ keyPem, certPem });
}

function checked(pair: KeyPair): StoredPair {
  try {
    if (!new X509Certificate(pair.certPem).checkPrivateKey(createPrivateKey(pair.keyPem))) {
      return damaged("the private key belongs to another certificate");
    }
    return { state: "good", pair };
  } catch (error) {
    return damaged(`it cannot be read: ${error instanceof Error ? error.message : String(error)}`);
  }
}

/** A pair that cannot be used. */
export function damaged(reason: string): StoredPair {
  return { state: "damaged", reason };
}

/** Writes key and certificate into one file that appears complete: a crash cannot leave one without the other. */
export function writePair(path: string, { keyPem, certPem }: KeyPair): void {
  rmSync(`${path}.new`, { force: true });
  writeFileSync(`${path}.new`, keyPem + certPem, { mode: 0o600, flag: "wx" });
  renameSync(`${path}.new`, path);
}

/** Whether an authority issued the certificate of a pair. */
export function isIssuedBy(authority: KeyPair, { certPem }: KeyPair): boolean {
  const issuer = new X509Certificate(authority.certPem);
  const certificate = new X509Certificate(certPem);
  return certificate.checkIssued(issuer) && certificate.verify(issuer.publicKey);
}

/** Whether a pair can issue certificates in its own name. */
export function isAuthority(pair: KeyPair): boolean {
  return new X509Certificate(pair.certPem).ca && isIssuedBy(pair, pair);
}
