// SPDX-License-Identifier: Apache-2.0

import { statSync } from "node:fs";
import type { Socket } from "node:net";
import { join } from "node:path";
import { createSecureContext, type TLSSocket } from "node:tls";
import { CallCredentials, ChannelCredentials, type experimental } from "@grpc/grpc-js";
import { type Clock, type Log, silentLog } from "@purlin/base";
import { createTlsIdentity, dialTls, parseCertificates, type TlsIdentity } from "@purlin/certificates/peer";
import { readRegularFileSync } from "@purlin/kube-objects/files";
import { type FunctionTarget, RunnerError, textOf } from "../function-runner.ts";
import { guardFrames } from "./frame-guard.ts";

/** A peer that accepts a connection and sends nothing for this long is unreachable. */
const silenceLimitMs = 20_000;

/** How to secure a channel's connections, and what to call when they open. */
interface ConnectionSecurity {
  /** Undefined for plaintext. */
  readonly tls: TlsSource | undefined;
  /** The name the server's certificate must carry. */
  readonly serverName: string;
  /** The common name it must carry as well; any unless given. */
  readonly commonName?: string | undefined;
  /** The Unix socket of the endpoint, if it is one. */
  readonly path?: string | undefined;
  readonly clock: Clock;
  /** A socket is open; nothing has been said on it yet. */
  readonly onOpen: (socket: Socket) => void;
  /** A connection is ready for calls. */
  readonly onConnect: () => void;
  /** A connection takes no more calls. Its socket closes later. */
  readonly onLost: () => void;
}

/**
 * Channel credentials that see every connection of a channel. gRPC's own fix the certificates when the channel is made,
 * and on current Node cannot connect to an IP address over TLS because they offer it as a server name.
 */
export class FunctionCredentials extends ChannelCredentials {
  readonly #security: ConnectionSecurity;

  constructor(security: ConnectionSecurity) {
    super();
    this.#security = security;
  }

  _isSecure(): boolean {
    return this.#security.tls !== undefined;
  }

  _equals(other: ChannelCredentials): boolean {
    return this === other;
  }

  _createSecureConnector(): experimental.SecureConnector {
    const security = this.#security;
    const callCredentials = CallCredentials.createEmpty();
    let destroyed = false;
    return {
      async connect(dialled) {
        const tcp = await shortest(dialled, security);
        security.onOpen(tcp);
        const socket = security.tls === undefined ? tcp : await handshake(tcp, security.tls, security);
        // gRPC may finish connecting for a channel that was closed in the meantime.
        if (destroyed) throw closeNow(socket);
        endWhenSilent(socket, security.clock);
        security.onConnect();
        // HTTP/2 cannot do this through the guard. The timer of a call's deadline keeps the process alive during the call.
        socket.unref();
        const guarded = guardFrames(socket, security.clock).once("close", security.onLost);
        // gRPC wants the type of a socket, and uses what every stream has.
        return { socket: guarded as Socket, secure: security.tls !== undefined };
      },
      waitForReady: () => Promise.resolve(),
      getCallCredentials: () => callCredentials,
      destroy() {
        destroyed = true;
      },
    };
  }
}

/** The socket that was dialled, or a more direct one in its place. */
async function shortest(dialled: Socket, { tls, path }: ConnectionSecurity): Promise<Socket> {
  const opening = path === undefined ? undefined : tls?.open?.(path);
  if (opening === undefined) return dialled;
  dialled.destroy();
  return opening;
}

function closeNow(socket: Socket): Error {
  socket.destroy();
  return new Error("the connection is no longer needed");
}

async function handshake(tcp: Socket, tls: TlsSource, security: ConnectionSecurity): Promise<TLSSocket> {
  const { serverName, commonName, clock } = security;
  const { socket, verified } = dialTls({ identity: tls.current(), serverName, commonName, to: { socket: tcp } });
  const cancelLimit = clock.schedule(silenceLimitMs, () => socket.destroy(new Error("no answer")));
  try {
    return await verified;
  } catch (error) {
    throw new Error(`TLS handshake failed: ${textOf(error)}`, { cause: error });
  } finally {
    cancelLimit();
  }
}

