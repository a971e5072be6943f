// SPDX-License-Identifier: Apache-2.0
import type { Clock } from "@purlin/base";

/** A function that restarts is back by then; one that is not is down. */
export const longOutageMs = 15_000;

/** How long a function has not been reachable, and why. */
export class Outage {
  readonly #clock: Clock;
  readonly #onLong: () => void;
  #problem: string | undefined;
  #cancel: (() => void) | undefined;
  #isLong = false;

  /** `onLong` is called when the outage has lasted so long that calls must not wait for its end. */
  constructor(clock: Clock, onLong: () => void) {
    this.#clock = clock;
    this.#onLong = onLong;
  }

  /** Why no address is reachable now; undefined while one is, or before the first attempt. */
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

  /** Ends the outage: the function is reachable again, or the connection is closed. */
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
