// SPDX-License-Identifier: Apache-2.0
import type { ClientRequest } from "node:http";

/** Timeouts of a request. */
export interface RequestLimits {
  /** Until the connection is established, including TLS. */
  readonly connectTimeoutMs: number;
  /** Between two bytes, once connected. */
  readonly idleTimeoutMs: number;
}

/** Aborts a stalled request. The error names what it waited for; the caller adds the host. */
export function limitRequest(outgoing: ClientRequest, { connectTimeoutMs, idleTimeoutMs }: RequestLimits): void {
  let isTaken = false;
  let isConnected = false;
  const connecting = setTimeout(() => {
    const seconds = `${connectTimeoutMs / 1000}s`;
    const why = isTaken ? `TLS handshake timed out after ${seconds}` : `connection timed out after ${seconds}`;
    outgoing.destroy(timeout(why));
  }, connectTimeoutMs);
  const connected = (): void => {
    isConnected = true;
    clearTimeout(connecting);
  };
  outgoing.once("close", () => clearTimeout(connecting));
  outgoing.once("socket", (socket) => {
    if (outgoing.reusedSocket) return connected();
    socket.once("connect", () => {
      isTaken = true;
    });
    socket.once(outgoing.protocol === "https:" ? "secureConnect" : "connect", connected);
  });
  // While it connects, this is the time after which an agent drops idle connections, which means nothing here.
  outgoing.setTimeout(idleTimeoutMs, () => {
    if (isConnected) outgoing.destroy(timeout(`no response for ${idleTimeoutMs / 1000}s`));
  });
}

/** With the code of a connection error, so that an interrupted transfer is continued. */
function timeout(message: string): Error {
  return Object.assign(new Error(message), { code: "ETIMEDOUT" });
}

/** Whether a request timed out. */
export function isTimeout(error: unknown): boolean {
  return error instanceof Error && (error as NodeJS.ErrnoException).code === "ETIMEDOUT";
}
