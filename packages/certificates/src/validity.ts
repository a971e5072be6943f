// SPDX-License-Identifier: Apache-2.0
import { X509Certificate } from "node:crypto";

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
