// SPDX-License-Identifier: Apache-2.0
import { type AddressInfo, connect, createServer, type Socket } from "node:net";

/** A proxy to a server whose connections a test can cut. */
export interface CuttingProxy extends AsyncDisposable {
  /** `127.0.0.1:<port>` */
  readonly address: string;
  /** Bytes that went each way, in all. */
  readonly sent: { up: number; down: number };
  /** How often the line broke. */
  readonly cuts: number;
  /** The line breaks after so many bytes in a direction, so often; then it holds. */
  cut(direction: "up" | "down", afterBytes: number, times: number): void;
}

interface Plan {
  readonly direction: "up" | "down";
  readonly afterBytes: number;
  left: number;
}

/** Puts a line in front of a server on loopback. Each connection counts its bytes by itself. */
export async function startCuttingProxy(target: string): Promise<CuttingProxy> {
  const [host = "", port = ""] = target.split(":");
  const sent = { up: 0, down: 0 };
  const sockets = new Set<Socket>();
  let plan: Plan | undefined;
  let cuts = 0;

  function join(client: Socket): void {
    const server = connect(Number(port), host);
    const passed = { up: 0, down: 0 };
    const end = (): void => {
      client.destroy();
      server.destroy();
    };
    const pass = (direction: "up" | "down", from: Socket, to: Socket): void => {
      from.on("data", (bytes: Buffer) => {
        const room =
          plan?.direction === direction && plan.left > 0 ? plan.afterBytes - passed[direction] : bytes.length;
        const part = bytes.subarray(0, Math.max(0, room));
        passed[direction] += part.length;
        sent[direction] += part.length;
        if (part.length === bytes.length) return void to.write(part);
        if (plan !== undefined) plan.left--;
        cuts++;
        // What got this far arrives: the line breaks behind it.
        to.write(part, end);
      });
      from
        .on("error", end)
        .on("end", () => to.end())
        .on("close", () => sockets.delete(from));
      sockets.add(from);
    };
    pass("up", client, server);
    pass("down", server, client);
  }

  const listener = createServer(join);
  await new Promise<void>((resolve) => listener.listen(0, "127.0.0.1", resolve));
  return {
    address: `127.0.0.1:${(listener.address() as AddressInfo).port}`,
    sent,
    get cuts() {
      return cuts;
    },
    cut(direction, afterBytes, times) {
      plan = { direction, afterBytes, left: times };
    },
    async [Symbol.asyncDispose]() {
      const closed = new Promise<void>((resolve) => listener.close(() => resolve()));
      for (const socket of sockets) socket.destroy();
      await closed;
    },
  };
}
