// SPDX-License-Identifier: Apache-2.0
// Waits until namespaces of two clusters are in the same state. All of them are read at once: reading each by itself would keep the clusters busy.
import assert from "node:assert/strict";
import { setTimeout as delay } from "node:timers/promises";
import { type Snapshot, snapshots } from "./snapshot.ts";
import type { TwoClusters } from "./two-clusters.ts";

/** Compares namespaces of two clusters. */
export interface Comparison {
  /** Resolves when both clusters are in the same state twice in a row; rejects with the difference when nothing changes. */
  untilEqual(namespace: string): Promise<void>;
}

interface Waiting {
  readonly namespace: string;
  readonly done: PromiseWithResolvers<void>;
  last: string | undefined;
}

// On a busy machine everything takes long, events most of all: they are written after everything else. So what counts is not how long a state
// takes, but that nothing on either cluster has changed for a while.
const patienceMs = 60_000;
const pollMs = 500;
/** Reading takes at most this part of the time: the clusters share the processor, and the embedded one the thread, with the comparison. */
const readingShare = 0.5;

/** Makes a comparison, which reads the clusters while something waits for them. */
export function compareClusters({ real, simulated }: TwoClusters): Comparison {
  const waiting = new Set<Waiting>();
  const changes = followChanges();
  let isReading = false;
  const read = async (): Promise<void> => {
    isReading = true;
    let tookMs = 0;
    while (waiting.size > 0) {
      await delay(Math.max(pollMs, tookMs * (1 / readingShare - 1)));
      const start = performance.now();
      const asked = [...waiting];
      const [expected, actual] = await Promise.all([snapshots(real), snapshots(simulated)]);
      const isQuiet = changes.quietMs([expected, actual]) > patienceMs;
      for (const one of asked) if (isSettled(one, { expected, actual, isQuiet })) waiting.delete(one);
      tookMs = performance.now() - start;
    }
    isReading = false;
  };
  return {
    untilEqual(namespace) {
      const done = Promise.withResolvers<void>();
      waiting.add({ namespace, done, last: undefined });
      changes.restart();
      if (!isReading) void read();
      return done.promise;
    },
  };
}

type Snapshots = ReadonlyMap<string, Snapshot>;

/** Measures for how long nothing has changed. */
function followChanges(): { quietMs(all: readonly Snapshots[]): number; restart(): void } {
  let last = "";
  let since = performance.now();
  return {
    quietMs: (all) => {
      const text = JSON.stringify(all.map((one) => [...one]));
      if (text !== last) since = performance.now();
      last = text;
      return performance.now() - since;
    },
    restart: () => {
      since = performance.now();
    },
  };
}

interface Read {
  readonly expected: Snapshots;
  readonly actual: Snapshots;
  /** Nothing changes. */
  readonly isQuiet: boolean;
}

function isSettled(one: Waiting, { expected, actual, isQuiet }: Read): boolean {
  const [left, right] = [expected, actual].map((all) => all.get(one.namespace) ?? []) as [Snapshot, Snapshot];
  const text = left.join("\n");
  const isSame = text === right.join("\n");
  const isDone = isSame && text === one.last;
  one.last = isSame ? text : undefined;
  if (isDone) one.done.resolve();
  else if (isQuiet && !isSame) one.done.reject(differenceOf(right, left));
  else return false;
  return true;
}

function differenceOf(actual: Snapshot, expected: Snapshot): unknown {
  try {
    assert.deepEqual(actual, expected);
    return undefined;
  } catch (error) {
    return error;
  }
}
