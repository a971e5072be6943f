// SPDX-License-Identifier: Apache-2.0
// Whom to trust at the other end of a TLS connection. The function SDK is published with this entry.
export {
  createTlsIdentity,
  dialTls,
  parseCertificates,
  type TlsIdentity,
  type VerifiedRequestOptions,
  VerifyingAgent,
  verifyPeer,
} from "./verified-connection.ts";
