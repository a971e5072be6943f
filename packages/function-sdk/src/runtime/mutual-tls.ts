// SPDX-License-Identifier: Apache-2.0

import type { Buffer } from "node:buffer";
import type { X509Certificate } from "node:crypto";
import { type FSWatcher, watch } from "node:fs";
import { readFile } from "node:fs/promises";
import type { Socket } from "node:net";
import { join } from "node:path";
import { createSecureContext, createServer, type SecureContextOptions, type Server, type TLSSocket } from "node:tls";
import { parseCertificates, verifyPeer } from "@purlin/certificates/peer";
import { errorText, FunctionError } from "../errors/function-error.ts";
import type { Logger } from "../logging/new-logger.ts";

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

  /** New connections use these certificates; connections that are open continue. */
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

/** The three files of a certificate directory. */
export interface Certificates {
  readonly cert: Buffer;
  readonly key: Buffer;
  /** Signs the certificates callers must show. */
  readonly ca: Buffer;
}

/** Reads tls.crt, tls.key and ca.crt. Throws INVALID_CERTIFICATES when one is missing or they do not fit together. */
export async function readCertificates(directory: string): Promise<Certificates> {
  // One after the other, so that the same file is named each time when several are missing.
  const cert = await readOne(directory, "tls.crt");
  const key = await readOne(directory, "tls.key");
  const ca = await readOne(directory, "ca.crt");
  // A context accepts a ca.crt without certificates, and then refuses every caller.
  check(() => parseCertificates(ca), `${join(directory, "ca.crt")} contains no PEM certificate`);
  check(() => createSecureContext({ cert, key }), `tls.crt and tls.key in ${directory} do not match`);
  return { cert, key, ca };
}

function check(use: () => unknown, problem: string): void {
  try {
    use();
  } catch (error) {
    throw new FunctionError("INVALID_CERTIFICATES", `${problem}: ${errorText(error)}`, { cause: error });
  }
}

async function readOne(directory: string, name: string): Promise<Buffer> {
  const path = join(directory, name);
  try {
    return await readFile(path);
  } catch (error) {
    throw new FunctionError("INVALID_CERTIFICATES", `cannot read ${path}: ${errorText(error)}`, { cause: error });
  }
}

/** True when both have the same content. */
function sameCertificates(a: Certificates, b: Certificates): boolean {
  return a.cert.equals(b.cert) && a.key.equals(b.key) && a.ca.equals(b.ca);
}

/** A certificate rotation writes three files; read them once writes have settled. */
const settleMs = 100;

/** Some file systems report no changes, and a directory may be replaced as a whole. */
const lookAnywayMs = 60_000;

/** What a certificate watch needs. */
interface CertificateWatchOptions {
  readonly directory: string;
  readonly current: Certificates;
  readonly onChange: (certificates: Certificates) => void;
  readonly log: Logger;
}

/** Watches a certificate directory until it is closed. */
export class CertificateWatch {
  readonly #options: CertificateWatchOptions;
  readonly #interval: NodeJS.Timeout;
  #current: Certificates;
  #watcher: FSWatcher | undefined;
  #settling: NodeJS.Timeout | undefined;
  #closed = false;

  constructor(options: CertificateWatchOptions) {
    this.#options = options;
    this.#current = options.current;
    this.#watcher = this.#watch();
    this.#interval = setInterval(() => this.#look(), lookAnywayMs).unref();
  }

  close(): void {
    this.#closed = true;
    this.#watcher?.close();
    clearInterval(this.#interval);
    clearTimeout(this.#settling);
  }

  #watch(): FSWatcher | undefined {
    try {
      const watcher = watch(this.#options.directory, { persistent: false }, () => this.#soon());
      // The directory went away; the interval finds the one that takes its place.
      watcher.on("error", () => watcher.close());
      return watcher;
    } catch (error) {
      this.#options.log.debug("cannot watch the certificate files, polling once a minute", { error });
      return undefined;
    }
  }

  #soon(): void {
    clearTimeout(this.#settling);
    this.#settling = setTimeout(() => this.#look(), settleMs).unref();
  }

  #look(): void {
    const { directory, log } = this.#options;
    readCertificates(directory).then(
      (found) => this.#take(found),
      (error: unknown) => {
        if (!this.#closed)
          log.error("cannot load the new certificates, keeping the old ones", { error: errorText(error) });
      },
    );
  }

  #take(found: Certificates): void {
    if (this.#closed || sameCertificates(found, this.#current)) return;
    this.#current = found;
    this.#options.onChange(found);
    this.#options.log.info("using new certificates", { directory: this.#options.directory });
  }
}
