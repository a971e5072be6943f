// SPDX-License-Identifier: Apache-2.0
import { isSettled, type Situation } from "./situation.ts";

/** Many things change at once; what happens within this time is looked at once. */
const pauseMs = 80;
/** With ten thousand composite resources a look takes a while; it must not keep the controllers from their work. */
const restPerLook = 50;

const nothing: Situation = { forest: [], functions: [], compositions: [], definitions: [], unseen: 0 };

/** Looks whenever something has changed, and tells those who want to know. */
export interface Lookout {
  /** Something may have changed. */
  readonly changed: () => void;
  /** How everything is now. */
  look: () => Situation;
  /** Called with every change from now on, and with how things are now. */
  subscribe(handler: (situation: Situation) => void): Disposable;
  /** Resolves when nothing is left to wait for. */
  settled(signal: AbortSignal): Promise<void>;
  /** Nobody is told any more. */
  close(): void;
}

/** A lookout that sees nothing until it is given eyes. */
export function createLookout(): Lookout {
  const handlers = new Set<(situation: Situation) => void>();
  let timer: NodeJS.Timeout | undefined;
  let pause = pauseMs;
  const tell = (): void => {
    timer = undefined;
    const start = performance.now();
    const situation = lookout.look();
    for (const handler of handlers) handler(situation);
    pause = Math.max(pauseMs, (performance.now() - start) * restPerLook);
  };
  const lookout: Lookout = {
    look: () => nothing,
    changed() {
      timer ??= setTimeout(tell, pause);
    },
    subscribe(handler) {
      handlers.add(handler);
      handler(lookout.look());
      return { [Symbol.dispose]: () => void handlers.delete(handler) };
    },
    async settled(signal) {
      signal.throwIfAborted();
      const { promise, resolve, reject } = Promise.withResolvers<void>();
      const abort = (): void => reject(signal.reason as Error);
      signal.addEventListener("abort", abort, { once: true });
      using _ = lookout.subscribe((situation) => {
        if (isSettled(situation)) resolve();
      });
      await promise.finally(() => signal.removeEventListener("abort", abort));
    },
    close() {
      clearTimeout(timer);
      handlers.clear();
    },
  };
  return lookout;
}
