// SPDX-License-Identifier: Apache-2.0
import type { X509Certificate } from "node:crypto";
import { checkServerIdentity, type TLSSocket } from "node:tls";
import type { CertificateUsage } from "../extensions.ts";

/** Who must be at the other end of a connection. */
interface ExpectedPeer {
  /** What the peer's certificate must be good for: "server" when this end is the client. */
  readonly usage: CertificateUsage;
  /** The authorities that this end of the connection trusts. */
  readonly authorities: readonly X509Certificate[];
  /** The host name or IP address that a server's certificate must carry; required for usage "server". */
  readonly serverName?: string | undefined;
  /** The common name that the certificate must carry as well; any unless given. */
  readonly commonName?: string | undefined;
}

/** A peer's certificate was refused. `code` is OpenSSL's or Node's name of the reason. */
export class PeerCertificateError extends Error {
  readonly code: string;

  constructor(code: string, message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = "PeerCertificateError";
    this.code = code;
  }
}

const usageOids: Readonly<Record<CertificateUsage, string>> = {
  server: "1.3.6.1.5.5.7.3.1",
  client: "1.3.6.1.5.5.7.3.2",
};

/**
 * Checks the peer of a connection whose handshake is complete and was made with `rejectUnauthorized: false`. Returns why the
 * peer is not trusted, or undefined when it is. The caller must not read or write application data before, and must destroy
 * the socket of a peer that is not trusted.
 *
 * Accepts what OpenSSL accepts, and leaves that have the same subject as the authority that signed them and carry no key
 * identifiers: OpenSSL takes these for self-signed and does not look for the authority. Crossplane issues such certificates,
 * and Go accepts them. Their signature, validity, usage and names are checked here instead.
 */
export function verifyPeer(socket: TLSSocket, expected: ExpectedPeer): PeerCertificateError | undefined {
  const leaf = socket.getPeerX509Certificate();
  // Checked first: depending on its version, Node calls a resumed TLS 1.3 session without a certificate authorized.
  if (leaf === undefined)
    return new PeerCertificateError("NO_CERTIFICATE", `the ${expected.usage} sent no certificate`);
  if (!socket.authorized) {
    // The type says Error, the value is a code.
    const code = String(socket.authorizationError);
    const error = code === "DEPTH_ZERO_SELF_SIGNED_CERT" ? verifyChain(leaf, expected) : openSslError(code);
    if (error !== undefined) return error;
  }
  const error = expected.usage === "server" ? verifyName(leaf, expected.serverName ?? "") : undefined;
  return error ?? verifyCommonName(leaf, expected.commonName);
}

/** OpenSSL's own texts of the usual errors: Node keeps only the code of an error that it does not act on itself. */
const openSslTexts: Readonly<Record<string, string>> = {
  CERT_HAS_EXPIRED: "certificate has expired",
  CERT_NOT_YET_VALID: "certificate is not yet valid",
  INVALID_PURPOSE: "unsuitable certificate purpose",
  SELF_SIGNED_CERT_IN_CHAIN: "self-signed certificate in certificate chain",
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: "unable to get local issuer certificate",
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: "unable to verify the first certificate",
};

function openSslError(code: string): PeerCertificateError {
  return new PeerCertificateError(code, openSslTexts[code] ?? code.toLowerCase().replaceAll("_", " "));
}

function verifyChain(leaf: X509Certificate, { authorities, usage }: ExpectedPeer): PeerCertificateError | undefined {
  const issuer = authorities.find(
    (authority) => authority.ca && leaf.checkIssued(authority) && isSignedBy(leaf, authority),
  );
  if (issuer === undefined) {
    const message = "self-signed certificate, or signed by an authority that is not trusted";
    return new PeerCertificateError("DEPTH_ZERO_SELF_SIGNED_CERT", message);
  }
  // Node calls the extended key usage "keyUsage".
  if (!(leaf.keyUsage ?? []).includes(usageOids[usage])) {
    return new PeerCertificateError("INVALID_PURPOSE", `the certificate is not valid for use as a ${usage}`);
  }
  return verifyTime(leaf, "certificate") ?? verifyTime(issuer, "certificate of the authority");
}

function isSignedBy(leaf: X509Certificate, authority: X509Certificate): boolean {
  try {
    return leaf.verify(authority.publicKey);
  } catch {
    // A key of another kind than the signature.
    return false;
  }
}

function verifyTime({ validFrom, validTo }: X509Certificate, what: string): PeerCertificateError | undefined {
  const now = Date.now();
  // Not validFromDate and validToDate: the SDK also runs on releases of Node that lack them.
  if (!(now >= Date.parse(validFrom))) {
    return new PeerCertificateError("CERT_NOT_YET_VALID", `the ${what} is not valid before ${validFrom}`);
  }
  if (!(now <= Date.parse(validTo))) {
    return new PeerCertificateError("CERT_HAS_EXPIRED", `the ${what} expired on ${validTo}`);
  }
  return undefined;
}

function verifyCommonName(leaf: X509Certificate, expected: string | undefined): PeerCertificateError | undefined {
  const { CN: name } = leaf.toLegacyObject().subject;
  if (expected === undefined || name === expected) return undefined;
  const message = `the certificate is for ${JSON.stringify(name)}, not for ${JSON.stringify(expected)}`;
  return new PeerCertificateError("ERR_TLS_CERT_COMMON_NAME_INVALID", message);
}

function verifyName(leaf: X509Certificate, serverName: string): PeerCertificateError | undefined {
  const error = checkServerIdentity(serverName, leaf.toLegacyObject());
  return error && new PeerCertificateError("ERR_TLS_CERT_ALTNAME_INVALID", error.message, { cause: error });
}
