// SPDX-License-Identifier: Apache-2.0
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { chmodSync } from "node:fs";
import { dirname } from "node:path";
import process from "node:process";
import { fileURLToPath } from "node:url";
import type { TempFolder } from "@purlin/base/testing/temp-folder";

/** A command that runs in its own process until it is stopped. */
export interface PurlinProcess extends AsyncDisposable {
  readonly child: ChildProcess;
  /** Waits until stdout or stderr shows a text that was not waited for before, and returns it. */
  next(stream: "stdout" | "stderr", pattern: RegExp): Promise<RegExpExecArray>;
  /** Waits until all of these are shown, in whatever order. */
  nextAll(stream: "stdout" | "stderr", patterns: readonly RegExp[]): Promise<void>;
  /** Sends SIGTERM and resolves to the exit code. */
  stop(): Promise<number | null>;
}

/** Where the command runs. */
interface SpawnOptions {
  readonly cwd?: string;
  /** Added to the environment of the test. */
  readonly env?: Readonly<Record<string, string>>;
}

/** Starts the real command. */
export function spawnPurlin(args: readonly string[], options: SpawnOptions = {}): PurlinProcess {
  // Node reads extra certificates in a thread, and prints a warning when a process ends meanwhile. Servers of tests have their own authority.
  const unset = { NODE_TEST_CONTEXT: undefined, NODE_EXTRA_CA_CERTS: undefined };
  const env = { ...process.env, ...unset, NO_COLOR: "1", ...options.env };
  const child = spawn(process.execPath, [purlinCommand, ...args], {
    ...options,
    env,
    stdio: ["ignore", "pipe", "pipe"],
  });
  const exited = once(child, "exit");
  const streams = { stdout: collect(child, "stdout"), stderr: collect(child, "stderr") };
  const stop = async (): Promise<number | null> => {
    child.kill("SIGTERM");
    await exited;
    return child.exitCode;
  };
  return {
    child,
    next: (stream, pattern) => streams[stream].next(pattern),
    nextAll: (stream, patterns) => streams[stream].nextAll(patterns),
    stop,
    async [Symbol.asyncDispose]() {
      await stop();
    },
  };
}

interface Collected {
  next(pattern: RegExp): Promise<RegExpExecArray>;
  nextAll(patterns: readonly RegExp[]): Promise<void>;
}

function collect(child: ChildProcess, stream: "stdout" | "stderr"): Collected {
  let text = "";
  let wake = Promise.withResolvers<void>();
  let ended = false;
  child[stream]?.setEncoding("utf8").on("data", (data: string) => {
    text += data;
    wake.resolve();
  });
  child[stream]?.on("end", () => {
    ended = true;
    wake.resolve();
  });
  /** Waits for all patterns and leaves what comes after the last of them. */
  const waitFor = async (patterns: readonly RegExp[]): Promise<RegExpExecArray[]> => {
    for (;;) {
      const matches = patterns.map((pattern) => pattern.exec(text)).filter((match) => match !== null);
      if (matches.length === patterns.length) {
        text = text.slice(Math.max(...matches.map((match) => match.index + match[0].length)));
        return matches;
      }
      if (ended) throw new Error(`${stream} ended without ${patterns.join(" and ")}; it said: ${text}`);
      await wake.promise;
      wake = Promise.withResolvers();
    }
  };
  return {
    async next(pattern) {
      const [match] = await waitFor([pattern]);
      if (match === undefined) throw new Error(`${pattern} was not found`);
      return match;
    },
    async nextAll(patterns) {
      await waitFor(patterns);
    },
  };
}

/**
 * The launcher that tests start. A whole suite runs the command as it is published; a selected file runs the sources, so that stack traces
 * show them. `npm run SUITE -- --command=FILE` names another launcher.
 */
export const purlinCommand: string =
  process.env["TEST_COMMAND"] ?? fileURLToPath(new URL("../bin/purlin.js", import.meta.url));

/** A PATH whose first Node calls itself the given version, and runs programs as the Node of this test does. */
export function pathWithNode(folder: TempFolder, version: string): string {
  const script = `#!/bin/sh\n[ "$1" = --version ] && echo ${version} && exit\nexec "${process.execPath}" "$@"\n`;
  const program = folder.write("node-on-path/node", script);
  chmodSync(program, 0o755);
  return `${dirname(program)}:${process.env["PATH"]}`;
}
