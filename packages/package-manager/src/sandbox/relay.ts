// SPDX-License-Identifier: Apache-2.0
// Runs a program in the network it was started in, and hands connections to a Unix socket on to a port of that network:
// relay SOCKET PORT COMMAND ARGS…
import { spawn } from "node:child_process";
import { connect, createServer, type Socket } from "node:net";

const [path = "", port = "", command = "", ...args] = process.argv.slice(2);

const child = spawn(command, args, { stdio: "inherit" });
child.once("error", (error) => {
  process.stderr.write(`${command} could not be started: ${error.message}\n`);
  process.exit(127);
});
child.once("exit", (code, signal) => process.exit(signal === null ? (code ?? 1) : 128 + 9));
for (const signal of ["SIGTERM", "SIGINT"] as const) process.on(signal, () => child.kill(signal));

const server = createServer({ noDelay: true }, (outside) => {
  const inside = connect({ host: "127.0.0.1", port: Number(port), noDelay: true });
  join(outside, inside);
  join(inside, outside);
  outside.pipe(inside);
  inside.pipe(outside);
});
server.listen(path);

/** What ends one side ends the other: the caller sees the same as if it had been connected directly. */
function join(one: Socket, other: Socket): void {
  one.on("error", () => other.destroy());
  one.on("close", () => other.destroy());
}
