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
export { certificatesProblem } from "./x509/issued-certificates.ts";
export { keyPairProblem } from "./x509/key-pair.ts";
export { signingRequestOrganizations, signingRequestProblem } from "./x509/signing-request.ts";
