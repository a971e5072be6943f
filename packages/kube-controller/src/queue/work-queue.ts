// SPDX-License-Identifier: Apache-2.0
import type { Clock } from "@purlin/base";
import { keyText, type ObjectKey } from "@purlin/kube-objects/object";

/** An item taken from the queue. */
export interface QueuedItem {
  readonly key: ObjectKey;
  readonly text: string;
  /** When it became ready. */
  readonly since: number;
}

/** What happens in a queue, for its metrics. */
export interface QueueObserver {
  added(): void;
  depth(ready: number): void;
}

// The heap is made again when it has mostly entries that no longer count.
const leftovers = 64;

const noObserver: QueueObserver = { added() {}, depth() {} };

/**
 * Keys to be worked on, first come first served. A key is there once however often it is added; one that is being worked
 * on waits until that is done; a delayed key waits for the earliest time it was given.
 */
export class WorkQueue {
  readonly #clock: Clock;
  readonly #onReady: () => void;
  readonly #observer: QueueObserver;
  readonly #ready = new Map<string, QueuedItem>();
  readonly #working = new Set<string>();
  // Added while being worked on: ready again as soon as that is done.
  readonly #again = new Map<string, QueuedItem>();
  readonly #delays = new DelayHeap<ObjectKey>();
  // What counts for a delayed key; other entries the heap has of it are leftovers.
  readonly #waiting = new Map<string, Due<ObjectKey>>();
  #timer: { readonly at: number; readonly cancel: () => void } | undefined;
  #closed = false;

  /** `onReady` is called when there may be something to take. */
  constructor(clock: Clock, onReady: () => void, observer: QueueObserver = noObserver) {
    this.#clock = clock;
    this.#onReady = onReady;
    this.#observer = observer;
  }

  /** How many keys are ready. */
  get size(): number {
    return this.#ready.size;
  }

  /** How many keys wait for their time. */
  get delayed(): number {
    return this.#waiting.size;
  }

