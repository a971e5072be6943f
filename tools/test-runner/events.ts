// SPDX-License-Identifier: Apache-2.0
// Messages between the runner and the processes that run test files for it.

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
  /** The process has loaded, or has run all files of a group: it waits for a command. */
  | { readonly kind: "waiting" }
  /** The process is still alive long after the command "end": a server, timer or child process is open. */
  | { readonly kind: "lingering"; readonly resources: readonly string[] };

/** How long a process may take to exit after its last test. */
export const lingerMs = 10_000;

/** The commands of the runner to a process. */
export type Command = { readonly kind: "run"; readonly files: readonly string[] } | { readonly kind: "end" };

const kinds = new Set(["started", "passed", "skipped", "failed", "waiting", "lingering"]);
const commands = new Set(["run", "end"]);

function kindOf(message: unknown): string {
  if (typeof message !== "object" || message === null || !("kind" in message)) return "";
  return typeof message.kind === "string" ? message.kind : "";
}

/** Whether a message came from our reporter: a test may use the channel for its own messages. */
export function isTestEvent(message: unknown): message is TestEvent {
  return kinds.has(kindOf(message));
}

/** Whether a message came from the runner. */
export function isCommand(message: unknown): message is Command {
  return commands.has(kindOf(message));
}

export function send(event: TestEvent): void {
  process.send?.(event);
}
