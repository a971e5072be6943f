// SPDX-License-Identifier: Apache-2.0
import type { Clock } from "@purlin/function-runner";
import { type CellMaker, type NetworkCell, openCell } from "./network-cell.ts";

/** Cells of functions that are about to be started: a cell takes longer to be ready than most functions do. */
export interface CellPool {
  /** Opens one for a function, unless one waits for it. It goes again when nobody comes for it soon. */
  warm(name: string, maker: CellMaker): void;
  /** The one that waits for a function, or a new one. */
  take(name: string, maker: CellMaker): NetworkCell;
  /** Ends those that wait; none waits any more. */
  close(): Promise<void>;
}

/** How long a cell waits for its function. */
const waitMs = 10_000;

interface Waiting {
  readonly cell: NetworkCell;
  readonly cancel: () => void;
}

/** Makes a pool. */
export function createCellPool(clock: Clock, open: (maker: CellMaker) => NetworkCell = openCell): CellPool {
  const waiting = new Map<string, Waiting>();
  let isClosed = false;
  const remove = (name: string): NetworkCell | undefined => {
    const found = waiting.get(name);
    waiting.delete(name);
    found?.cancel();
    return found?.cell;
  };
  return {
    warm(name, maker) {
      if (isClosed || waiting.has(name)) return;
      const cell = open(maker);
      const cancel = clock.schedule(waitMs, () => remove(name)?.process.kill());
      waiting.set(name, { cell, cancel });
      void cell.process.ended.then(() => waiting.get(name)?.cell === cell && remove(name));
    },
    take: (name, maker) => remove(name) ?? open(maker),
    async close() {
      isClosed = true;
      const cells = [...waiting.keys()].flatMap((name) => remove(name) ?? []);
      for (const { process } of cells) process.kill();
      await Promise.all(cells.map(({ process }) => process.ended));
    },
  };
}
