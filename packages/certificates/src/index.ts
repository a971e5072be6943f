// SPDX-License-Identifier: Apache-2.0
export {
  type AuthorityOptions,
  type CertificateOptions,
  createAuthority,
  issueCertificate,
  renewAuthority,
} from "./certificate.ts";
export type { CertificateUsage } from "./extensions.ts";
export type { KeyAlgorithm, KeyPair } from "./key-pair.ts";
export { readValidity, remainingLifetimeMs, shouldRenew, type Validity } from "./validity.ts";
