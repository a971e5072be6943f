// SPDX-License-Identifier: Apache-2.0
// A process that runs groups of test files, one after the other, and what it reports.
import { type ChildProcess, spawn } from "node:child_process";
import { fileURLToPath } from "node:url";
import { type Command, type Failure, isTestEvent, lingerMs, type TestEvent } from "./events.ts";

/** Test files that run one after the other in one process. */
export interface Group {
  readonly title: string;
  readonly files: readonly string[];
  /** The group is stopped when it reports nothing for this long. */
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

export interface ProcessOptions {
  /** Options of Node for the process, such as `--test-name-pattern=…`. */
  readonly nodeOptions: readonly string[];
  /** Print what tests print as they print it. */
  readonly showOutput: boolean;
}

const keptOutput = 64 * 1024;
/** The most that a process may take to report that it does not exit. */
const exitMs = lingerMs + 120_000;

const pathOf = (name: string): string => fileURLToPath(new URL(name, import.meta.url));
const hrefOf = (name: string): string => new URL(name, import.meta.url).href;

function start({ nodeOptions, showOutput }: ProcessOptions): ChildProcess {
  const output = showOutput ? "inherit" : "pipe";
  const args = [
    ...["--import", hrefOf("./async-hooks.ts"), "--import", hrefOf("../property-seed.ts")],
    ...["--test-reporter", hrefOf("./reporter.ts")],
    ...nodeOptions,
    pathOf("./run-files.ts"),
  ];
  return spawn(process.execPath, args, { stdio: ["ignore", output, output, "ipc"] });
}

const lingeringText = (resources: readonly string[]): string =>
  `the process did not exit within ${lingerMs / 1000}s of its last test; still open: ${resources.join(", ")}`;

/** Collects what a process reports from one command to the next. */
class Collector {
  readonly failures: Failure[] = [];
  readonly skipped: { path: readonly string[]; reason: string }[] = [];
  passed = 0;
  running = "";
  output = "";
  readonly #started = performance.now();
  readonly #group: Group;

  constructor(group: Group) {
    this.#group = group;
  }

  take(event: TestEvent): void {
    if (event.kind === "started") this.running = event.name;
    if (event.kind === "passed") this.passed += 1;
    if (event.kind === "failed") this.failures.push(event.failure);
    if (event.kind === "skipped") this.skipped.push(event);
    if (event.kind === "lingering") this.fail(lingeringText(event.resources));
  }

  print(chunk: unknown): void {
    this.output = (this.output + String(chunk)).slice(-keptOutput);
  }

  /** Fails the group for a reason that is not one of its tests. */
  fail(error: string): void {
    const { title, files } = this.#group;
    this.failures.push({ path: [title], location: files.length === 1 ? (files[0] ?? "") : title, error });
  }

  result(): GroupResult {
    const { passed, failures, skipped, output } = this;
    const seconds = (performance.now() - this.#started) / 1000;
    return { group: this.#group, passed, failures, skipped, output, seconds };
  }
}

/** One process. After a group that ended it, it takes no other one. */
export class TestProcess {
  readonly #child: ChildProcess;
  readonly #titles: string[] = [];
  #collector: Collector | undefined;
  #onWaiting: () => void = () => {};
  #resetSilence: () => void = () => {};
  /** How the process ended: a signal, an exit code or the error of its start. */
  readonly #ended: Promise<string>;
  readonly #loaded: Promise<void>;
  #hasEnded = false;
  #hasFailed = false;

  constructor(options: ProcessOptions) {
    const child = start(options);
    this.#child = child;
    this.#loaded = this.#nextWaiting();
    for (const stream of [child.stdout, child.stderr]) stream?.on("data", (chunk) => this.#collector?.print(chunk));
    child.on("message", (message) => {
      if (isTestEvent(message)) this.#take(message);
    });
    this.#ended = new Promise((resolve) => {
      child.once("error", (error) => resolve(error.message));
      child.once("close", (code, signal) => resolve(String(signal ?? code)));
    }).then((text) => {
      this.#hasEnded = true;
      return String(text);
    });
  }

  get hasEnded(): boolean {
    return this.#hasEnded;
  }

  /** Runs one group. Never rejects: whatever goes wrong is a failure in the result. */
  async run(group: Group): Promise<GroupResult> {
    const collector = new Collector(group);
    this.#collector = collector;
    this.#titles.push(group.title);
    const guard = this.#guard(group.silenceMs, () =>
      collector.fail(`no test ended for ${group.silenceMs / 1000}s; last started: ${collector.running}`),
    );
    await Promise.race([this.#loaded, this.#ended]);
    const waiting = this.#nextWaiting();
    this.#send({ kind: "run", files: group.files });
    const ended = await Promise.race([waiting, this.#ended]);
    guard.stop();
    if (ended !== undefined && collector.failures.length === 0) {
      collector.fail(`the process ended early (${ended}) in: ${collector.running || "loading"}`);
    }
    this.#hasFailed ||= collector.failures.length > 0;
    return collector.result();
  }

  /** Ends the process. What it did wrong after its last test is the result of one more group, without files. */
  async end(): Promise<GroupResult> {
    const collector = new Collector({ title: `after ${this.#titles.join(", ")}`, files: [], silenceMs: exitMs });
    this.#collector = collector;
    const guard = this.#guard(exitMs, () => collector.fail("the process did not exit"));
    this.#send({ kind: "end" });
    const ended = await this.#ended;
    guard.stop();
    // Node ends with 1 after a failed test.
    const isExplained = this.#hasFailed || collector.failures.length > 0;
    if (ended !== "0" && !isExplained) collector.fail(`the process ended with ${ended}`);
    return collector.result();
  }

  #take(event: TestEvent): void {
    this.#resetSilence();
    if (event.kind === "waiting") this.#onWaiting();
    else this.#collector?.take(event);
    if (event.kind === "lingering") this.#child.kill("SIGKILL");
  }

  #nextWaiting(): Promise<void> {
    return new Promise((resolve) => {
      this.#onWaiting = resolve;
    });
  }

  #send(command: Command): void {
    // A process that has ended is noticed by its end.
    if (this.#child.connected) this.#child.send(command, () => {});
  }

  /** Kills the process when it reports nothing for too long. */
  #guard(silenceMs: number, onSilence: () => void): { stop(): void } {
    let timer: NodeJS.Timeout | undefined;
    this.#resetSilence = () => {
      clearTimeout(timer);
      timer = setTimeout(() => {
        onSilence();
        this.#child.kill("SIGKILL");
      }, silenceMs);
    };
    this.#resetSilence();
    return {
      stop: () => {
        this.#resetSilence = () => {};
        clearTimeout(timer);
      },
    };
  }
}
