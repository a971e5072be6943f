// SPDX-License-Identifier: Apache-2.0
import { createPublicKey } from "node:crypto";
import * as der from "./der-writer.ts";
import * as extensions from "./extensions.ts";
import { readIssuer } from "./issuer.ts";
import { generateKeys, type KeyAlgorithm, type KeyPair } from "./key-pair.ts";
import { OID } from "./oids.ts";
import { attribute, seal } from "./seal.ts";

/** Who the authority is and how long it lasts. */
export interface AuthorityOptions {
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

/** Who the certificate is for, where it may be used and how long it lasts. */
export interface CertificateOptions {
  readonly commonName: string;
  /** Kubernetes reads these as the groups of the caller. */
  readonly organizations?: readonly string[];
  readonly dnsNames?: readonly string[];
  readonly ipAddresses?: readonly string[];
  readonly usages: readonly extensions.CertificateUsage[];
  /** Default 365; never outlives the authority. */
  readonly days?: number;
  readonly now?: Date;
  /** Default "ecdsa-p256". */
  readonly algorithm?: KeyAlgorithm;
}

const DAY_MS = 86_400_000;

// Machines whose clocks differ a little must accept a certificate made a moment ago.
const BACKDATE_MS = 5 * 60_000;

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
    notBefore: new Date(now.getTime() - BACKDATE_MS),
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
 * The same authority for longer: another certificate of its key and its name. Whatever it signed, before or after, counts for those who
 * trust either certificate, until that one ends. Only for one that vouches for itself.
 */
export function renewAuthority(authority: KeyPair, options: Pick<AuthorityOptions, "days" | "now"> = {}): KeyPair {
  const now = options.now ?? new Date();
  const { key, subject, extensions: said, isSelfSigned } = readIssuer(authority, now);
  if (!isSelfSigned) throw new Error("cannot renew an authority that another one signed: ask that one");
  const { certPem } = seal(key, key, {
    issuer: subject,
    subject,
    notBefore: new Date(now.getTime() - BACKDATE_MS),
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
    notBefore: new Date(now.getTime() - BACKDATE_MS),
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
  if (commonName === "") {
    throw new Error("cannot create a certificate: commonName is empty");
  }
  // One set for each value, not one set of many: both are legal, and this one needs no sorting.
  return der.sequence(
    ...organizations.map((organization) => attribute(OID.organization, organization)),
    attribute(OID.commonName, commonName),
  );
}

function validUntil(now: Date, days: number): Date {
  if (!(days > 0)) {
    throw new RangeError(`cannot create a certificate for ${days} days: the number must be positive`);
  }
  return new Date(now.getTime() + days * DAY_MS);
}
