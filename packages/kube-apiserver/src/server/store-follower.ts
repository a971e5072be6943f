// SPDX-License-Identifier: Apache-2.0
import type { JsonObject } from "@purlin/kube-objects/json";
import type { Store, Watch } from "../store/store.ts";

export interface StoreFollowerOptions {
  readonly store: Store<JsonObject>;
  /** A key prefix. */
  readonly prefix: string;
  /** What a key is looked at for: all keys that give the same are looked at together. Default: each by itself. */
  readonly subjectOf?: (key: string) => string;
  /** Brings about what one subject asks for. Called again when a key of it has changed meanwhile. */
  readonly reconcile: (subject: string) => Promise<void>;
  readonly onError: (error: unknown) => void;
  readonly retryDelayMs?: number;
}

/** Looks at every subject among the keys of a kind, and at each again when it has changed or when looking at it failed. */
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
    for (const { key } of entries) this.enqueue(key);
    this.#follow();
  }

  stop(): void {
    this.#isStopped = true;
    this.#watch?.close();
    for (const timer of this.#retries) clearTimeout(timer);
  }

  /** Looks at a key (again). */
  enqueue(key: string): void {
    this.#wake(this.#options.subjectOf?.(key) ?? key);
  }

  #wake(subject: string): void {
    if (!this.#isStopped && !this.#waiting.has(subject)) {
      this.#waiting.add(subject);
      queueMicrotask(() => this.#work(subject));
    }
  }

  #follow(): void {
    if (this.#isStopped || this.#watch === undefined) return;
    try {
      for (let changes = this.#watch.take(); changes.length > 0; changes = this.#watch.take()) {
        for (const { key } of changes) this.enqueue(key);
      }
    } catch (error) {
      // History moved on without us: look at everything again.
      this.#options.onError(error);
      this.#watch.close();
      this.start();
    }
  }

  #work(subject: string): void {
    if (this.#busy.has(subject) || !this.#waiting.delete(subject)) return;
    this.#busy.add(subject);
    void this.#visit(subject).finally(() => {
      this.#busy.delete(subject);
      this.#work(subject);
    });
  }

  async #visit(subject: string): Promise<void> {
    try {
      await this.#options.reconcile(subject);
    } catch (error) {
      if (this.#isStopped) return;
      this.#options.onError(error);
      this.#retryLater(subject);
    }
  }

  #retryLater(subject: string): void {
    const timer = setTimeout(() => {
      this.#retries.delete(timer);
      this.#wake(subject);
    }, this.#options.retryDelayMs ?? 1000);
    this.#retries.add(timer.unref());
  }
}
