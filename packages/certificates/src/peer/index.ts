// SPDX-License-Identifier: Apache-2.0
// Whom to trust at the other end of a TLS connection. The function SDK is published with this entry.
export { type Dialing, type DialOptions, dialTls } from "./dial-tls.ts";
export { createTlsIdentity, parseCertificates, type TlsFiles, type TlsIdentity } from "./tls-identity.ts";
export { type ExpectedPeer, PeerCertificateError, verifyPeer } from "./verify-peer.ts";
