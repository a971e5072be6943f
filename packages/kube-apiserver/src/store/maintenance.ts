// SPDX-License-Identifier: Apache-2.0

const intervalMs = 2000;

/** Runs a chore every few seconds while there is something to do, and no timer at all while there is not. */
export class Maintenance {
  readonly #chore: () => boolean;
  #timer: NodeJS.Timeout | undefined;
  #stopped = false;

  /** The chore says whether it wants to run again. */
  constructor(chore: () => boolean) {
    this.#chore = chore;
  }

  /** There may be something to do. */
  wake(): void {
    if (this.#timer === undefined && !this.#stopped) this.#timer = setTimeout(() => this.#run(), intervalMs).unref();
  }

  stop(): void {
    this.#stopped = true;
    clearTimeout(this.#timer);
  }

  #run(): void {
    this.#timer = undefined;
    if (this.#chore()) this.wake();
  }
}
