// SPDX-License-Identifier: Apache-2.0
import type { ClientRequest } from "node:http";

/** How long a request may stand still. */
export interface RequestLimits {
  /** Until there is a connection, with TLS where that is spoken. */
  readonly connectTimeoutMs: number;
  /** Between one byte and the next, once there is one. */
  readonly idleTimeoutMs: number;
}

/** Ends a request that stands still, with what it waited for in the error. Whoever wraps that knows the host. */
export function limitRequest(outgoing: ClientRequest, { connectTimeoutMs, idleTimeoutMs }: RequestLimits): void {
  let isTaken = false;
  let isConnected = false;
  const connecting = setTimeout(() => {
    const seconds = `${connectTimeoutMs / 1000} s`;
    const why = isTaken ? `it takes the connection, and does no TLS in ${seconds}` : `no connection in ${seconds}`;
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
    if (isConnected) outgoing.destroy(timeout(`it answers nothing for ${idleTimeoutMs / 1000} s`));
  });
}

/** Broken off in the middle, a transfer is continued like one whose line broke. */
function timeout(message: string): Error {
  return Object.assign(new Error(message), { code: "ETIMEDOUT" });
}

/** Whether a request ended because nothing moved. */
export function isTimeout(error: unknown): boolean {
  return error instanceof Error && (error as NodeJS.ErrnoException).code === "ETIMEDOUT";
}
