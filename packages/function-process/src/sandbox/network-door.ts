// SPDX-License-Identifier: Apache-2.0
import { createServer, type Socket } from "node:net";
import type { PrivateNetwork } from "./private-network.ts";

/** A Unix socket that leads into the network of a sandboxed function. */
interface NetworkDoor {
  /** Whoever connects from now on reaches this network. */
  lead(to: PrivateNetwork): void;
  /** Nobody comes in any more. */
  close(): void;
}

/** Who each path leads to. */
const networks = new Map<string, PrivateNetwork>();

/** A socket in the network behind a path, without the detour through it; undefined where nothing of ours is behind it. */
export function openBehind(path: string): Promise<Socket> | undefined {
  return networks.get(path)?.open();
}

/** Opens a door at a path that nobody else uses. */
export async function openDoor(path: string): Promise<NetworkDoor> {
  const server = createServer({ noDelay: true }, (outside) => admit(outside, networks.get(path)));
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject).listen(path, resolve);
  });
  return {
    lead: (to) => void networks.set(path, to),
    close() {
      networks.delete(path);
      server.close();
    },
  };
}

/** Nothing is opened for a caller before its first words: those who know a shorter way only look whether somebody is there. */
function admit(outside: Socket, network: PrivateNetwork | undefined): void {
  outside.on("error", () => {});
  if (network === undefined) return void outside.destroy();
  outside.once("readable", () => {
    if (outside.readableLength === 0) return void outside.destroy();
    network.open().then(
      (inside) => join(outside, inside),
      () => outside.destroy(),
    );
  });
}

/** What ends one side ends the other: the caller sees the same as if it had been connected directly. */
function join(outside: Socket, inside: Socket): void {
  const end = (): void => {
    outside.destroy();
    inside.destroy();
  };
  for (const socket of [outside, inside]) socket.on("error", end).on("close", end);
  if (outside.destroyed) end();
  outside.pipe(inside);
  inside.pipe(outside);
}
