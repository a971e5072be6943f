// SPDX-License-Identifier: Apache-2.0
import { once } from "node:events";
import { lstat, rm } from "node:fs/promises";
import { connect, createServer, type ListenOptions, type Server, type Socket } from "node:net";
import { errorText, FunctionError } from "../errors/function-error.ts";

/** Where a server listens. */
export interface BoundAddress {
  /** `host:port`, or the path of a socket. */
  readonly address: string;
  /** 0 for a socket path. */
  readonly port: number;
}

/** Reads `host:port`, `[v6]:port` or `:port`. Without a host: all interfaces, IPv6 and IPv4. */
export function parseTcpAddress(address: string): ListenOptions {
  const match = /^(?:\[([^\]]+)\]|([^:[\]]*)):(\d{1,5})$/.exec(address);
  const port = Number(match?.[3]);
  if (match === null || port > 65_535) {
    const expected = "host:port, [IPv6]:port or :port";
    throw new FunctionError("INVALID_OPTION", `cannot listen on ${JSON.stringify(address)}: expected ${expected}`);
  }
  const host = match[1] ?? match[2];
  return host === undefined || host === "" ? { port } : { port, host };
}

/** Starts listening. Throws LISTEN_FAILED, naming the address. */
export async function listen(server: Server, network: "tcp" | "unix", address: string): Promise<BoundAddress> {
  const options = network === "unix" ? { path: address } : parseTcpAddress(address);
  try {
    await listenOnce(server, options);
  } catch (error) {
    if (network !== "unix" || !(await isAbandoned(address, error))) throw failed(address, error);
    await rm(address);
    await listenOnce(server, options);
  }
  const bound = server.address();
  if (bound === null || typeof bound === "string") return { address, port: 0 };
  const host = bound.family === "IPv6" ? `[${bound.address}]` : bound.address;
  return { address: `${host}:${bound.port}`, port: bound.port };
}

async function listenOnce(server: Server, options: ListenOptions): Promise<void> {
  server.listen(options);
  await once(server, "listening");
}

/** True for a stale socket, whose server exited without removing it. Other files are never removed. */
async function isAbandoned(path: string, error: unknown): Promise<boolean> {
  if ((error as NodeJS.ErrnoException).code !== "EADDRINUSE" || !(await lstat(path)).isSocket()) return false;
  const socket = connect({ path });
  try {
    await once(socket, "connect");
    return false;
  } catch (refusal) {
    return (refusal as NodeJS.ErrnoException).code === "ECONNREFUSED";
  } finally {
    socket.destroy();
  }
}

function failed(address: string, error: unknown): FunctionError {
  return new FunctionError("LISTEN_FAILED", `cannot listen on ${address}: ${errorText(error)}`, { cause: error });
}

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