  add(key: ObjectKey): void {
    if (this.#closed) return;
    const text = keyText(key);
    // Whatever it was to wait for is looked at now.
    this.#waiting.delete(text);
    if (this.#ready.has(text) || this.#again.has(text)) return;
    this.#observer.added();
    const item = { key, text, since: this.#clock.now() };
    if (this.#working.has(text)) this.#again.set(text, item);
    else this.#makeReady(item);
  }

  addAfter(key: ObjectKey, delayMs: number): void {
    if (this.#closed) return;
    if (delayMs <= 0) {
      this.add(key);
      return;
    }
    const text = keyText(key);
    if (this.#ready.has(text) || this.#again.has(text)) return;
    const at = this.#clock.now() + delayMs;
    const known = this.#waiting.get(text);
    if (known !== undefined && known.at <= at) return;
    const entry = { at, value: key };
    this.#waiting.set(text, entry);
    this.#delays.push(entry);
    if (this.#delays.size > 2 * this.#waiting.size + leftovers) this.#delays.reset(this.#waiting.values());
    this.#arm();
  }

  /** The next key; {@link WorkQueue.done} must follow. */
  take(): QueuedItem | undefined {
    const next = this.#ready.entries().next();
    if (next.done === true) return undefined;
    const [text, item] = next.value;
    this.#ready.delete(text);
    this.#working.add(text);
    this.#observer.depth(this.#ready.size);
    return item;
  }

  /** The work on a key has ended. */
  done({ text }: QueuedItem): void {
    this.#working.delete(text);
    const again = this.#again.get(text);
    if (again === undefined || this.#closed) return;
    this.#again.delete(text);
    this.#makeReady(again);
  }

  /** Forgets everything and takes nothing more. */
  close(): void {
    this.#closed = true;
    this.#ready.clear();
    this.#again.clear();
    this.#waiting.clear();
    this.#delays.reset();
    this.#timer?.cancel();
    this.#observer.depth(0);
  }

  #makeReady(item: QueuedItem): void {
    this.#ready.set(item.text, item);
    this.#observer.depth(this.#ready.size);
    this.#onReady();
  }

  #arm(): void {
    const next = this.#delays.peek();
    if (next === undefined || (this.#timer !== undefined && this.#timer.at <= next.at)) return;
    this.#timer?.cancel();
    const cancel = this.#clock.schedule(Math.max(0, next.at - this.#clock.now()), () => this.#wake());
    this.#timer = { at: next.at, cancel };
  }

  #wake(): void {
    this.#timer = undefined;
    const now = this.#clock.now();
    for (let next = this.#delays.peek(); next !== undefined && next.at <= now; next = this.#delays.peek()) {
      this.#delays.pop();
      // An earlier entry of the same key may have been taken, or the key may have been added without delay since.
      if (this.#waiting.get(keyText(next.value)) === next) this.add(next.value);
    }
    this.#arm();
  }
}

/** Something that is due at a time. */
interface Due<T> {
  readonly at: number;
  readonly value: T;
}

/** What is due when, earliest first. Adding and taking cost the logarithm of how much there is. */
export class DelayHeap<T> {
  readonly #entries: Due<T>[] = [];

  get size(): number {
    return this.#entries.length;
  }

  peek(): Due<T> | undefined {
    return this.#entries[0];
  }

  push(entry: Due<T>): void {
    const entries = this.#entries;
    let index = entries.push(entry) - 1;
    while (index > 0) {
      const parent = (index - 1) >> 1;
      if (this.#at(parent) <= entry.at) break;
      this.#swap(index, parent);
      index = parent;
    }
  }

  pop(): Due<T> | undefined {
    const entries = this.#entries;
    const first = entries[0];
    const last = entries.pop();
    if (first === undefined || last === undefined || entries.length === 0) return first;
    entries[0] = last;
    this.#sink();
    return first;
  }

  /** Holds these and nothing else. */
  reset(entries: Iterable<Due<T>> = []): void {
    this.#entries.length = 0;
    for (const entry of entries) this.push(entry);
  }

  #sink(): void {
    let index = 0;
    for (;;) {
      const left = 2 * index + 1;
      const smaller = this.#at(left + 1) < this.#at(left) ? left + 1 : left;
      if (this.#at(smaller) >= this.#at(index)) return;
      this.#swap(index, smaller);
      index = smaller;
    }
  }

  /** Beyond the end everything is due never. */
  #at(index: number): number {
    return this.#entries[index]?.at ?? Number.POSITIVE_INFINITY;
  }

  #swap(a: number, b: number): void {
    const [one, other] = [this.#entries[a], this.#entries[b]];
    if (one === undefined || other === undefined) return;
    this.#entries[a] = other;
    this.#entries[b] = one;
  }
}

/** How long a key waits after failures in a row: `baseMs`, then twice that each time, at most `maxMs`. */
export interface Backoff {
  readonly baseMs: number;
  readonly maxMs: number;
}

/** How many retries of all keys together may start, so that many failing objects do not keep a server busy. */
export interface RetryRate {
  readonly perSecond: number;
  readonly burst: number;
}

/** The delays of keys that have to be tried again. Remembers only those. */
export interface RetryDelays {
  /** The delay before the next try, counting one more failure. A conflict waits a fraction: reads catch up in no time. */
  next(key: string, why: "failure" | "conflict"): number;
  /** How many failures in a row a key has had. */
  failures(key: string): number;
  /** The key is fine again. */
  forget(key: string): void;
}

// A conflict means that our copy was a few milliseconds old.
const conflictFraction = 1 / 50;

/** Makes the delays of one queue. */
export function createRetryDelays(clock: Clock, { baseMs, maxMs }: Backoff, rate?: RetryRate): RetryDelays {
  const failures = new Map<string, number>();
  const bucketDelay = rate === undefined ? () => 0 : tokenBucket(clock, rate);
  return {
    next(key, why) {
      const before = failures.get(key) ?? 0;
      failures.set(key, before + 1);
      const base = why === "conflict" ? baseMs * conflictFraction : baseMs;
      // 2^52 times anything is past every maximum; more would be Infinity, then NaN for a base of 0.
      const delay = Math.min(base * 2 ** Math.min(before, 52), maxMs);
      return Math.max(delay, bucketDelay());
    },
    failures: (key) => failures.get(key) ?? 0,
    forget: (key) => void failures.delete(key),
  };
}

/** Says how long to wait for the next token, and takes it. */
function tokenBucket(clock: Clock, { perSecond, burst }: RetryRate): () => number {
  let tokens = burst;
  let filledAt = clock.now();
  return () => {
    const now = clock.now();
    tokens = Math.min(burst, tokens + (Math.max(0, now - filledAt) / 1000) * perSecond);
    filledAt = now;
    tokens -= 1;
    return tokens >= 0 ? 0 : (-tokens / perSecond) * 1000;
  };
}
