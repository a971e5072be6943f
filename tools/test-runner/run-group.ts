// SPDX-License-Identifier: Apache-2.0
// Runs a group of test files in one process and collects what they report.
import { type ChildProcess, spawn } from "node:child_process";
import { fileURLToPath } from "node:url";
import { type Failure, isTestEvent, lingerMs, type TestEvent } from "./events.ts";

/** Test files that share a process. */
export interface Group {
  readonly title: string;
  readonly files: readonly string[];
  /** The group is stopped when it reports nothing for so long. */
  readonly silenceMs: number;
  /** Never runs beside another group of which this is true. */
  readonly inTurn?: boolean;
}

export interface GroupResult {
  readonly group: Group;
  readonly passed: number;
  readonly failures: readonly Failure[];
  readonly skipped: ReadonlyArray<{ readonly path: readonly string[]; readonly reason: string }>;
  readonly seconds: number;
  /** The last part of what the tests printed. */
  readonly output: string;
}

export interface GroupOptions {
  /** Options of Node for the process, such as `--test-name-pattern=…`. */
  readonly nodeOptions: readonly string[];
  /** Print what tests print as they print it. */
  readonly showOutput: boolean;
}

const keptOutput = 64 * 1024;

const pathOf = (name: string): string => fileURLToPath(new URL(name, import.meta.url));
const hrefOf = (name: string): string => new URL(name, import.meta.url).href;

function start(group: Group, { nodeOptions, showOutput }: GroupOptions): ChildProcess {
  const output = showOutput ? "inherit" : "pipe";
  const args = [
    ...["--import", hrefOf("../property-seed.ts"), "--test-reporter", hrefOf("./reporter.ts")],
    ...nodeOptions,
    pathOf("./run-files.ts"),
    ...group.files,
  ];
  return spawn(process.execPath, args, { stdio: ["ignore", output, output, "ipc"] });
}

const lingeringText = (resources: readonly string[]): string =>
  `the process did not exit within ${lingerMs / 1000}s of its last test; still open: ${resources.join(", ")}`;

/** Collects the results of one group. */
class Collector {
  readonly failures: Failure[] = [];
  readonly skipped: { path: readonly string[]; reason: string }[] = [];
  passed = 0;
  finished = false;
  running = "";
  output = "";
  readonly #group: Group;

  constructor(group: Group) {
    this.#group = group;
  }

  take(event: TestEvent): void {
    if (event.kind === "started") this.running = event.name;
    if (event.kind === "passed") this.passed += 1;
    if (event.kind === "failed") this.failures.push(event.failure);
    if (event.kind === "skipped") this.skipped.push(event);
    if (event.kind === "finished") this.finished = true;
    if (event.kind === "lingering") this.fail(lingeringText(event.resources));
  }

  print(chunk: unknown): void {
    this.output = (this.output + String(chunk)).slice(-keptOutput);
  }

  /** Fails the group for a reason that is not one of its tests. */
  fail(error: string): void {
    this.failures.push({
      path: [this.#group.title],
      location: this.#group.files.length === 1 ? (this.#group.files[0] ?? "") : this.#group.title,
      error,
    });
  }
}

/** Stops a process that reports nothing for too long. */
function guard(child: ChildProcess, group: Group, collector: Collector): { reset(): void; stop(): void } {
  let timer: NodeJS.Timeout | undefined;
  const stop = (): void => clearTimeout(timer);
  const onSilence = (): void => {
    collector.fail(`no test ended for ${group.silenceMs / 1000}s; last started: ${collector.running}`);
    child.kill("SIGKILL");
  };
  const reset = (): void => {
    stop();
    timer = setTimeout(onSilence, group.silenceMs);
  };
  reset();
  return { reset, stop };
}

/** Runs one group to its end. Never rejects: whatever goes wrong is a failure in the result. */
export async function runGroup(group: Group, options: GroupOptions): Promise<GroupResult> {
  const started = performance.now();
  const collector = new Collector(group);
  const child = start(group, options);
  const watch = guard(child, group, collector);
  for (const stream of [child.stdout, child.stderr]) stream?.on("data", (chunk) => collector.print(chunk));
  child.on("message", (message) => {
    if (!isTestEvent(message)) return;
    collector.take(message);
    watch.reset();
    if (message.kind === "lingering") child.kill("SIGKILL");
  });
  const ended = await new Promise<string | number | Error | null>((resolve) => {
    child.once("error", resolve);
    child.once("close", (code, signal) => resolve(signal ?? code));
  });
  watch.stop();
  const unexplained = ended !== 0 && collector.failures.length === 0;
  if (unexplained || (!collector.finished && collector.failures.length === 0)) {
    collector.fail(`the process ended early (${String(ended)}) in: ${collector.running || "loading"}`);
  }
  const { passed, failures, skipped, output } = collector;
  return { group, passed, failures, skipped, output, seconds: (performance.now() - started) / 1000 };
}
