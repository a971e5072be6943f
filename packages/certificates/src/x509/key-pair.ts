// SPDX-License-Identifier: Apache-2.0
// Whether a certificate and a private key belong together, with the texts of Go's crypto/tls.
import { createPrivateKey, createPublicKey, type KeyObject } from "node:crypto";
import { decodePem, type PemBlock } from "./der-cursor.ts";
import { DerError } from "./der-shapes.ts";
import { checkCertificates } from "./issued-certificates.ts";
import { type PublicKey, refuse } from "./public-key.ts";
import { maxPemBytes, problemOf, tooLargeText, type UriProblem } from "./signing-request.ts";

/** What {@link keyPairProblem} compares, as PEM. */
interface PemPair {
  readonly certificate: Uint8Array;
  readonly key: Uint8Array;
  readonly uriProblem: UriProblem;
}

/** What is wrong with a certificate and its private key, in the words of the real API server. Undefined when they belong together. */
export function keyPairProblem({ certificate, key, uriProblem }: PemPair): string | undefined {
  return problemOf(() => {
    const leaf = findCertificate(blocksOf(certificate));
    const block = findKey(blocksOf(key));
    if (leaf.bytes.length > maxPemBytes) tlsError(`the certificate was not checked: it ${tooLargeText}`);
    const [publicKey, ...others] = checkCertificates(leaf.bytes, uriProblem);
    if (others.length > 0) refuse("trailing data");
    checkPair(publicKey, privateKeyOf(block.bytes));
  });
}

function tlsError(text: string): never {
  throw new DerError(`tls: ${text}`);
}

function blocksOf(pem: Uint8Array): PemBlock[] {
  const blocks: PemBlock[] = [];
  for (let text = Buffer.from(pem).toString("latin1"); ; ) {
    const block = decodePem(text);
    if (block === undefined) return blocks;
    blocks.push(block);
    text = block.rest;
  }
}

const isKey = ({ type }: PemBlock): boolean => type === "PRIVATE KEY" || type.endsWith(" PRIVATE KEY");
const typesOf = (blocks: readonly PemBlock[]): string => `[${blocks.map(({ type }) => type).join(" ")}]`;

function findCertificate(blocks: readonly PemBlock[]): PemBlock {
  const found = blocks.find(({ type }) => type === "CERTIFICATE");
  if (found !== undefined) return found;
  const [first, ...others] = blocks;
  if (first === undefined) tlsError("failed to find any PEM data in certificate input");
  if (others.length === 0 && first.type.endsWith("PRIVATE KEY")) {
    tlsError(
      "failed to find certificate PEM data in certificate input, but did find a private key; PEM inputs may have been switched",
    );
  }
  const after = "in certificate input after skipping PEM blocks of the following types:";
  return tlsError(`failed to find "CERTIFICATE" PEM block ${after} ${typesOf(blocks)}`);
}

function findKey(blocks: readonly PemBlock[]): PemBlock {
  const found = blocks.find(isKey);
  if (found !== undefined) return found;
  const [first, ...others] = blocks;
  if (first === undefined) tlsError("failed to find any PEM data in key input");
  if (others.length === 0 && first.type === "CERTIFICATE") {
    tlsError("found a certificate rather than a key in the PEM for the private key");
  }
  const after = "in key input after skipping PEM blocks of the following types:";
  return tlsError(`failed to find PEM block with type ending in "PRIVATE KEY" ${after} ${typesOf(blocks)}`);
}

/** The kinds of keys that Go reads, as Node names them. */
const kinds: Readonly<Record<string, PublicKey["kind"]>> = { rsa: "RSA", ec: "ECDSA", ed25519: "Ed25519" };

function privateKeyOf(der: Uint8Array): KeyObject {
  for (const type of ["pkcs1", "pkcs8", "sec1"] as const) {
    const key = attempt(() => createPrivateKey({ key: Buffer.from(der), format: "der", type }));
    if (key === undefined) continue;
    if (kinds[key.asymmetricKeyType ?? ""] !== undefined) return key;
    if (key.asymmetricKeyType === "x25519") tlsError("found unknown private key type in PKCS#8 wrapping");
  }
  return tlsError("failed to parse private key");
}

function attempt<T>(make: () => T): T | undefined {
  try {
    return make();
  } catch {
    return undefined;
  }
}

function checkPair(publicKey: PublicKey | undefined, privateKey: KeyObject): void {
  if (publicKey === undefined || publicKey.kind === "DSA") tlsError("unknown public key algorithm");
  if (kinds[privateKey.asymmetricKeyType ?? ""] !== publicKey.kind) {
    tlsError("private key type does not match public key type");
  }
  const isPair = publicKey.key !== undefined && createPublicKey(privateKey).equals(publicKey.key);
  if (!isPair) tlsError("private key does not match public key");
}
