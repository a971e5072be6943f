// SPDX-License-Identifier: Apache-2.0
// Real sandbox networks, with processes in them.

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { text } from "node:stream/consumers";
import { type TestContext, test } from "node:test";
import { setImmediate } from "node:timers/promises";
import { type ManualClock, manualClock } from "@purlin/base/testing";
import { isAlive, sandboxOf, until } from "../../test/local-processes.ts";
import { processesBelow } from "../limits/marked-processes.ts";
import { privateNetworkOf } from "../sandbox/private-network.ts";
import { shellCommand } from "../sandbox/sandbox-arguments.ts";
import {
  createSandboxNetworkPool,
  type NetworkMaker,
  openSandboxNetwork,
  type SandboxNetwork,
  type SandboxNetworkPool,
} from "./sandbox-network.ts";

/** A sandbox network, where this machine supports it. */
async function open(t: TestContext): Promise<SandboxNetwork | undefined> {
  const support = await sandboxOf(t);
  return support && openSandboxNetwork(support);
}

test("a socket can be requested before the program listens; the end of the program ends the network", async (t) => {
  const sandboxed = await open(t);
  if (sandboxed === undefined) return;
  const network = privateNetworkOf(sandboxed.process.child);
  await assert.rejects(network.open(), /ECONNREFUSED/, "no process listens yet");
  const listens = "require('node:net').createServer((s) => s.end('hello', () => process.exit(5))).listen(9443)";
  sandboxed.start({
    words: [process.execPath, "-e", `${listens}.on('listening', () => console.log('up'))`],
    inputs: [],
  });
  for await (const line of sandboxed.process.child.stdout ?? []) if (String(line).includes("up")) break;
  assert.equal(await text(await network.open()), "hello");
  assert.equal(await sandboxed.process.ended, "exit code 5");
});

test("the program gets its arguments unchanged and no extra file descriptors", async (t) => {
  const sandboxed = await open(t);
  if (sandboxed === undefined) return;
  const words = ["", "a b", "it's", '"$HOME" `id` \\', "two\nlines\n", "Á\u0081ü€😀", "-n", "*"];
  const code =
    "for fd in 3 4 5 6 7 8 9; do [ -e /proc/self/fd/$fd ] && printf 'open %s' $fd; done; printf '%s\\0' \"$@\"";
  sandboxed.start({ words: ["/bin/sh", "-c", code, "sh", ...words], inputs: [] });
  const [said] = await Promise.all([text(sandboxed.process.child.stdout as never), sandboxed.process.ended]);
  assert.deepEqual(said.split("\0"), [...words, ""]);
});

test("a network without a command runs nothing and ends when it is killed", async (t) => {
  const sandboxed = await open(t);
  if (sandboxed === undefined) return;
  sandboxed.process.kill();
  assert.equal(await sandboxed.process.ended, "SIGKILL");
  sandboxed.start({ words: ["true"], inputs: [] });
});

test("a waiting network ends, with all its processes, when the process that opened it is killed", async (t) => {
  const support = await sandboxOf(t);
  if (support === undefined) return;
  const importing = (file: string): string => `await import(${JSON.stringify(new URL(file, import.meta.url).href)})`;
  const code = `
    const { openSandboxNetwork } = ${importing("./sandbox-network.ts")};
    const { privateNetworkOf } = ${importing("../sandbox/private-network.ts")};
    const { child } = openSandboxNetwork(${JSON.stringify(support)}).process;
    await privateNetworkOf(child).open().catch(() => {});
    console.log(child.pid);`;
  const parent = spawn(process.execPath, ["--input-type=module", "-e", code], { stdio: ["ignore", "pipe", "inherit"] });
  const [pid] = (await once(parent.stdout.setEncoding("utf8"), "data")) as [string];
  const all = [Number(pid), ...processesBelow(Number(pid))];
  assert.ok(all.length > 3, "its connector is there");
  parent.kill("SIGKILL");
  await until(() => !all.some(isAlive));
});

