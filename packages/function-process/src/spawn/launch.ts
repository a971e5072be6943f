// SPDX-License-Identifier: Apache-2.0
import type { WorkerMessage } from "./worker-message.ts";

/** Gets the events of one process of a function. */
export interface LaunchEvents {
  message(message: WorkerMessage): void;
  output(stream: "stdout" | "stderr", text: string): void;
  /** It used more than a limit allows and is being stopped, or was. */
  exceeded(text: string): void;
  /** It is throttled at a limit and keeps running. */
  held(text: string): void;
  /** It ended, and how. Called once, last. */
  ended(how: string): void;
}

/** One process of a function. */
export interface Launched {
  /** Lets calls finish, then ends the process. Resolves when it has exited. */
  stop(): Promise<void>;
  kill(): void;
}

/**
 * Starts a process of a function. Failures are reported as events. `before` is the address of an earlier process, reused if possible, because
 * clients may still be waiting there.
 */
export type Launch = (events: LaunchEvents, before?: string) => Launched;
