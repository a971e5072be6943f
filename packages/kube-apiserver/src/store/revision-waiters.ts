// SPDX-License-Identifier: Apache-2.0

interface Waiter {
  readonly revision: number;
  readonly resolve: () => void;
  readonly reject: (error: unknown) => void;
}

/** Callers that wait for a revision. */
export class RevisionWaiters {
  readonly #waiters = new Set<Waiter>();

  add(revision: number, signal: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      if (signal.aborted) {
        reject(signal.reason);
        return;
      }
      const onAbort = (): void => settle(() => reject(signal.reason));
      const waiter = {
        revision,
        resolve: () => settle(resolve),
        reject: (error: unknown) => settle(() => reject(error)),
      };
      const settle = (act: () => void): void => {
        signal.removeEventListener("abort", onAbort);
        this.#waiters.delete(waiter);
        act();
      };
      signal.addEventListener("abort", onAbort, { once: true });
      this.#waiters.add(waiter);
    });
  }

  reached(revision: number): void {
    for (const waiter of this.#waiters) {
      if (waiter.revision <= revision) waiter.resolve();
    }
  }

  fail(error: Error): void {
    for (const waiter of this.#waiters) {
      waiter.reject(error);
    }
  }
}
