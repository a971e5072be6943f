// SPDX-License-Identifier: Apache-2.0
import { type KeyObject, randomBytes, sign } from "node:crypto";
import * as der from "./der-writer.ts";
import { type KeyPair, privateKeyPem } from "./key-pair.ts";
import { OID } from "./oids.ts";

/** What a certificate says. */
export interface Contents {
  /** Random unless given. */
  readonly serial?: Uint8Array;
  readonly issuer: Uint8Array;
  readonly subject: Uint8Array;
  readonly notBefore: Date;
  readonly notAfter: Date;
  readonly publicKey: KeyObject;
  readonly extensions: readonly Uint8Array[];
}

/** Encodes and signs a certificate. */
export function seal(subjectKey: KeyObject, issuerKey: KeyObject, contents: Contents): KeyPair {
  const algorithm = signatureAlgorithm(issuerKey);
  const toBeSigned = der.sequence(
    der.contextConstructed(0, der.smallInteger(2)),
    contents.serial ?? serialNumber(),
    algorithm,
    contents.issuer,
    der.sequence(der.time(contents.notBefore), der.time(contents.notAfter)),
    contents.subject,
    contents.publicKey.export({ type: "spki", format: "der" }),
    der.contextConstructed(3, der.sequence(...contents.extensions)),
  );
  const signature = sign("sha256", toBeSigned, issuerKey);
  const certificate = der.sequence(toBeSigned, algorithm, der.bitString(signature));
  return { certPem: pem(certificate), keyPem: privateKeyPem(subjectKey) };
}

function signatureAlgorithm(key: KeyObject): Buffer {
  if (key.asymmetricKeyType === "ec") {
    return der.sequence(OID.ecdsaWithSha256);
  }
  if (key.asymmetricKeyType === "rsa") {
    return der.sequence(OID.rsaWithSha256, der.nullValue());
  }
  throw new Error(`cannot sign with a key of type "${key.asymmetricKeyType}": the authority's key must be EC or RSA`);
}

// 128 bits with the top one set: always positive, never zero, always the same length.
function serialNumber(): Buffer {
  const bytes = randomBytes(16);
  bytes[0] = (bytes[0] ?? 0) | 0x80;
  return der.unsignedInteger(bytes);
}

/** One attribute of a distinguished name. */
export function attribute(type: Uint8Array, value: string): Buffer {
  return der.setOfOne(der.sequence(type, der.utf8String(value)));
}

function pem(certificate: Buffer): string {
  const lines = certificate.toString("base64").match(/.{1,64}/g) ?? [];
  return `-----BEGIN CERTIFICATE-----\n${lines.join("\n")}\n-----END CERTIFICATE-----\n`;
}
