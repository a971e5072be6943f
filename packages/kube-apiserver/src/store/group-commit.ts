// SPDX-License-Identifier: Apache-2.0

/** How to make items durable together. */
interface GroupCommitOptions<I> {
  /** Makes all items durable, in order, or throws and has made none. */
  readonly commit: (items: readonly I[]) => void;
  /** None of the items will be committed: the commit of an item before them, or their own, failed. */
  readonly abandon: (items: readonly I[], error: unknown) => void;
  readonly sizeOf: (item: I) => number;
  /** Milliseconds; a monotonic clock unless given. */
  readonly now?: () => number;
}

// One commit must not hold the event loop for long: these take a few milliseconds.
const maxItems = 512;
const maxBytes = 4 * 1024 * 1024;

interface Waiting<I> {
  /** Undefined for a caller that only waits for earlier commits. */
  readonly item: I | undefined;
  readonly resolve: () => void;
  readonly reject: (error: unknown) => void;
}

/**
 * Collects what arrives during one turn of the event loop and commits it together. While a commit blocks, the next requests
 * queue up in their sockets and form the next group, so groups grow with the load. Work that is split over several turns adds to a group
 * in each of them: a group waits while it grows, for no longer than the last commit took. A single write does not wait.
 */
export class GroupCommit<I> {
  readonly #options: GroupCommitOptions<I>;
  readonly #now: () => number;
  #queue: Waiting<I>[] = [];
  #scheduled = false;
  /** When the next group began, and how many it had when it was last looked at. */
  #began = 0;
  #seen = 0;
  /** How long the last commit took. */
  #took = 0;

  constructor(options: GroupCommitOptions<I>) {
    this.#options = options;
    this.#now = options.now ?? (() => performance.now());
  }

  /** Settles when the item is durable. */
  add(item: I): Promise<void> {
    return this.#enqueue(item);
  }

  /** Settles when every item added so far is durable. */
  settled(): Promise<void> {
    return this.#queue.length === 0 ? Promise.resolve() : this.#enqueue(undefined);
  }

  /** Commits everything now. */
  flush(): void {
    while (this.#queue.length > 0) {
      this.#commitGroup();
    }
  }

  #enqueue(item: I | undefined): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#queue.push({ item, resolve, reject });
      this.#schedule();
    });
  }

  #schedule(): void {
    if (!this.#scheduled) {
      this.#scheduled = true;
      this.#began = this.#now();
      this.#seen = 0;
      setImmediate(this.#look);
    }
  }

  readonly #look = (): void => {
    const count = this.#queue.length;
    const isGrowing = count > 1 && count > this.#seen && count < maxItems;
    if (isGrowing && this.#now() - this.#began < this.#took) {
      this.#seen = count;
      setImmediate(this.#look);
      return;
    }
    this.#scheduled = false;
    this.#commitGroup();
  };

  #commitGroup(): void {
    const group = this.#takeGroup();
    const started = this.#now();
    try {
      this.#options.commit(itemsOf(group));
      this.#took = this.#now() - started;
    } catch (error) {
      // What was accepted later was decided on a state that will never be: it fails too.
      const rest = [...group, ...this.#queue];
      this.#queue = [];
      this.#options.abandon(itemsOf(rest), error);
      for (const { reject } of rest) {
        reject(error);
      }
      return;
    }
    for (const { resolve } of group) {
      resolve();
    }
    if (this.#queue.length > 0) this.#schedule();
  }

  #takeGroup(): Waiting<I>[] {
    let bytes = 0;
    let count = 0;
    for (const { item } of this.#queue) {
      bytes += item === undefined ? 0 : this.#options.sizeOf(item);
      if (count > 0 && (count >= maxItems || bytes > maxBytes)) break;
      count += 1;
    }
    return this.#queue.splice(0, count);
  }
}

function itemsOf<I>(group: readonly Waiting<I>[]): I[] {
  return group.flatMap(({ item }) => (item === undefined ? [] : [item]));
}
