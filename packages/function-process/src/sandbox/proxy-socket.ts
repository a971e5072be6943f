// SPDX-License-Identifier: Apache-2.0
import { createServer, type Socket } from "node:net";
import { forward, type PrivateNetwork } from "./private-network.ts";

/** A Unix socket that forwards connections into the network of a sandboxed function. */
interface ProxySocket {
  /** Forwards new connections to this network. */
  attach(to: PrivateNetwork): void;
  /** Accepts no more connections. */
  close(): void;
}

/** The attached network of each path. */
const networks = new Map<string, PrivateNetwork>();

/** A direct connection to the network attached to a path; undefined when none is attached in this process. */
export function openBehind(path: string): Promise<Socket> | undefined {
  return networks.get(path)?.open();
}

/** Listens at a path that no other process uses. */
export async function openProxySocket(path: string): Promise<ProxySocket> {
  const server = createServer({ noDelay: true }, (outside) => admit(outside, networks.get(path)));
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject).listen(path, resolve);
  });
  return {
    attach: (to) => void networks.set(path, to),
    close() {
      networks.delete(path);
      server.close();
    },
  };
}

/** Opens the inner connection with the client's first bytes: clients that connect directly only check whether the path accepts connections. */
function admit(outside: Socket, network: PrivateNetwork | undefined): void {
  outside.on("error", () => {});
  if (network === undefined) return void outside.destroy();
  outside.once("readable", () => {
    if (outside.readableLength === 0) return void outside.destroy();
    network.open().then(
      (inside) => forward(outside, inside),
      () => outside.destroy(),
    );
  });
}
