// SPDX-License-Identifier: Apache-2.0
import { Readable } from "node:stream";
import { type Io, sink, type TextSink } from "../src/io.ts";
import { run } from "../src/run.ts";
import { createStyle, type Style } from "../src/terminal/style.ts";

/** What a command printed and how it ended. */
export interface Outcome {
  readonly exitCode: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** What a test may say about the process a command believes to run in. */
export interface TestIoOptions {
  readonly cwd?: string;
  readonly stdin?: string;
  readonly env?: Io["env"];
  readonly isTTY?: boolean;
  readonly columns?: number;
  readonly signal?: AbortSignal;
  readonly names?: NonNullable<Io["names"]>;
}

/** An {@link Io} that keeps what is written. */
export class TestIo implements Io {
  readonly stdin: Readable;
  readonly stdout: TextSink & { text: string };
  readonly stderr: TextSink & { text: string };
  readonly env: Io["env"];
  readonly cwd: string;
  readonly signal: AbortSignal;
  readonly names?: NonNullable<Io["names"]>;

  constructor(options: TestIoOptions = {}) {
    this.stdin = Readable.from([options.stdin ?? ""]);
    this.stdout = keepingSink(options);
    this.stderr = keepingSink(options);
    this.env = options.env ?? {};
    this.cwd = options.cwd ?? process.cwd();
    this.signal = options.signal ?? new AbortController().signal;
    if (options.names !== undefined) this.names = options.names;
  }
}

function keepingSink({ isTTY = false, columns = 100 }: TestIoOptions): TextSink & { text: string } {
  const kept = { text: "" };
  const write = (text: string): boolean => {
    kept.text += text;
    return true;
  };
  const stream = { isTTY, columns, rows: 24, on: () => stream, off: () => stream, write };
  return Object.defineProperty(sink(stream as unknown as Parameters<typeof sink>[0]), "text", {
    get: () => kept.text,
  }) as TextSink & { text: string };
}

/** Runs a command line in this process. */
export async function runInProcess(argv: readonly string[], options: TestIoOptions = {}): Promise<Outcome> {
  const io = new TestIo(options);
  const exitCode = await run(argv, io);
  return { exitCode, stdout: io.stdout.text, stderr: io.stderr.text };
}

/** Text as it is without a terminal. */
export const plainStyle: Style = createStyle(new TestIo().stdout, {});
