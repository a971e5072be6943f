// SPDX-License-Identifier: Apache-2.0
import { nextTurn } from "@purlin/kube-objects/turns";

/** How long requests may be answered in one turn of the event loop before the next ones wait for another turn. */
const turnMs = 20;

/**
 * Spreads requests that arrive together over several turns of the event loop. Each of them may take a few milliseconds; hundreds in one
 * turn would hold the loop.
 */
export class TurnBudget {
  readonly #now: () => number;
  /** When the first request of this turn began. */
  #start: number | undefined;

  constructor(now: () => number = () => performance.now()) {
    this.#now = now;
  }

  /** Whether this turn has no time for another request. */
  isSpent(): boolean {
    if (this.#start === undefined) {
      this.#start = this.#now();
      setImmediate(() => {
        this.#start = undefined;
      });
    }
    return this.#now() - this.#start >= turnMs;
  }

  /** Resolves in a turn that has time. */
  async turn(): Promise<void> {
    while (this.isSpent()) {
      await nextTurn();
    }
  }
}
