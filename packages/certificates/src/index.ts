// SPDX-License-Identifier: Apache-2.0
export { createAuthority, issueCertificate, renewAuthority } from "./certificate.ts";
export type { CertificateUsage } from "./extensions.ts";
export type { KeyPair } from "./key-pair.ts";
export { readValidity, remainingLifetimeMs, shouldRenew } from "./validity.ts";
