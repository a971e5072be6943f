// SPDX-License-Identifier: Apache-2.0
import { createServer, type Server, type Socket } from "node:net";

/**
 * Accepts connections and knows the ones that are open, so that none outlives the server: grpc-js forgets its sessions
 * when channelz is off, and channelz costs every call.
 */
export class Connections {
  readonly server: Server;
  readonly #open = new Set<Socket>();

  constructor(onConnection: (socket: Socket) => void) {
    this.server = createServer({ noDelay: true }, (socket) => {
      this.#open.add(socket);
      socket.once("close", () => this.#open.delete(socket));
      onConnection(socket);
    });
  }

  /** How many connections are open. */
  get size(): number {
    return this.#open.size;
  }

  /** Accepts no more. Resolves when the last connection is closed. */
  close(): Promise<void> {
    return new Promise((resolve) => {
      this.server.close(() => resolve());
    });
  }

  /** Cuts what is still open. */
  destroy(): void {
    for (const socket of this.#open) socket.destroy();
  }
}
