// SPDX-License-Identifier: Apache-2.0
// Whom to trust at the other end of a TLS connection. The function SDK is published with this entry.
export { dialTls } from "./dial-tls.ts";
export { createTlsIdentity, parseCertificates, type TlsIdentity } from "./tls-identity.ts";
export { verifyPeer } from "./verify-peer.ts";
export { VerifyingAgent } from "./verifying-agent.ts";
