// SPDX-License-Identifier: Apache-2.0
import { X509Certificate } from "node:crypto";
import { Agent, type AgentOptions, type RequestOptions } from "node:https";
import { isIP } from "node:net";
import type { Duplex } from "node:stream";
import {
  type ConnectionOptions,
  checkServerIdentity,
  connect,
  createSecureContext,
  type SecureContext,
  type SecureVersion,
  TLSSocket,
} from "node:tls";
import type { CertificateUsage } from "../extensions.ts";

/** The expected peer of a connection. */
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

/** The options of a request as Node hands them to its agent, and the function that takes the connection. */
type Connection = Parameters<Agent["createConnection"]>;

/** The longest handshake, as in Go. */
const handshakeMs = 10_000;

/** The options of a request through a {@link VerifyingAgent}. */
export interface VerifiedRequestOptions extends RequestOptions {
  /** Ends the handshake. Node hands `signal` to the request alone, which has no connection before the handshake is complete. */
  readonly handshakeSignal?: AbortSignal | undefined;
}

/**
 * Connections of HTTPS requests to servers that {@link verifyPeer} trusts: what Node's agent accepts, and certificates in Crossplane's form.
 * Nothing is sent to a server that is not trusted.
 */
export class VerifyingAgent extends Agent {
  constructor(options: AgentOptions = {}) {
    // A resumed session has no certificate to check.
    super({ ...options, maxCachedSessions: 0 });
  }

  override createConnection(...[options, callback]: Connection): Duplex | null | undefined {
    const request = options as VerifiedRequestOptions;
    if (request.rejectUnauthorized === false || callback === undefined)
      return super.createConnection(options, callback);
    const socket = super.createConnection({
      ...options,
      // verifyPeer decides, names included.
      ...{ rejectUnauthorized: false, checkServerIdentity: () => undefined },
    } as Connection[0]);
    if (!(socket instanceof TLSSocket)) throw new Error("the connection of an HTTPS request is not a TLS socket");
    const failed = (error: Error): void => callback(error, socket);
    const settled = endHandshake(socket, request.handshakeSignal);
    socket.once("error", failed).once("close", settled);
    socket.once("secureConnect", () => {
      settled();
      const error = verifyPeer(socket, {
        usage: "server",
        // Read only for a certificate that OpenSSL does not accept.
        authorities: socket.authorized || typeof request.ca !== "string" ? [] : parseCertificates(request.ca),
        serverName: request.servername || request.host || "localhost",
      });
      if (error !== undefined) {
        // The error of Node says which names the certificate has.
        socket.destroy(error.cause instanceof Error ? error.cause : error);
        return;
      }
      socket.off("error", failed);
      callback(null, socket);
    });
    return undefined;
  }
}

/** Destroys a socket whose handshake takes too long, or is given up, until the function that it returns is called. */
function endHandshake(socket: TLSSocket, signal: AbortSignal | undefined): () => void {
  const late = setTimeout(() => socket.destroy(new Error("net/http: TLS handshake timeout")), handshakeMs).unref();
  const giveUp = (): void => void socket.destroy(new Error("the request was aborted"));
  if (signal?.aborted) giveUp();
  signal?.addEventListener("abort", giveUp, { once: true });
  return () => {
    clearTimeout(late);
    signal?.removeEventListener("abort", giveUp);
  };
}

/** The address of a server, and its expected identity. */
interface DialOptions {
  readonly identity: TlsIdentity;
  /** The host name or IP address that the server's certificate must carry. */
  readonly serverName: string;
  /** The common name that the server's certificate must carry as well; any unless given. */
  readonly commonName?: string | undefined;
  /** Where to connect to: a host and port, a Unix socket, or an open socket. */
  readonly to: Pick<ConnectionOptions, "host" | "port" | "path" | "socket" | "lookup">;
}

/** A connection that is being made. */
interface Dialing {
  /** Destroy it to give up. */
  readonly socket: TLSSocket;
  /** The socket, once the handshake is complete and the server is trusted. Nothing was sent on it before. */
  readonly verified: Promise<TLSSocket>;
}

/** Connects with mutual TLS for HTTP/2. A server that is not trusted is disconnected before anything is sent. */
export function dialTls({ identity, serverName, commonName, to }: DialOptions): Dialing {
  const socket = connect({
    ...to,
    secureContext: identity.context,
    // An IP address is not a server name, so none is sent for one; the certificate is checked against it all the same.
    ...(isIP(serverName) === 0 ? { servername: serverName } : {}),
    ALPNProtocols: ["h2"],
    // verifyPeer decides, names included.
    rejectUnauthorized: false,
    checkServerIdentity: () => undefined,
  });
  const { promise: verified, resolve, reject } = Promise.withResolvers<TLSSocket>();
  const closed = (): Error => Object.assign(new Error("the connection was closed"), { code: "ECONNRESET" });
  socket.on("error", reject).once("close", () => reject(closed()));
  socket.once("secureConnect", () => {
    const error = verifyPeer(socket, { usage: "server", authorities: identity.authorities, serverName, commonName });
    if (error === undefined) resolve(socket);
    else socket.destroy(error);
  });
  return { socket, verified };
}
