// SPDX-License-Identifier: Apache-2.0

import type { Socket } from "node:net";
import type { TLSSocket } from "node:tls";
import { CallCredentials, ChannelCredentials, type experimental } from "@grpc/grpc-js";
import type { Clock } from "@purlin/base";
import { dialTls } from "@purlin/certificates/peer";
import { textOf } from "../runner-error.ts";
import type { TlsSource } from "./tls-directory.ts";

/** A peer that accepts a connection and then says nothing this long is not there. */
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
        return { socket, secure: security.tls !== undefined };
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
