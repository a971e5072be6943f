// SPDX-License-Identifier: Apache-2.0
import { createPrivateKey, generateKeyPairSync, type KeyObject, X509Certificate } from "node:crypto";
import { derTags, objectIds } from "./der-writer.ts";

/** What signing needs of an authority: its key, its name as bytes, its key identifier and its end. */
interface Issuer {
  readonly key: KeyObject;
  readonly subject: Uint8Array;
  readonly keyIdentifier: Uint8Array | undefined;
  readonly notAfter: Date;
  /** Whether it vouches for itself. */
  readonly isSelfSigned: boolean;
  /** Everything its certificate says beside name, key and time, but for who signed it. */
  readonly extensions: readonly Uint8Array[];
}

/**
 * Reads an authority, ours or one handed in by a user. Name and key identifier are taken byte for byte from its
 * certificate, since verifiers compare bytes and other tools encode names and identifiers in their own way.
 */
export function readIssuer(authority: KeyPair, now: Date): Issuer {
  const certificate = new X509Certificate(authority.certPem);
  const key = createPrivateKey(authority.keyPem);
  if (!certificate.ca) {
    throw new Error(
      `cannot issue with "${oneLine(certificate.subject)}": the certificate is not a certificate authority`,
    );
  }
  if (!certificate.checkPrivateKey(key)) {
    throw new Error(
      `cannot issue with "${oneLine(certificate.subject)}": the private key belongs to another certificate`,
    );
  }
  const notAfter = certificate.validToDate;
  if (notAfter <= now) {
    throw new Error(
      `cannot issue with "${oneLine(certificate.subject)}": the authority expired on ${notAfter.toISOString()}; create a new one`,
    );
  }
  const isSelfSigned = certificate.checkIssued(certificate) && certificate.verify(certificate.publicKey);
  return { key, notAfter, isSelfSigned, ...tbsFields(certificate.raw) };
}

interface Element {
  readonly tag: number;
  readonly whole: Uint8Array;
  readonly content: Uint8Array;
}

// Only ever sees DER that OpenSSL has already accepted, so lengths are trusted.
function* elements(der: Uint8Array): Generator<Element> {
  for (let start = 0; start < der.length; ) {
    const tag = der[start] ?? 0;
    let at = start + 2;
    let length = der[start + 1] ?? 0;
    if (length >= 0x80) {
      const count = length & 0x7f;
      length = Buffer.from(der.subarray(at, at + count)).readUIntBE(0, count);
      at += count;
    }
    yield { tag, whole: der.subarray(start, at + length), content: der.subarray(at, at + length) };
    start = at + length;
  }
}

function first(der: Uint8Array): Uint8Array {
  return elements(der).next().value?.content ?? new Uint8Array();
}

function tbsFields(certificate: Uint8Array): Pick<Issuer, "subject" | "keyIdentifier" | "extensions"> {
  const fields = [...elements(first(first(certificate)))];
  // The version is optional; after it come serial, signature, issuer, validity, subject, key, extensions.
  const offset = fields[0]?.tag === 0xa0 ? 1 : 0;
  const subject = fields[offset + 4]?.whole ?? new Uint8Array();
  const list = fields.find((field) => field.tag === 0xa3);
  const extensions = list === undefined ? [] : [...elements(first(list.content))];
  return {
    subject,
    keyIdentifier: subjectKeyIdentifier(extensions),
    extensions: extensions.filter((one) => !isOf(one, objectIds.authorityKeyIdentifier)).map(({ whole }) => whole),
  };
}

function isOf({ content }: Element, oid: Uint8Array): boolean {
  return Buffer.compare(elements(content).next().value?.whole ?? new Uint8Array(), oid) === 0;
}

function subjectKeyIdentifier(extensions: readonly Element[]): Uint8Array | undefined {
  const found = extensions.find((one) => isOf(one, objectIds.subjectKeyIdentifier));
  const value = found && [...elements(found.content)].at(-1);
  return value?.tag === derTags.octetString ? first(value.content) : undefined;
}

function oneLine(subject: string): string {
  return subject.replaceAll("\n", ", ");
}

/** A certificate and its private key (PKCS #8), both PEM. */
export interface KeyPair {
  readonly certPem: string;
  readonly keyPem: string;
}

/** Key kinds this package makes. RSA takes up to a second to generate and is there for peers that support nothing newer. */
export type KeyAlgorithm = "ecdsa-p256" | "rsa-2048";

interface Keys {
  readonly privateKey: KeyObject;
  readonly publicKey: KeyObject;
}

export function generateKeys(algorithm: KeyAlgorithm): Keys {
  return algorithm === "rsa-2048"
    ? generateKeyPairSync("rsa", { modulusLength: 2048 })
    : generateKeyPairSync("ec", { namedCurve: "P-256" });
}

export function privateKeyPem(key: KeyObject): string {
  return key.export({ type: "pkcs8", format: "pem" }) as string;
}
