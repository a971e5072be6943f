// SPDX-License-Identifier: Apache-2.0
import { isIP } from "node:net";
import { type ConnectionOptions, connect, type TLSSocket } from "node:tls";
import type { TlsIdentity } from "./tls-identity.ts";
import { verifyPeer } from "./verify-peer.ts";

/** How to reach a server, and who it must be. */
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
