// SPDX-License-Identifier: Apache-2.0

const brand = Symbol.for("purlin.dev/cli/output-gone");

/** What shells show for a program that wrote to a reader that had gone. */
const nobodyReadsExitCode = 141;

/** Why a command stops whose output goes nowhere any more. */
export class OutputGone extends Error {
  readonly exitCode: number;
  /** What to tell the user; nothing of a reader such as `head` that has seen enough. */
  readonly problem: string | undefined;

  constructor(cause: NodeJS.ErrnoException) {
    super(`cannot write the output: ${cause.message}`, { cause });
    this.name = "OutputGone";
    const hasSeenEnough = cause.code === "EPIPE";
    this.exitCode = hasSeenEnough ? nobodyReadsExitCode : 1;
    this.problem = hasSeenEnough ? undefined : this.message;
    Object.defineProperty(this, brand, { value: true });
  }
}

/** Tells an {@link OutputGone} from any other value. */
export function isOutputGone(value: unknown): value is OutputGone {
  return typeof value === "object" && value !== null && brand in value;
}
