// SPDX-License-Identifier: Apache-2.0
import type { ChildProcess } from "node:child_process";
import { connect, Socket } from "node:net";

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

/** A message of a connector that also listens. */
interface InwardMessage {
  readonly ready?: boolean;
  readonly problem?: string;
  readonly accepted?: boolean;
}

/** Each connection takes two file descriptors of this process, which must not run out: clients of an API server need a few. */
const maxInward = 500;

/**
 * Forwards the connections that a connector accepts in its network to an address of this machine; those beyond a number are closed at once.
 * Resolves when the connector listens.
 */
export function forwardInward(
  child: ChildProcess,
  to: { readonly host: string; readonly port: number },
  most: number = maxInward,
): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  let open = 0;
  const admit = (inside: Socket): void => {
    if (open >= most) return void inside.destroy();
    open++;
    inside.once("close", () => {
      open--;
    });
    forward(inside, connect({ ...to, noDelay: true }));
  };
  child.on("message", ({ ready, problem = "", accepted }: InwardMessage, handle: unknown) => {
    if (ready === true) resolve();
    if (ready === false) reject(new Error(`cannot listen in the private network: ${problem}`));
    if (accepted === true && handle instanceof Socket) admit(handle);
  });
  child.once("exit", () => reject(new Error("the private network ended before it was ready")));
  return promise;
}

/** Connects two sockets. Closes both when either closes, so that the client sees the same as on a direct connection. */
export function forward(outside: Socket, inside: Socket): void {
  const end = (): void => {
    outside.destroy();
    inside.destroy();
  };
  for (const socket of [outside, inside]) socket.on("error", end).on("close", end);
  if (outside.destroyed) end();
  outside.pipe(inside);
  inside.pipe(outside);
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
