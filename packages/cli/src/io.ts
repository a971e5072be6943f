// SPDX-License-Identifier: Apache-2.0
import type { Readable } from "node:stream";
import type { NameResolver } from "@purlin/function-runner";
import { harmlessOutput } from "./harmless.ts";

/** Where text goes. */
export interface TextSink {
  /** Text that others may have written: a terminal shows it without other effects than the colors of this program. */
  write(text: string): void;
  /** What moves the cursor of a terminal or erases, as it is. */
  move(sequence: string): void;
  /** True for a terminal, where colors help. */
  readonly isTTY: boolean;
  /** How many characters fit on a line. */
  readonly columns: number;
  /** How many lines fit on the screen, where there is one. */
  readonly rows?: number;
  /** Calls back whenever the size of the terminal changes. Returns how to stop that. */
  onResize?(handler: () => void): () => void;
}

/** Everything a command may touch of the process it runs in. A test hands in its own. */
export interface Io {
  readonly stdin: Readable;
  readonly stdout: TextSink;
  readonly stderr: TextSink;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Relative paths of the command line start here. */
  readonly cwd: string;
  /** Aborts when the user asks the command to stop. */
  readonly signal: AbortSignal;
  /** Resolves the names in the endpoints of FunctionRevisions; the system unless given. */
  readonly names?: NameResolver;
}

const defaultColumns = 100;
const defaultRows = 24;

/** The {@link Io} of this process. */
export function processIo(signal: AbortSignal): Io {
  return {
    stdin: process.stdin,
    stdout: sink(process.stdout),
    stderr: sink(process.stderr),
    env: process.env,
    cwd: process.cwd(),
    signal,
  };
}

/** What an output stream of this process is to commands. */
export function sink(
  stream: Pick<NodeJS.WriteStream, "write" | "isTTY" | "columns" | "rows" | "on" | "off">,
): TextSink {
  return {
    write: (text) => {
      stream.write(stream.isTTY === true ? harmlessOutput(text) : text);
    },
    move: (sequence) => {
      stream.write(sequence);
    },
    isTTY: stream.isTTY === true,
    // Read each time: windows are resized. Pseudo-terminals, as in CI, may report a width of 0.
    get columns() {
      return stream.columns || defaultColumns;
    },
    get rows() {
      return stream.rows || defaultRows;
    },
    onResize(handler) {
      stream.on("resize", handler);
      return () => void stream.off("resize", handler);
    },
  };
}

/** Writes each text once: the same warning comes with every object of a kind. */
export function eachOnce(write: (text: string) => void): (text: string) => void {
  const written = new Set<string>();
  return (text) => {
    if (!written.has(text)) write(text);
    written.add(text);
  };
}

const brand = Symbol.for("purlin.dev/cli/output-gone");

/** What shells show for a program that wrote to a reader that had gone. */
const closedOutputExitCode = 141;

/** Why a command stops whose output goes nowhere. */
export class OutputClosedError extends Error {
  readonly exitCode: number;
  /** The message for the user; empty for a reader such as `head` that stopped reading. */
  readonly problem: string | undefined;

  constructor(cause: NodeJS.ErrnoException) {
    super(`cannot write to stdout: ${cause.message}`, { cause });
    this.name = "OutputClosedError";
    const hasSeenEnough = cause.code === "EPIPE";
    this.exitCode = hasSeenEnough ? closedOutputExitCode : 1;
    this.problem = hasSeenEnough ? undefined : this.message;
    Object.defineProperty(this, brand, { value: true });
  }
}

/** Whether a value is an {@link OutputClosedError}. */
export function isOutputGone(value: unknown): value is OutputClosedError {
  return typeof value === "object" && value !== null && brand in value;
}
