// SPDX-License-Identifier: Apache-2.0
// Waits until namespaces of two clusters are in the same state. All of them are read at once: reading each by itself would keep the clusters busy.
import assert from "node:assert/strict";
import { setTimeout as delay } from "node:timers/promises";
import { type Snapshot, snapshots } from "./snapshot.ts";
import type { TwoClusters } from "./two-clusters.ts";

/** Compares namespaces of two clusters. */
export interface Comparison {
  /** Resolves when both clusters are in the same state twice in a row; rejects with the difference if that takes too long. */
  untilEqual(namespace: string): Promise<void>;
}

interface Waiting {
  readonly namespace: string;
  readonly deadline: number;
  readonly done: PromiseWithResolvers<void>;
  last: string | undefined;
}

const patienceMs = 90_000;
const pollMs = 500;

/** Makes a comparison, which reads the clusters while something waits for them. */
export function compareClusters({ real, simulated }: TwoClusters): Comparison {
  const waiting = new Set<Waiting>();
  let isReading = false;
  const read = async (): Promise<void> => {
    isReading = true;
    while (waiting.size > 0) {
      await delay(pollMs);
      const asked = [...waiting];
      const [expected, actual] = await Promise.all([snapshots(real), snapshots(simulated)]);
      for (const one of asked) if (isSettled(one, expected, actual)) waiting.delete(one);
    }
    isReading = false;
  };
  return {
    untilEqual(namespace) {
      const done = Promise.withResolvers<void>();
      waiting.add({ namespace, deadline: Date.now() + patienceMs, done, last: undefined });
      if (!isReading) void read();
      return done.promise;
    },
  };
}

type Snapshots = ReadonlyMap<string, Snapshot>;

function isSettled(one: Waiting, expected: Snapshots, actual: Snapshots): boolean {
  const [left, right] = [expected, actual].map((all) => all.get(one.namespace) ?? []) as [Snapshot, Snapshot];
  const text = left.join("\n");
  const isSame = text === right.join("\n");
  const isDone = isSame && text === one.last;
  one.last = isSame ? text : undefined;
  if (isDone) one.done.resolve();
  else if (Date.now() > one.deadline) one.done.reject(differenceOf(right, left));
  else return false;
  return true;
}

function differenceOf(actual: Snapshot, expected: Snapshot): unknown {
  try {
    assert.deepEqual(actual, expected);
    return new Error("the states became equal too late");
  } catch (error) {
    return error;
  }
}