test("processes that left the process group end with the network, by kill or by stop", async (t) => {
  for (const how of ["kill", "stop"] as const) {
    const sandboxed = await open(t);
    if (sandboxed === undefined) return;
    // As a sandbox does that is just being made: it has left, and its parent's end means nothing to it yet.
    sandboxed.start({ words: ["/bin/sh", "-c", "setsid /bin/sh -c 'echo up; exec sleep 1000' & wait"], inputs: [] });
    for await (const line of sandboxed.process.child.stdout ?? []) if (String(line).includes("up")) break;
    const all = processesBelow(sandboxed.process.child.pid ?? 0);
    assert.ok(all.length > 4, "it is among them");
    await (how === "kill" ? sandboxed.process.kill() : sandboxed.process.stop(60_000));
    await sandboxed.process.ended;
    await until(() => !all.some(isAlive));
  }
});

test("words with null bytes are refused: a shell would drop them", () => {
  assert.throws(() => shellCommand({ words: ["a", "b\0c"], inputs: [] }), /null bytes/);
});

const bwrap = { program: "bwrap", canDisableUserns: true };

interface Scene {
  readonly clock: ManualClock;
  readonly pool: SandboxNetworkPool;
  /** What happened to networks, which are numbered. */
  readonly log: string[];
  /** Ends a network as if by itself. */
  end(number: number): Promise<void>;
}

function scene(): Scene {
  const clock = manualClock();
  const log: string[] = [];
  const ends: (() => void)[] = [];
  const open = (maker: NetworkMaker): SandboxNetwork => {
    const { promise, resolve } = Promise.withResolvers<string>();
    const number = ends.push(() => resolve("it ended"));
    log.push(`open ${number} with ${"program" in maker ? maker.program : maker.unshare}`);
    const kill = (): void => {
      log.push(`kill ${number}`);
      resolve("killed");
    };
    const process = { child: { number } as never, ended: promise, kill, stop: async () => {} };
    return { process, start() {} };
  };
  const end = async (number: number): Promise<void> => {
    ends[number - 1]?.();
    await setImmediate();
  };
  return { clock, pool: createSandboxNetworkPool(clock, open), log, end };
}

const numberOf = ({ process }: SandboxNetwork): unknown => (process.child as unknown as { number: number }).number;

test("a function gets the network that waits for it; later calls and other functions get a new one", () => {
  const { pool, log } = scene();
  pool.warm("a", bwrap);
  pool.warm("a", bwrap);
  assert.deepEqual(log, ["open 1 with bwrap"], "one is enough");
  assert.equal(numberOf(pool.take("b", bwrap)), 2);
  assert.equal(numberOf(pool.take("a", bwrap)), 1);
  assert.equal(numberOf(pool.take("a", bwrap)), 3);
});

test("a network that is not taken in time is closed; a taken one stays open", () => {
  const { clock, pool, log } = scene();
  pool.warm("a", bwrap);
  pool.warm("b", bwrap);
  clock.advance(9_999);
  pool.take("b", bwrap);
  assert.ok(!log.some((line) => line.startsWith("kill")));
  clock.advance(1);
  assert.deepEqual(log.slice(2), ["kill 1"]);
  assert.equal(numberOf(pool.take("a", bwrap)), 3);
});

test("a network whose process exited is not handed out", async () => {
  const { clock, pool, log, end } = scene();
  pool.warm("a", bwrap);
  await end(1);
  assert.equal(numberOf(pool.take("a", bwrap)), 2);
  clock.advance(10_000);
  assert.deepEqual(log, ["open 1 with bwrap", "open 2 with bwrap"]);
});

test("the end of a taken network does not affect the one opened since", async () => {
  const { pool, end } = scene();
  pool.warm("a", bwrap);
  pool.take("a", bwrap);
  pool.warm("a", bwrap);
  await end(1);
  assert.equal(numberOf(pool.take("a", bwrap)), 2);
});

test("close ends the waiting networks only and opens no more", async () => {
  const { pool, log } = scene();
  for (const name of ["a", "b", "c"]) pool.warm(name, bwrap);
  pool.take("b", bwrap);
  await pool.close();
  pool.warm("d", bwrap);
  assert.deepEqual(log.slice(3), ["kill 1", "kill 3"]);
});
