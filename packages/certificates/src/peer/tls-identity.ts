// SPDX-License-Identifier: Apache-2.0
import { X509Certificate } from "node:crypto";
import { createSecureContext, type SecureContext, type SecureVersion } from "node:tls";

/** One end of a mutual TLS connection: what it shows, and whom it trusts. */
export interface TlsIdentity {
  readonly context: SecureContext;
  /** The authorities that the context trusts. */
  readonly authorities: readonly X509Certificate[];
}

/** PEM files of an identity. */
interface TlsFiles {
  readonly ca: string | Uint8Array;
  readonly cert: string | Uint8Array;
  readonly key: string | Uint8Array;
  /** Default TLSv1.2. */
  readonly minVersion?: SecureVersion | undefined;
}

/** Reads an identity. Throws when `ca` has no certificate, or `cert` and `key` do not belong together. */
export function createTlsIdentity({ ca, cert, key, minVersion = "TLSv1.2" }: TlsFiles): TlsIdentity {
  const authorities = parseCertificates(ca);
  const [certPem, keyPem, caPem] = [cert, key, ca].map(textOf);
  return { authorities, context: createSecureContext({ ca: caPem, cert: certPem, key: keyPem, minVersion }) };
}

const pemCertificate =
  /-----BEGIN (?:X509 |TRUSTED )?CERTIFICATE-----[^-]*-----END (?:X509 |TRUSTED )?CERTIFICATE-----/g;

/** All certificates of a PEM bundle. Throws if the bundle is empty or a certificate is malformed. */
export function parseCertificates(pem: string | Uint8Array): X509Certificate[] {
  const text = textOf(pem);
  const blocks = text.match(pemCertificate) ?? [text];
  return blocks.map((block) => new X509Certificate(block));
}

function textOf(pem: string | Uint8Array): string {
  return typeof pem === "string" ? pem : new TextDecoder().decode(pem);
}
