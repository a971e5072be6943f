// SPDX-License-Identifier: Apache-2.0
import type { Clock } from "../clock.ts";

/** A function that restarts is back by then; one that is not is down. */
export const longOutageMs = 15_000;

/** How long a function has not been reachable, and why. */
export class Outage {
  readonly #clock: Clock;
  readonly #onLong: () => void;
  #problem: string | undefined;
  #cancel: (() => void) | undefined;
  #isLong = false;

  /** `onLong` is called when it has lasted so long that nobody should count on its end. */
  constructor(clock: Clock, onLong: () => void) {
    this.#clock = clock;
    this.#onLong = onLong;
  }

  /** Why no address can be reached right now; undefined while one can, or while nobody has tried. */
  get problem(): string | undefined {
    return this.#problem;
  }

  set problem(problem: string | undefined) {
    this.#problem = problem;
    if (problem === undefined) this.end();
    else this.#cancel ??= this.#clock.schedule(longOutageMs, () => this.#last());
  }

  get isLong(): boolean {
    return this.#isLong;
  }

  /** It is over, or nobody cares any more. */
  end(): void {
    this.#cancel?.();
    this.#cancel = undefined;
    this.#isLong = false;
  }

  #last(): void {
    this.#isLong = true;
    this.#onLong();
  }
}
