// SPDX-License-Identifier: Apache-2.0
import type { JsonObject } from "@purlin/kube-objects";
import type { Store, Watch } from "../store/store.ts";

export interface StoreFollowerOptions {
  readonly store: Store<JsonObject>;
  /** A key prefix. */
  readonly prefix: string;
  /** Brings about what one key asks for. Called again when the key has changed meanwhile. */
  readonly reconcile: (key: string) => Promise<void>;
  readonly onError: (error: unknown) => void;
  readonly retryDelayMs?: number;
}

/** Looks at every key of a kind, and at each again when it has changed or when looking at it failed. */
export class StoreFollower {
  readonly #options: StoreFollowerOptions;
  readonly #waiting = new Set<string>();
  readonly #busy = new Set<string>();
  readonly #retries = new Set<NodeJS.Timeout>();
  #watch: Watch<JsonObject> | undefined;
  #isStopped = false;

  constructor(options: StoreFollowerOptions) {
    this.#options = options;
  }

  start(): void {
    const { store, prefix } = this.#options;
    const { entries, revision } = store.list({ prefix });
    this.#watch = store.watch({ scope: prefix, after: revision, onReady: () => this.#follow() });
    for (const { key } of entries) {
      this.enqueue(key);
    }
    this.#follow();
  }

  stop(): void {
    this.#isStopped = true;
    this.#watch?.close();
    for (const timer of this.#retries) {
      clearTimeout(timer);
    }
  }

  /** Looks at a key (again). */
  enqueue(key: string): void {
    if (this.#isStopped) {
      return;
    }
    this.#waiting.add(key);
    queueMicrotask(() => this.#work(key));
  }

  #follow(): void {
    if (this.#isStopped || this.#watch === undefined) {
      return;
    }
    try {
      for (let changes = this.#watch.take(); changes.length > 0; changes = this.#watch.take()) {
        for (const { key } of changes) {
          this.enqueue(key);
        }
      }
    } catch (error) {
      // History moved on without us: look at everything again.
      this.#options.onError(error);
      this.#watch.close();
      this.start();
    }
  }

  #work(key: string): void {
    if (this.#busy.has(key) || !this.#waiting.delete(key)) {
      return;
    }
    this.#busy.add(key);
    void this.#visit(key).finally(() => {
      this.#busy.delete(key);
      this.#work(key);
    });
  }

  async #visit(key: string): Promise<void> {
    try {
      await this.#options.reconcile(key);
    } catch (error) {
      if (this.#isStopped) {
        return;
      }
      this.#options.onError(error);
      this.#retryLater(key);
    }
  }

  #retryLater(key: string): void {
    const timer = setTimeout(() => {
      this.#retries.delete(timer);
      this.enqueue(key);
    }, this.#options.retryDelayMs ?? 1000);
    this.#retries.add(timer.unref());
  }
}
