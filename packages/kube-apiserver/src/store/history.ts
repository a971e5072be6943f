// SPDX-License-Identifier: Apache-2.0
import type { Change } from "./store.ts";

/** How much of the past is kept for watchers that resume and lists that continue. */
export interface HistoryLimits {
  /** The newest changes are kept however old they are. Default 10,000. */
  readonly keepChanges: number;
  /** Younger changes are kept beyond that number. Default 5 minutes. */
  readonly keepMs: number;
  /** Never more changes than this. Default 100,000. */
  readonly maxChanges: number;
  /** Never more bytes of states that exist only in history. Default 32 MiB. */
  readonly maxBytes: number;
}

export const defaultHistory: HistoryLimits = {
  keepChanges: 10_000,
  keepMs: 300_000,
  maxChanges: 100_000,
  maxBytes: 32 * 1024 * 1024,
};

interface Remembered<T extends object> {
  readonly change: Change<T>;
  readonly at: number;
}

/** The latest changes, oldest first, within limits. */
export class History<T extends object> {
  readonly #limits: HistoryLimits;
  #items: Remembered<T>[] = [];
  // Index of the oldest item; what lies before it has been dropped and is cut off now and then.
  #start = 0;
  #bytes = 0;

  constructor(limits: HistoryLimits) {
    this.#limits = limits;
  }

  get size(): number {
    return this.#items.length - this.#start;
  }

  add(change: Change<T>, at: number): void {
    this.#items.push({ change, at });
    this.#bytes += retainedBytes(change);
  }

  find(revision: number): Change<T> | undefined {
    const change = this.#items[this.#firstAfter(revision - 1)]?.change;
    return change?.revision === revision ? change : undefined;
  }

  /** Changes after the revision, oldest first. Must not change while it is walked. */
  *after(revision: number): Generator<Change<T>> {
    for (let at = this.#firstAfter(revision); at < this.#items.length; at += 1) {
      yield (this.#items[at] as Remembered<T>).change;
    }
  }

  /** Drops and returns the oldest change if it is beyond the limits now, or not after the given revision. */
  dropOldest(now: number, upTo: number): Change<T> | undefined {
    const oldest = this.#items[this.#start];
    if (oldest === undefined || !(oldest.change.revision <= upTo || this.#isBeyondLimits(oldest.at, now))) {
      return undefined;
    }
    this.#start += 1;
    this.#bytes -= retainedBytes(oldest.change);
    if (this.#start > 1024 && this.#start > this.#items.length / 2) {
      this.#items = this.#items.slice(this.#start);
      this.#start = 0;
    }
    return oldest.change;
  }

  #isBeyondLimits(at: number, now: number): boolean {
    const { keepChanges, keepMs, maxChanges, maxBytes } = this.#limits;
    return this.size > maxChanges || this.#bytes > maxBytes || (this.size > keepChanges && now - at >= keepMs);
  }

  #firstAfter(revision: number): number {
    let low = this.#start;
    let high = this.#items.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((this.#items[middle] as Remembered<T>).change.revision <= revision) {
        low = middle + 1;
      } else {
        high = middle;
      }
    }
    return low;
  }
}

// The newest state of a key is in memory anyway; history alone holds on to the one before.
function retainedBytes(change: Change<object>): number {
  return change.previous?.bytes.length ?? 0;
}
