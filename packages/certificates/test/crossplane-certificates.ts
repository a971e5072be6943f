// SPDX-License-Identifier: Apache-2.0
// Certificates in the form Crossplane's own generator gives them: authority and leaves share one subject and one serial
// number, keys are RSA, and leaves carry no key identifiers. OpenSSL takes such a leaf for self-signed.
import { createPrivateKey } from "node:crypto";
import { attribute, seal } from "../src/certificate.ts";
import * as der from "../src/der-writer.ts";
import { objectIds } from "../src/der-writer.ts";
import * as extensions from "../src/extensions.ts";
import { generateKeys, type KeyPair } from "../src/issuer.ts";

const yearMs = 365 * 86_400_000;
const serial = der.smallInteger(2022);

// In the order of Go's encoder.
const subject = der.sequence(
  attribute(objectIds.country, "Earth"),
  attribute(objectIds.organization, "Crossplane"),
  attribute(objectIds.locality, "Earth"),
  attribute(objectIds.province, "Earth"),
  attribute(objectIds.commonName, "Crossplane"),
);

/** How an authority differs from Crossplane's. */
interface CrossplaneAuthorityOptions {
  readonly notBefore?: Date;
  readonly notAfter?: Date;
  /** False for a certificate that says it is not an authority. */
  readonly ca?: boolean;
  /** False for a certificate whose key usage does not include signing certificates. */
  readonly maySign?: boolean;
}

/** What a leaf is for, and how it differs from Crossplane's. */
export interface CrossplaneLeafOptions {
  readonly dnsNames?: readonly string[];
  readonly ipAddresses?: readonly string[];
  /** None for a certificate without extended key usage. */
  readonly usages: readonly extensions.CertificateUsage[];
  readonly notBefore?: Date;
  readonly notAfter?: Date;
}

/** An authority as Crossplane makes it. */
export function createCrossplaneAuthority(options: CrossplaneAuthorityOptions = {}): KeyPair {
  const { privateKey, publicKey } = generateKeys("rsa-2048");
  const { ca = true, maySign = true } = options;
  const altName = extensions.subjectAltName(["crossplane-root-ca"], []);
  return pkcs1(
    seal(privateKey, privateKey, {
      ...shared(options),
      publicKey,
      extensions: [
        extensions.keyUsage(maySign ? ["keyCertSign", "crlSign"] : ["digitalSignature"]),
        ca ? extensions.unlimitedAuthorityConstraints() : extensions.endEntityConstraints(),
        extensions.subjectKeyIdentifier(publicKey),
        ...(altName ? [altName] : []),
      ],
    }),
  );
}

/** A leaf as Crossplane makes it. The authority's own certificate is not looked at: any key signs. */
export function issueAsCrossplane(authority: KeyPair, options: CrossplaneLeafOptions): KeyPair {
  const { privateKey, publicKey } = generateKeys("rsa-2048");
  const altName = extensions.subjectAltName(options.dnsNames ?? [], options.ipAddresses ?? []);
  return pkcs1(
    seal(privateKey, createPrivateKey(authority.keyPem), {
      ...shared(options),
      publicKey,
      extensions: [
        extensions.keyUsage(["digitalSignature", "keyEncipherment", "dataEncipherment"]),
        ...(options.usages.length === 0 ? [] : [extensions.extendedKeyUsage(options.usages)]),
        extensions.endEntityConstraints(),
        ...(altName ? [altName] : []),
      ],
    }),
  );
}

function shared({ notBefore, notAfter }: { readonly notBefore?: Date; readonly notAfter?: Date }): {
  readonly serial: Uint8Array;
  readonly issuer: Uint8Array;
  readonly subject: Uint8Array;
  readonly notBefore: Date;
  readonly notAfter: Date;
} {
  const from = notBefore ?? new Date(Date.now() - 1000);
  return {
    serial,
    issuer: subject,
    subject,
    notBefore: from,
    notAfter: notAfter ?? new Date(from.getTime() + 10 * yearMs),
  };
}

function pkcs1({ certPem, keyPem }: KeyPair): KeyPair {
  return { certPem, keyPem: createPrivateKey(keyPem).export({ type: "pkcs1", format: "pem" }).toString() };
}
