// SPDX-License-Identifier: Apache-2.0
import { type ClientHttp2Session, connect } from "node:http2";
import { connect as connectSocket, isIP, type LookupFunction } from "node:net";
import { resolve } from "node:path";
import type { Log } from "@purlin/base";
import { dialTls, type TlsIdentity } from "@purlin/certificates/peer";
import { type NameResolver, type TlsSource, tlsFromDirectory } from "@purlin/function-runner";
import type { Io } from "../io.ts";
import { type CommandInput, textOption } from "../options/command-spec.ts";
import { textOf, UserError } from "../user-error.ts";

/** Where a function listens. */
export type Target =
  | { readonly kind: "tcp"; readonly text: string; readonly host: string; readonly port: number }
  | { readonly kind: "unix"; readonly text: string; readonly path: string; readonly port: 0 };

/** Reads `--target`: `host:port`, `[IPv6]:port`, `:port` for this machine, or `unix:path`. */
export function parseTarget(text: string): Target {
  if (text.startsWith("unix:") && text.length > "unix:".length) {
    return { kind: "unix", text, path: text.slice("unix:".length), port: 0 };
  }
  const match = /^(?:dns:\/\/\/)?(?:\[([0-9a-f:.]+)\]|([^[\]:/\s]*)):(\d{1,5})$/i.exec(text);
  const port = Number(match?.[3]);
  if (match === null || port < 1 || port > 65_535) {
    throw new UserError(`--target: expected host:port, such as localhost:9443, or unix:path, not "${text}"`, {
      exitCode: 2,
    });
  }
  const host = match[1] ?? (match[2] || "localhost");
  return { kind: "tcp", text: `${host.includes(":") ? `[${host}]` : host}:${port}`, host, port };
}

/** How to knock on a target's door. */
interface ProbeOptions {
  /** Undefined for plaintext. */
  readonly tls: { readonly identity: TlsIdentity; readonly directory: string } | undefined;
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
  /** What to do about it, where the flags of `purlin function call` are not the ones to give. */
  readonly advice?: ProbeAdvice | undefined;
  /** The system's, unless given. */
  readonly names?: NameResolver | undefined;
}

/** What to do when a function cannot be called. */
export interface ProbeAdvice {
  readonly connectionRefused: string;
  readonly noHost: string;
  /** It was called in plaintext and serves TLS. */
  readonly servesTls: string;
  /** It was called with TLS and serves plaintext. */
  readonly servesPlaintext: string;
}

const callAdvice: ProbeAdvice = {
  connectionRefused: 'check the port, or start the function with "purlin function run"',
  noHost: "check the name",
  servesTls: "use --tls-certs-dir DIR instead of --insecure",
  servesPlaintext: "use --insecure instead of --tls-certs-dir",
};

/** The advice for functions under development. */
export const developmentAdvice: ProbeAdvice = {
  connectionRefused: 'check the port, or start the function with "purlin function run"',
  noHost: "check the name",
  servesTls: "start it with --insecure: development functions are called in plaintext",
  servesPlaintext: "",
};

/**
 * Connects once and hangs up, so that a wrong address or certificate is reported at once. The runner itself waits for a
 * function to come up, as a control plane should; a person at a terminal should not have to.
 */
export async function probeTarget(target: Target, options: ProbeOptions): Promise<void> {
  options.signal.throwIfAborted();
  const done = Promise.withResolvers<string | undefined>();
  const close = open(target, options, done.resolve);
  const timer = setTimeout(() => done.resolve(silent), options.timeoutMs);
  const abort = (): void => done.reject(options.signal.reason);
  options.signal.addEventListener("abort", abort);
  try {
    const problem = await done.promise;
    if (problem !== undefined) throw new UserError(`cannot call ${target.text}: ${problem}`);
  } finally {
    clearTimeout(timer);
    options.signal.removeEventListener("abort", abort);
    close();
  }
}

/** Gets what is wrong with a target; undefined when nothing is. */
type Report = (problem: string | undefined) => void;

