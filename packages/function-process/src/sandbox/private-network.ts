// SPDX-License-Identifier: Apache-2.0
import type { ChildProcess } from "node:child_process";
import { Socket } from "node:net";

/** Opens sockets in the network of a sandboxed function. */
export interface PrivateNetwork {
  /** A socket that is connected with the function. Rejects when it does not listen. */
  open(): Promise<Socket>;
}

/** How long to wait for the connector's response. */
const timeoutMs = 10_000;

interface Answer {
  readonly opened?: number;
  readonly failed?: number;
  readonly code?: string;
}

/** The network of a child whose connector has the other end of its channel. */
export function privateNetworkOf(child: ChildProcess): PrivateNetwork {
  const asked = new Map<number, { resolve: (socket: Socket) => void; reject: (error: Error) => void }>();
  let last = 0;
  const refuse = (id: number, why: string): void => {
    asked.get(id)?.reject(new Error(`cannot connect in the sandbox network: ${why}`));
    asked.delete(id);
  };
  child.on("message", ({ opened, failed, code = "" }: Answer, handle: unknown) => {
    if (failed !== undefined) return refuse(failed, code);
    if (opened === undefined || !(handle instanceof Socket)) return;
    const waiting = asked.get(opened);
    asked.delete(opened);
    // The request timed out.
    if (waiting === undefined) handle.destroy();
    else waiting.resolve(handle);
  });
  child.once("exit", () => {
    for (const id of asked.keys()) refuse(id, "it exited");
  });
  return {
    open() {
      const id = ++last;
      const { promise, resolve, reject } = Promise.withResolvers<Socket>();
      asked.set(id, { resolve, reject });
      const limit = setTimeout(() => refuse(id, `no response from its network for ${timeoutMs / 1000}s`), timeoutMs);
      child.send({ open: id }, (error) => {
        if (error !== null) refuse(id, error.message);
      });
      return promise.finally(() => clearTimeout(limit));
    },
  };
}