/** gRPC waits for a peer's first words without limit, and its channel would be stuck with it. */
function endWhenSilent(socket: Socket, clock: Clock): void {
  const cancel = clock.schedule(silenceLimitMs, () => {
    if (socket.bytesRead === 0) socket.destroy();
  });
  socket.once("close", cancel);
}

/** Where new connections get their certificates from. */
export interface TlsSource {
  /** What to use for a connection that is about to be made. */
  current(): TlsIdentity;
  /** The common name that the certificate of a function must carry, where each one has a certificate of its own; any unless given. */
  commonName?(target: Pick<FunctionTarget, "revisionName">): string | undefined;
  /** A socket to the process behind a Unix socket, connected more directly than through it; undefined where there is none. */
  open?(path: string): Promise<Socket> | undefined;
}

const files = ["ca.crt", "tls.crt", "tls.key"] as const;

/**
 * The client's side of mutual TLS from a directory: `ca.crt` is whom to trust, `tls.crt` and `tls.key` who we are.
 * Throws when a file is missing or unusable. The files are looked at again for every new connection, so rotated ones are
 * picked up; while new ones are half written, the last good ones stay in use.
 */
export function tlsFromDirectory(directory: string, log: Log = silentLog): TlsSource {
  let stamp = stampOf(directory);
  let identity = load(directory);
  return {
    current() {
      try {
        const seen = stampOf(directory);
        if (seen === stamp) return identity;
        identity = load(directory);
        stamp = seen;
      } catch (error) {
        log.info("cannot reload TLS certificates, using the last good ones", { directory, error: textOf(error) });
      }
      return identity;
    },
  };
}

/** Changes whenever a file is replaced or rewritten, also through the symbolic links of a mounted Secret. */
function stampOf(directory: string): string {
  const marks = files.map((file) => {
    const { ino, mtimeMs, size } = inspect({ directory, file }, (path) => statSync(path));
    return `${ino}:${mtimeMs}:${size}`;
  });
  return marks.join();
}

/** Bundles of every public certificate authority have less than 1 MiB. */
const maxPemBytes = 4 * 1024 * 1024;

function load(directory: string): TlsIdentity {
  const read = (file: (typeof files)[number]): Buffer =>
    inspect({ directory, file }, (path) => readRegularFileSync(path, { maxBytes: maxPemBytes }));
  const [ca, cert, key] = [read("ca.crt"), read("tls.crt"), read("tls.key")];
  for (const [file, pem] of [
    ["ca.crt", ca],
    ["tls.crt", cert],
  ] as const) {
    inspect({ directory, file, problem: "is not a PEM certificate" }, () => parseCertificates(pem));
  }
  const keyFile = { directory, file: "tls.key" };
  inspect({ ...keyFile, problem: "is not a PEM private key" }, () => createSecureContext({ key }));
  return inspect({ ...keyFile, problem: "does not belong to tls.crt" }, () => createTlsIdentity({ ca, cert, key }));
}

interface TlsFile {
  readonly directory: string;
  readonly file: string;
  /** What is wrong with the file when `read` throws. Default: it cannot be read. */
  readonly problem?: string;
}

function inspect<T>({ directory, file, problem }: TlsFile, read: (path: string) => T): T {
  const path = join(directory, file);
  try {
    return read(path);
  } catch (error) {
    const what = problem === undefined ? `cannot read TLS file "${path}"` : `TLS file "${path}" ${problem}`;
    const advice = `expected ${files.join(", ")} in PEM form in "${directory}"`;
    throw new RunnerError("TLS", `${what}: ${textOf(error)} (${advice})`, { cause: error });
  }
}
