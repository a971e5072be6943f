// SPDX-License-Identifier: Apache-2.0
import type { X509Certificate } from "node:crypto";
import type { Socket } from "node:net";
import { createServer, type SecureContextOptions, type Server, type TLSSocket } from "node:tls";
import { parseCertificates, verifyPeer } from "@purlin/certificates/peer";
import type { Logger } from "../logging/new-logger.ts";
import type { Certificates } from "./certificate-watch.ts";

/** What mutual TLS needs. */
interface MutualTlsOptions {
  /** Gets every connection whose peer is verified. */
  readonly serveHttp2: (socket: TLSSocket) => void;
  readonly log: Logger;
}

/**
 * The server's end of mutual TLS, with certificates that can be replaced. grpc-js leaves the verification of clients to
 * OpenSSL, which refuses the certificates that Crossplane makes; here verifyPeer decides.
 */
export class MutualTls {
  readonly #server: Server;
  readonly #options: MutualTlsOptions;
  #authorities: readonly X509Certificate[];

  constructor(certificates: Certificates, options: MutualTlsOptions) {
    this.#options = options;
    this.#authorities = parseCertificates(certificates.ca);
    const verified = { requestCert: true, rejectUnauthorized: false, ALPNProtocols: ["h2"] };
    this.#server = createServer({ ...contextOptions(certificates), ...verified }, (socket) => this.#verify(socket));
  }

  /** Starts the handshake on a new connection. */
  accept(socket: Socket): void {
    this.#server.emit("connection", socket);
  }

  /** New connections use these certificates; connections that are open go on. */
  replace(certificates: Certificates): void {
    this.#authorities = parseCertificates(certificates.ca);
    this.#server.setSecureContext(contextOptions(certificates));
  }

  /** Nothing is sent to a client, and nothing read from it, before this. */
  #verify(socket: TLSSocket): void {
    const { serveHttp2, log } = this.#options;
    socket.on("error", (error) => log.debug("TLS connection failed", { error: error.message }));
    const error = verifyPeer(socket, { usage: "client", authorities: this.#authorities });
    if (error === undefined) {
      serveHttp2(socket);
      return;
    }
    log.info("client certificate rejected", { client: socket.remoteAddress, error: error.message, code: error.code });
    socket.destroy();
  }
}

/** Everything a context needs: a new one inherits nothing from the one it replaces. */
function contextOptions({ cert, key, ca }: Certificates): SecureContextOptions {
  return { cert, key, ca, minVersion: "TLSv1.2" };
}
