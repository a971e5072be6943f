// SPDX-License-Identifier: Apache-2.0
// Messages that a process running test files sends to the runner that started it.

/** One failed test, or a file that could not be loaded. */
export interface Failure {
  /** File, suites and test, outermost first. */
  readonly path: readonly string[];
  /** Where the test is declared: `file:line:column`. */
  readonly location: string;
  /** The error as Node prints it. */
  readonly error: string;
}

export type TestEvent =
  | { readonly kind: "started"; readonly name: string }
  | { readonly kind: "passed" }
  | { readonly kind: "skipped"; readonly path: readonly string[]; readonly reason: string }
  | { readonly kind: "failed"; readonly failure: Failure }
  /** All files ran. Without it the process ended early, and its tests count as failed. */
  | { readonly kind: "finished" }
  /** The process is still alive long after "finished": a server, timer or child process is open. */
  | { readonly kind: "lingering"; readonly resources: readonly string[] };

/** How long a process may take to exit after its last test. */
export const lingerMs = 10_000;

const kinds = new Set(["started", "passed", "skipped", "failed", "finished", "lingering"]);

/** Whether a message came from our reporter: a test may use the channel for its own messages. */
export function isTestEvent(message: unknown): message is TestEvent {
  if (typeof message !== "object" || message === null || !("kind" in message)) return false;
  return typeof message.kind === "string" && kinds.has(message.kind);
}

export function send(event: TestEvent): void {
  process.send?.(event);
}
