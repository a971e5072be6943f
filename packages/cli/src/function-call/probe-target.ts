// SPDX-License-Identifier: Apache-2.0
import { type ClientHttp2Session, connect } from "node:http2";
import { connect as connectSocket, isIP } from "node:net";
import type { SecureContext } from "node:tls";
import { textOf, UserError } from "../user-error.ts";
import type { Target } from "./parse-target.ts";

/** How to knock on a target's door. */
export interface ProbeOptions {
  /** Undefined for plaintext. */
  readonly tls: { readonly context: SecureContext; readonly directory: string } | undefined;
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
}

/**
 * Connects once and hangs up, so that a wrong address or certificate is told at once and in words. The runner itself waits
 * for a function to come up, as a control plane should; a person at a terminal should not have to.
 */
export async function probeTarget(target: Target, options: ProbeOptions): Promise<void> {
  options.signal.throwIfAborted();
  const session = open(target, options);
  const done = Promise.withResolvers<string | undefined>();
  // An HTTP/2 server sends its settings first, after it has accepted our certificate.
  session.once("remoteSettings", () => done.resolve(undefined));
  session.once("error", (error: NodeJS.ErrnoException) => done.resolve(explain(error, target, options)));
  session.once("close", () => done.resolve(hungUp(options.tls?.directory)));
  const timer = setTimeout(() => done.resolve(silent), options.timeoutMs);
  const abort = (): void => done.reject(options.signal.reason);
  options.signal.addEventListener("abort", abort);
  try {
    const problem = await done.promise;
    if (problem !== undefined) throw new UserError(`cannot call ${target.text}: ${problem}`);
  } finally {
    clearTimeout(timer);
    options.signal.removeEventListener("abort", abort);
    session.on("error", () => {}).destroy();
  }
}

function open(target: Target, { tls }: ProbeOptions): ClientHttp2Session {
  const host = target.kind === "unix" ? "localhost" : target.host;
  const url = `${tls === undefined ? "http" : "https"}://${isIP(host) === 6 ? `[${host}]` : host}:${target.port}`;
  const socket =
    target.kind === "unix" && tls === undefined ? { createConnection: () => connectSocket(target.path) } : {};
  const path = target.kind === "unix" && tls !== undefined ? { path: target.path } : {};
  // A server name must not be an address; an address is checked against the certificate all the same.
  const name = isIP(host) === 0 ? { servername: host } : {};
  const secure = tls === undefined ? {} : { secureContext: tls.context, ...name };
  return connect(url, { ...socket, ...path, ...secure });
}

const silent = "it accepts connections but does not speak gRPC: check the port";

function hungUp(directory: string | undefined): string {
  return directory === undefined
    ? "it hung up on a plaintext connection: if the function serves TLS, give --tls-certs-dir DIR instead of --insecure"
    : `it refused our certificate: ${directory}/tls.crt must be valid and signed by the authority the function trusts`;
}

function explain(error: NodeJS.ErrnoException, target: Target, options: ProbeOptions): string {
  const { code = "" } = error;
  switch (code) {
    case "ECONNREFUSED":
    case "ENOENT":
      return 'nothing listens there: check the port, or start the function with "purlin function run"';
    case "ENOTFOUND":
    case "EAI_AGAIN":
      return `there is no host "${target.kind === "tcp" ? target.host : ""}": check the name`;
    case "ECONNRESET":
    case "EPIPE":
      return hungUp(options.tls?.directory);
    case "ERR_HTTP2_ERROR":
      return silent;
    default:
      return options.tls === undefined ? textOf(error) : explainTls(error, options.tls.directory);
  }
}

function explainTls(error: NodeJS.ErrnoException, directory: string): string {
  const { code = "" } = error;
  switch (code) {
    case "ERR_SSL_WRONG_VERSION_NUMBER":
    case "ERR_SSL_PACKET_LENGTH_TOO_LONG":
      return "it does not speak TLS: if the function serves plaintext, give --insecure instead of --tls-certs-dir";
    case "ERR_TLS_CERT_ALTNAME_INVALID":
      return `its certificate is for another host (${textOf(error)}): call it by a name in the certificate`;
    case "CERT_HAS_EXPIRED":
    case "CERT_NOT_YET_VALID":
      return `its certificate is not valid today (${textOf(error)}): renew the function's tls.crt`;
    default:
      if (code.includes("ALERT")) return hungUp(directory);
      return `its certificate is not signed by ${directory}/ca.crt (${textOf(error)}): use the authority that signed it`;
  }
}
