// SPDX-License-Identifier: Apache-2.0
import type { WorkerMessage } from "./worker-message.ts";

/** Who is told about one process of a function. */
export interface LaunchEvents {
  message(message: WorkerMessage): void;
  output(stream: "stdout" | "stderr", text: string): void;
  /** It used more than a limit allows and is being stopped, or was. */
  exceeded(text: string): void;
  /** It is held to a limit and goes on. */
  held(text: string): void;
  /** It is over, and how. Told once, last. */
  ended(how: string): void;
}

/** One process of a function. */
export interface Launched {
  /** Lets calls finish, then ends it. Resolves when it is gone. */
  stop(): Promise<void>;
  kill(): void;
}

/**
 * Starts a process of a function. Failures are told as events. `before` is where one answered that is gone: taken again if it can be, as
 * whoever called it may still wait there.
 */
export type Launch = (events: LaunchEvents, before?: string) => Launched;
