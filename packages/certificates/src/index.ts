// SPDX-License-Identifier: Apache-2.0
export {
  createAuthority,
  issueCertificate,
  readValidity,
  remainingLifetimeMs,
  renewAuthority,
  shouldRenew,
} from "./certificate.ts";
export type { CertificateUsage } from "./extensions.ts";
export type { KeyPair } from "./issuer.ts";
