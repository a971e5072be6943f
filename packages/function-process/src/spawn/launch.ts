// SPDX-License-Identifier: Apache-2.0

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

/** A message from the process of one version of a function to its supervisor. */
export type WorkerMessage =
  /** A file that is part of the function was loaded. */
  | { readonly type: "module"; readonly file: string }
  /** The file exports a function, which is about to be served. */
  | { readonly type: "loaded" }
  | { readonly type: "serving"; readonly address: string }
  /** This version will not serve. `setup` when the cause is not the code but flags, certificates or the address. */
  | { readonly type: "failed"; readonly text: string; readonly setup: boolean };

/** Whether it is a message of ours and not one that a function sent by itself. */
export function isWorkerMessage(value: unknown): value is WorkerMessage {
  const type = (value as { readonly type?: unknown } | null)?.type;
  return type === "module" || type === "loaded" || type === "serving" || type === "failed";
}
