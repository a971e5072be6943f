// SPDX-License-Identifier: Apache-2.0
// Real cells, and what runs in them.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { text } from "node:stream/consumers";
import { test } from "node:test";
import { findSandbox } from "../sandbox/find-sandbox.ts";
import { privateNetworkOf } from "../sandbox/private-network.ts";
import { shellCommand } from "../sandbox/sandbox-arguments.ts";
import { isAlive, until } from "../testing/process-alive.ts";
import { processesBelow } from "../testing/process-tree.ts";
import { type NetworkCell, openCell } from "./network-cell.ts";

/** A cell, where this machine can have one. */
async function open(skip: (why: string) => void): Promise<NetworkCell | undefined> {
  const support = await findSandbox();
  if (support.isSupported) return openCell(support);
  assert.equal(process.env["REQUIRE_SANDBOX"], undefined, support.reason);
  skip(`${support.reason}: apt-get install bubblewrap`);
  return undefined;
}

test("sockets can be asked for before anything runs; then what runs is reached, and ends the cell", async (t) => {
  const cell = await open((why) => t.skip(why));
  if (cell === undefined) return;
  const network = privateNetworkOf(cell.process.child);
  await assert.rejects(network.open(), /ECONNREFUSED/, "nobody listens yet");
  const listens = "require('node:net').createServer((s) => s.end('hello', () => process.exit(5))).listen(9443)";
  cell.start({ words: [process.execPath, "-e", `${listens}.on('listening', () => console.log('up'))`], inputs: [] });
  for await (const line of cell.process.child.stdout ?? []) if (String(line).includes("up")) break;
  assert.equal(await text(await network.open()), "hello");
  assert.equal(await cell.process.ended, "exit code 5");
});

test("what runs in a cell gets its words as they are, and nothing of the way they came", async (t) => {
  const cell = await open((why) => t.skip(why));
  if (cell === undefined) return;
  const words = ["", "a b", "it's", '"$HOME" `id` \\', "two\nlines\n", "Á\u0081ü€😀", "-n", "*"];
  const code =
    "for fd in 3 4 5 6 7 8 9; do [ -e /proc/self/fd/$fd ] && printf 'open %s' $fd; done; printf '%s\\0' \"$@\"";
  cell.start({ words: ["/bin/sh", "-c", code, "sh", ...words], inputs: [] });
  const [said] = await Promise.all([text(cell.process.child.stdout as never), cell.process.ended]);
  assert.deepEqual(said.split("\0"), [...words, ""]);
});

test("a cell that is told nothing runs nothing, and ends when it is killed", async (t) => {
  const cell = await open((why) => t.skip(why));
  if (cell === undefined) return;
  cell.process.kill();
  assert.equal(await cell.process.ended, "SIGKILL");
  cell.start({ words: ["true"], inputs: [] });
});

test("a cell that waits ends when the process that opened it is killed, with everything in it", async (t) => {
  const support = await findSandbox();
  if (!support.isSupported) {
    assert.equal(process.env["REQUIRE_SANDBOX"], undefined, support.reason);
    return t.skip(`${support.reason}: apt-get install bubblewrap`);
  }
  const importing = (file: string): string => `await import(${JSON.stringify(new URL(file, import.meta.url).href)})`;
  const code = `
    const { openCell } = ${importing("./network-cell.ts")};
    const { privateNetworkOf } = ${importing("../sandbox/private-network.ts")};
    const { child } = openCell(${JSON.stringify(support)}).process;
    await privateNetworkOf(child).open().catch(() => {});
    console.log(child.pid);`;
  const parent = spawn(process.execPath, ["--input-type=module", "-e", code], { stdio: ["ignore", "pipe", "inherit"] });
  const [pid] = (await once(parent.stdout.setEncoding("utf8"), "data")) as [string];
  const all = [Number(pid), ...processesBelow(Number(pid))];
  assert.ok(all.length > 3, "its connector is there");
  parent.kill("SIGKILL");
  await until(() => !all.some(isAlive));
});

test("what has left the process group of a cell ends with it, however the cell ends", async (t) => {
  for (const how of ["kill", "stop"] as const) {
    const cell = await open((why) => t.skip(why));
    if (cell === undefined) return;
    // As a sandbox does that is just being made: it has left, and its parent's end means nothing to it yet.
    cell.start({ words: ["/bin/sh", "-c", "setsid /bin/sh -c 'echo up; exec sleep 1000' & wait"], inputs: [] });
    for await (const line of cell.process.child.stdout ?? []) if (String(line).includes("up")) break;
    const all = processesBelow(cell.process.child.pid ?? 0);
    assert.ok(all.length > 4, "it is among them");
    await (how === "kill" ? cell.process.kill() : cell.process.stop(60_000));
    await cell.process.ended;
    await until(() => !all.some(isAlive));
  }
});

test("words with null bytes are refused: a shell would drop them", () => {
  assert.throws(() => shellCommand({ words: ["a", "b\0c"], inputs: [] }), /null bytes/);
});
