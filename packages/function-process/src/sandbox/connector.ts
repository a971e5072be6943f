// SPDX-License-Identifier: Apache-2.0
// Connects to a port of the network it was started in and hands the sockets to its parent, on request: connector PORT
// Without type annotations: Node gets this text as it is and starts in half the time when it does not strip types.
import { connect } from "node:net";

const [port = ""] = process.argv.slice(-1);

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
