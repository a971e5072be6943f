// SPDX-License-Identifier: Apache-2.0
// Hands connections to a Unix socket on to a port of the network it was started in: relay SOCKET PORT
// There are no types in here: Node is given the text as it is, and starts in half the time when it need not take them out.
import { connect, createServer } from "node:net";

const [path = "", port = ""] = process.argv.slice(-2);

// Calls in flight may finish: it ends when everything around it has.
for (const signal of ["SIGTERM", "SIGINT"]) process.on(signal, () => {});

const server = createServer({ noDelay: true }, (outside) => {
  const inside = connect({ host: "127.0.0.1", port: Number(port), noDelay: true });
  // What ends one side ends the other: the caller sees the same as if it had been connected directly.
  const end = () => [outside, inside].map((socket) => socket.destroy());
  for (const socket of [outside, inside]) socket.on("error", end).on("close", end);
  outside.pipe(inside);
  inside.pipe(outside);
});
server.listen(path);
