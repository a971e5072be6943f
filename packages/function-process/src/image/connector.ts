// SPDX-License-Identifier: Apache-2.0
// Connects to a port of the network it was started in and hands the sockets to its parent, on request: connector PORT[:INWARD…]
// With further ports it also listens there and hands accepted connections to its parent; only the first of them has to be free.
// Without type annotations: Node gets this text as it is and starts in half the time when it does not strip types.
import { connect, createServer } from "node:net";

const [ports = ""] = process.argv.slice(-1);
const [port = "", ...inward] = ports.split(":");

// It ends when its parent disconnects.
for (const signal of ["SIGTERM", "SIGINT"]) process.on(signal, () => {});
process.on("disconnect", () => process.exit(0));

process.on("message", (message) => {
  const { open } = Object(message);
  const socket = connect({ host: "127.0.0.1", port: Number(port), noDelay: true });
  // The parent reads the first bytes.
  socket.pause();
  const fail = ({ code = "" }) => process.send?.({ failed: open, code });
  socket.once("error", fail).once("connect", () => {
    socket.off("error", fail).on("error", () => {});
    process.send?.({ opened: open }, socket);
  });
});

for (const [at, one] of inward.entries()) {
  const server = createServer({ pauseOnConnect: true }, (socket) => {
    socket.on("error", () => {});
    process.send?.({ accepted: true }, socket);
  });
  // A port below 1024 needs a right that not every machine gives.
  server.once("error", ({ message }) => at === 0 && process.send?.({ ready: false, problem: message }));
  server.listen(Number(one), "127.0.0.1", () => at === 0 && process.send?.({ ready: true }));
}
