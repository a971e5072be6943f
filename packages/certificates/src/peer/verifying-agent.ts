// SPDX-License-Identifier: Apache-2.0
import { Agent, type AgentOptions, type RequestOptions } from "node:https";
import type { Duplex } from "node:stream";
import { TLSSocket } from "node:tls";
import { parseCertificates } from "./tls-identity.ts";
import { verifyPeer } from "./verify-peer.ts";

/** The options of a request as Node hands them to its agent, and the function that takes the connection. */
type Connection = Parameters<Agent["createConnection"]>;

/** A request that is given up does not end a handshake: its connection is not the request's yet. */
const handshakeMs = 30_000;

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
    const request = options as RequestOptions;
    if (request.rejectUnauthorized === false || callback === undefined)
      return super.createConnection(options, callback);
    const socket = super.createConnection({
      ...options,
      // verifyPeer decides, names included.
      ...{ rejectUnauthorized: false, checkServerIdentity: () => undefined },
    } as Connection[0]);
    if (!(socket instanceof TLSSocket)) throw new Error("the connection of an HTTPS request is not a TLS socket");
    const failed = (error: Error): void => callback(error, socket);
    const late = setTimeout(() => socket.destroy(new Error("TLS handshake timeout")), handshakeMs).unref();
    socket.once("error", failed).once("close", () => clearTimeout(late));
    socket.once("secureConnect", () => {
      clearTimeout(late);
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
