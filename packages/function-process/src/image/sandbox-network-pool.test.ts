// SPDX-License-Identifier: Apache-2.0

import assert from "node:assert/strict";
import { test } from "node:test";
import { setImmediate } from "node:timers/promises";
import { type ManualClock, manualClock } from "@purlin/base/testing";
import type { NetworkMaker, SandboxNetwork } from "./sandbox-network.ts";
import { createSandboxNetworkPool, type SandboxNetworkPool } from "./sandbox-network-pool.ts";

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
