// SPDX-License-Identifier: Apache-2.0
import { createPrivateKey, type KeyObject, X509Certificate } from "node:crypto";
import { TAG } from "./der-writer.ts";
import type { KeyPair } from "./key-pair.ts";
import { OID } from "./oids.ts";

/** What signing needs of an authority: its key, its name as bytes, its key identifier and its end. */
export interface Issuer {
  readonly key: KeyObject;
  readonly subject: Uint8Array;
  readonly keyIdentifier: Uint8Array | undefined;
  readonly notAfter: Date;
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
  const fields = tbsFields(certificate.raw);
  return { key, subject: fields.subject, keyIdentifier: fields.keyIdentifier, notAfter };
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

function tbsFields(certificate: Uint8Array): { subject: Uint8Array; keyIdentifier: Uint8Array | undefined } {
  const fields = [...elements(first(first(certificate)))];
  // The version is optional; after it come serial, signature, issuer, validity, subject, key, extensions.
  const offset = fields[0]?.tag === 0xa0 ? 1 : 0;
  const subject = fields[offset + 4]?.whole ?? new Uint8Array();
  const extensions = fields.find((field) => field.tag === 0xa3);
  return { subject, keyIdentifier: extensions && subjectKeyIdentifier(first(extensions.content)) };
}

function subjectKeyIdentifier(extensions: Uint8Array): Uint8Array | undefined {
  for (const extension of elements(extensions)) {
    const parts = [...elements(extension.content)];
    const value = parts.at(-1);
    if (
      Buffer.compare(parts[0]?.whole ?? new Uint8Array(), OID.subjectKeyIdentifier) === 0 &&
      value?.tag === TAG.octetString
    ) {
      return first(value.content);
    }
  }
  return undefined;
}

function oneLine(subject: string): string {
  return subject.replaceAll("\n", ", ");
}