/** Starts an HTTP/2 session. Returns what ends it. */
function open(target: Target, options: ProbeOptions, report: Report): () => void {
  const { tls, names } = options;
  const host = target.kind === "unix" ? "localhost" : target.host;
  const lookup = names === undefined ? {} : { lookup: lookupIn(names) };
  const via = names?.via?.(host, target.port) ?? { host, port: target.port };
  const to = target.kind === "unix" ? { path: target.path } : { ...via, ...lookup };
  const fail = (error: NodeJS.ErrnoException): void => report(explain(error, target, options));
  const watch = (session: ClientHttp2Session): void => {
    // An HTTP/2 server sends its settings first, after it has accepted our certificate.
    session.once("remoteSettings", () => report(undefined));
    session.on("error", fail).once("close", () => report(hungUp(options)));
  };
  if (tls === undefined) {
    const socket = connectSocket(to);
    watch(connect("http://localhost", { createConnection: () => socket }));
    return () => socket.destroy();
  }
  const { socket, verified } = dialTls({ identity: tls.identity, serverName: host, to });
  verified.then((socket) => watch(connect("https://localhost", { createConnection: () => socket })), fail);
  return () => socket.destroy();
}

function lookupIn(names: NameResolver): LookupFunction {
  return (host, { all }, callback) => {
    names.resolve(host).then(
      (found) => {
        const addresses = found.map((address) => ({ address, family: isIP(address) }));
        const [first] = addresses;
        if (first === undefined) callback(Object.assign(new Error(`no address of ${host}`), { code: "ENOTFOUND" }), "");
        else if (all === true) callback(null, addresses);
        else callback(null, first.address, first.family);
      },
      (error: unknown) => callback(Object.assign(new Error(textOf(error)), { code: "ENOTFOUND" }), ""),
    );
  };
}

const silent = "it accepts connections but does not speak gRPC: check the port";

function hungUp({ tls, advice = callAdvice }: ProbeOptions): string {
  return tls === undefined
    ? `it closed the plaintext connection: if the function serves TLS, ${advice.servesTls}`
    : `it rejected the client certificate: ${tls.directory}/tls.crt must be valid and signed by the authority the function trusts`;
}

function explain(error: NodeJS.ErrnoException, target: Target, options: ProbeOptions): string {
  const { code = "" } = error;
  const { advice = callAdvice } = options;
  switch (code) {
    case "ECONNREFUSED":
    case "ENOENT":
      return `connection refused: ${advice.connectionRefused}`;
    case "ENOTFOUND":
    case "EAI_AGAIN":
      return `host "${target.kind === "tcp" ? target.host : ""}" not found: ${advice.noHost}`;
    case "ECONNRESET":
    case "EPIPE":
      return hungUp(options);
    case "ERR_HTTP2_ERROR":
      return silent;
    default:
      return options.tls === undefined ? textOf(error) : explainTls(error, options);
  }
}

function explainTls(error: NodeJS.ErrnoException, options: ProbeOptions): string {
  const { code = "" } = error;
  const { advice = callAdvice, tls } = options;
  switch (code) {
    case "ERR_SSL_WRONG_VERSION_NUMBER":
    case "ERR_SSL_PACKET_LENGTH_TOO_LONG":
      return `it does not speak TLS: if the function serves plaintext, ${advice.servesPlaintext}`;
    case "ERR_TLS_CERT_ALTNAME_INVALID":
      return `its certificate is not valid for this host (${textOf(error)}): call it by a name in the certificate`;
    case "CERT_HAS_EXPIRED":
    case "CERT_NOT_YET_VALID":
      return `its certificate has expired or is not valid yet (${textOf(error)}): renew the function's tls.crt`;
    default:
      if (code.includes("ALERT")) return hungUp(options);
      return `its certificate is not signed by ${tls?.directory}/ca.crt (${textOf(error)}): use the authority that signed it`;
  }
}

/** Our side of mutual TLS with functions, from a folder. */
export interface ClientCertificates {
  /** As it was named, for messages. */
  readonly directory: string;
  readonly security: TlsSource;
}

/**
 * Reads what `--tls-client-certs-dir`, or else `$TLS_CLIENT_CERTS_DIR`, names; undefined where nothing is named. Throws a
 * UserError when the folder is of no use.
 */
export function readClientCertificates(input: CommandInput, io: Io, log?: Log): ClientCertificates | undefined {
  const directory = textOption(input, "tlsClientCertsDir") ?? io.env["TLS_CLIENT_CERTS_DIR"];
  if (!directory) return undefined;
  try {
    return { directory, security: tlsFromDirectory(resolve(io.cwd, directory), log) };
  } catch (error) {
    throw new UserError(`--tls-client-certs-dir ${directory}: ${textOf(error)}`, { cause: error });
  }
}
