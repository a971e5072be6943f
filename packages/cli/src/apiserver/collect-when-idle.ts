// SPDX-License-Identifier: Apache-2.0
import { performance } from "node:perf_hooks";
import { getHeapStatistics, setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";

/** What decides, injectable for tests. */
interface IdleSense {
  /** The part of the time since it was asked last in which the process was busy, from 0 to 1. */
  readonly busyPart: () => number;
  /** Bytes the heap holds, garbage included. */
  readonly heapBytes: () => number;
  readonly collect: () => void;
}

const lookEveryMs = 2_000;
const mostBusy = 0.02;
/** Less garbage than this is not worth a pause. */
const leastGrowthBytes = 16 * 1024 * 1024;
/**
 * A collected heap is small, and V8 collects it over and over until it has found its size again: more work than the collection itself.
 * A server with a little work every minute and pauses in between would pay for that every minute.
 */
const restMs = 5 * 60_000;

/**
 * Gives memory back after a burst of work. V8 collects when it needs room; a server that has become idle never does, and so keeps what
 * the burst left behind for as long as it runs. Returns the way to stop it.
 */
export function collectWhenIdle(sense: IdleSense = processSense()): () => void {
  let settled = sense.heapBytes();
  let looksToRest = 0;
  const timer = setInterval(() => {
    looksToRest -= 1;
    const isIdle = sense.busyPart() < mostBusy;
    settled = Math.min(settled, sense.heapBytes());
    if (!isIdle || looksToRest > 0 || sense.heapBytes() - settled < leastGrowthBytes) return;
    sense.collect();
    settled = sense.heapBytes();
    looksToRest = restMs / lookEveryMs;
  }, lookEveryMs).unref();
  return () => clearInterval(timer);
}

function processSense(): IdleSense {
  let last = performance.eventLoopUtilization();
  return {
    busyPart: () => {
      const now = performance.eventLoopUtilization();
      const { utilization } = performance.eventLoopUtilization(now, last);
      last = now;
      return utilization;
    },
    heapBytes: () => getHeapStatistics().total_heap_size,
    collect: collector(),
  };
}

function collector(): () => void {
  setFlagsFromString("--expose-gc");
  const collect = runInNewContext("gc") as (options: object) => void;
  // V8 rejects compiled code that was kept under other flags: the next start would compile everything again.
  setFlagsFromString("--no-expose-gc");
  // The last resort is the one that gives pages back to the system; a plain collection keeps them for the next burst.
  return () => collect({ type: "major", execution: "sync", flavor: "last-resort" });
}
