// SPDX-License-Identifier: Apache-2.0
import { createPublicKey, type KeyObject, randomBytes, sign, X509Certificate } from "node:crypto";
import * as der from "./der-writer.ts";
import { objectIds } from "./der-writer.ts";
import * as extensions from "./extensions.ts";
import { generateKeys, type KeyAlgorithm, type KeyPair, privateKeyPem, readIssuer } from "./issuer.ts";

/** What a certificate says. */
interface Contents {
  /** Random unless given. */
  readonly serial?: Uint8Array;
  readonly issuer: Uint8Array;
  readonly subject: Uint8Array;
  readonly notBefore: Date;
  readonly notAfter: Date;
  readonly publicKey: KeyObject;
  readonly extensions: readonly Uint8Array[];
}

/** The name of the authority and how long it is valid. */
interface AuthorityOptions {
  readonly commonName: string;
  readonly organizations?: readonly string[];
  /** What the authority itself is called; most need no such name. */
  readonly dnsNames?: readonly string[];
  /** Default 3650. */
  readonly days?: number;
  readonly now?: Date;
  /** Default "ecdsa-p256". */
  readonly algorithm?: KeyAlgorithm;
}

/** The subject of the certificate, where it may be used and how long it is valid. */
export interface CertificateOptions {
  readonly commonName: string;
  /** Kubernetes reads these as the groups of the caller. */
  readonly organizations?: readonly string[];
  readonly dnsNames?: readonly string[];
  readonly ipAddresses?: readonly string[];
  readonly usages: readonly extensions.CertificateUsage[];
  /** Default 365; never outlives the authority. */
  readonly days?: number;
  /** Not valid before this time. Default five minutes before now. */
  readonly validFrom?: Date;
  readonly now?: Date;
  /** Default "ecdsa-p256". */
  readonly algorithm?: KeyAlgorithm;
}

const dayMs = 86_400_000;

// Machines whose clocks differ a little must accept a certificate made a moment ago.
const backdateMs = 5 * 60_000;

/** Creates a self-signed authority that can sign end certificates but no further authorities. */
export function createAuthority(options: AuthorityOptions): KeyPair {
  const now = options.now ?? new Date();
  const keys = generateKeys(options.algorithm ?? "ecdsa-p256");
  const name = distinguishedName(options.commonName, options.organizations ?? []);
  const altName = extensions.subjectAltName(options.dnsNames ?? [], []);
  const identifier = extensions.keyIdentifierOf(keys.publicKey);
  return seal(keys.privateKey, keys.privateKey, {
    issuer: name,
    subject: name,
    notBefore: new Date(now.getTime() - backdateMs),
    notAfter: validUntil(now, options.days ?? 3650),
    publicKey: keys.publicKey,
    extensions: [
      extensions.authorityConstraints(),
      extensions.authorityKeyUsage(),
      extensions.subjectKeyIdentifier(keys.publicKey),
      extensions.authorityKeyIdentifier(identifier),
      ...(altName ? [altName] : []),
    ],
  });
}

/**
 * The same authority for longer: another certificate of its key and its name. Whatever it signed, before or after, is valid for clients that
 * trust either certificate, until that one ends. Only for one that vouches for itself.
 */
export function renewAuthority(authority: KeyPair, options: Pick<AuthorityOptions, "days" | "now"> = {}): KeyPair {
  const now = options.now ?? new Date();
  const { key, subject, extensions: said, isSelfSigned } = readIssuer(authority, now);
  if (!isSelfSigned)
    throw new Error("cannot renew an authority that another authority signed: renew it with that authority");
  const { certPem } = seal(key, key, {
    issuer: subject,
    subject,
    notBefore: new Date(now.getTime() - backdateMs),
    notAfter: validUntil(now, options.days ?? 3650),
    publicKey: createPublicKey(key),
    extensions: said,
  });
  return { certPem, keyPem: authority.keyPem };
}

/** Issues a certificate with a fresh key, signed by the authority. The authority may be one this package did not make. */
export function issueCertificate(authority: KeyPair, options: CertificateOptions): KeyPair {
  const now = options.now ?? new Date();
  const issuer = readIssuer(authority, now);
  if (options.usages.length === 0) {
    throw new Error(`cannot issue a certificate for "${options.commonName}": name at least one usage`);
  }
  const wanted = validUntil(now, options.days ?? 365);
  const keys = generateKeys(options.algorithm ?? "ecdsa-p256");
  const altName = extensions.subjectAltName(options.dnsNames ?? [], options.ipAddresses ?? []);
  return seal(keys.privateKey, issuer.key, {
    issuer: issuer.subject,
    subject: distinguishedName(options.commonName, options.organizations ?? []),
    notBefore: new Date(Math.max(now.getTime() - backdateMs, options.validFrom?.getTime() ?? 0)),
    notAfter: new Date(Math.min(wanted.getTime(), issuer.notAfter.getTime())),
    publicKey: keys.publicKey,
    extensions: [
      extensions.endEntityConstraints(),
      extensions.endEntityKeyUsage(keys.publicKey),
      extensions.extendedKeyUsage(options.usages),
      extensions.subjectKeyIdentifier(keys.publicKey),
      // Always there: a leaf with its issuer's subject and without this counts as self-signed in OpenSSL.
      extensions.authorityKeyIdentifier(
        issuer.keyIdentifier ?? extensions.keyIdentifierOf(createPublicKey(issuer.key)),
      ),
      ...(altName ? [altName] : []),
    ],
  });
}

function distinguishedName(commonName: string, organizations: readonly string[]): Buffer {
  if (commonName === "") throw new Error("cannot create a certificate: commonName is empty");
  // One set for each value, not one set of many: both are legal, and this one needs no sorting.
  return der.sequence(
    ...organizations.map((organization) => attribute(objectIds.organization, organization)),
    attribute(objectIds.commonName, commonName),
  );
}

function validUntil(now: Date, days: number): Date {
  if (!(days > 0)) throw new RangeError(`cannot create a certificate for ${days} days: the number must be positive`);
  return new Date(now.getTime() + days * dayMs);
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
  if (key.asymmetricKeyType === "ec") return der.sequence(objectIds.ecdsaWithSha256);
  if (key.asymmetricKeyType === "rsa") return der.sequence(objectIds.rsaWithSha256, der.nullValue());
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

/** The first and the last moment a certificate is valid. */
interface Validity {
  readonly notBefore: Date;
  readonly notAfter: Date;
}

/** Reads when a PEM certificate is valid; of a bundle, the first one. */
export function readValidity(certPem: string): Validity {
  const certificate = new X509Certificate(certPem);
  return { notBefore: certificate.validFromDate, notAfter: certificate.validToDate };
}

/** Milliseconds until the certificate expires; zero or less when it has. */
export function remainingLifetimeMs(certPem: string, now: Date = new Date()): number {
  return readValidity(certPem).notAfter.getTime() - now.getTime();
}

/**
 * True once only the last third (or the given fraction) of the certificate's life is left, and for a certificate that is not valid yet, as
 * one is that was issued before the clock was set back: time to issue a new one.
 */
export function shouldRenew(certPem: string, now: Date = new Date(), fraction: number = 1 / 3): boolean {
  const { notBefore, notAfter } = readValidity(certPem);
  if (notBefore.getTime() > now.getTime()) return true;
  const lifetimeMs = notAfter.getTime() - notBefore.getTime();
  return notAfter.getTime() - now.getTime() <= lifetimeMs * fraction;
}
