// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import { setImmediate } from "node:timers/promises";
import { createTestClock, type TestClock } from "../testing/test-clock.ts";
import { type CellPool, createCellPool } from "./cell-pool.ts";
import type { CellMaker, NetworkCell } from "./network-cell.ts";

const bwrap = { program: "bwrap", canDisableUserns: true };

interface Scene {
  readonly clock: TestClock;
  readonly pool: CellPool;
  /** What happened to cells, which are numbered. */
  readonly log: string[];
  /** Ends a cell as if by itself. */
  end(number: number): Promise<void>;
}

function scene(): Scene {
  const clock = createTestClock();
  const log: string[] = [];
  const ends: (() => void)[] = [];
  const open = (maker: CellMaker): NetworkCell => {
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
  return { clock, pool: createCellPool(clock, open), log, end };
}

const numberOf = ({ process }: NetworkCell): unknown => (process.child as unknown as { number: number }).number;

test("a function gets the cell that waits for it; the next time, and any other function, a new one", () => {
  const { pool, log } = scene();
  pool.warm("a", bwrap);
  pool.warm("a", bwrap);
  assert.deepEqual(log, ["open 1 with bwrap"], "one is enough");
  assert.equal(numberOf(pool.take("b", bwrap)), 2);
  assert.equal(numberOf(pool.take("a", bwrap)), 1);
  assert.equal(numberOf(pool.take("a", bwrap)), 3);
});

test("a cell for which nobody comes goes; one that was taken stays", () => {
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

test("a cell that ended by itself is given to nobody", async () => {
  const { clock, pool, log, end } = scene();
  pool.warm("a", bwrap);
  await end(1);
  assert.equal(numberOf(pool.take("a", bwrap)), 2);
  clock.advance(10_000);
  assert.deepEqual(log, ["open 1 with bwrap", "open 2 with bwrap"]);
});

test("the end of a cell that was taken does not touch the one that waits since", async () => {
  const { pool, end } = scene();
  pool.warm("a", bwrap);
  pool.take("a", bwrap);
  pool.warm("a", bwrap);
  await end(1);
  assert.equal(numberOf(pool.take("a", bwrap)), 2);
});

test("when it is closed, those that wait end, and no others; none is opened to wait", async () => {
  const { pool, log } = scene();
  for (const name of ["a", "b", "c"]) pool.warm(name, bwrap);
  pool.take("b", bwrap);
  await pool.close();
  pool.warm("d", bwrap);
  assert.deepEqual(log.slice(3), ["kill 1", "kill 3"]);
});
