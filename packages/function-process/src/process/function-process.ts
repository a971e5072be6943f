// SPDX-License-Identifier: Apache-2.0
import { randomUUID } from "node:crypto";
import type { Clock } from "@purlin/function-runner";
import type { FunctionLimits } from "../limits/function-limits.ts";
import { heldText } from "../limits/judge.ts";
import { createLogRate, type LogRate } from "../limits/log-rate.ts";
import type { CellPool } from "./cell-pool.ts";
import type { PortPool } from "./free-port.ts";
import type { FunctionCertificates } from "./function-certificates.ts";
import { untilItAnswers } from "./grpc-probe.ts";
import { createLaunch, type FunctionProgram, isBare } from "./launch-function.ts";
import type { LogFile } from "./log-file.ts";
import { createLogTail } from "./log-tail.ts";
import { createRenewal, type Renewal } from "./renewal.ts";
import type { ResourceSupervision } from "./supervision.ts";
import { type RestartPolicy, Supervisor, type SupervisorObserver } from "./supervisor.ts";
import { createUses, type Uses } from "./uses.ts";

/** A function to keep running. */
export interface FunctionSpec {
  /** Names it in messages, files and certificates: the name of its Function or FunctionRevision. */
  readonly name: string;
  /** The Function whose revision it is; the same as the name where there are no revisions. */
  readonly functionName?: string | undefined;
  readonly program: FunctionProgram;
  /** Relative paths in the function's own code start here. */
  readonly cwd: string;
  /** Where it answered before this process was started; taken again if it can be. */
  readonly before?: string | undefined;
  /** Limits of this function; others are those of all functions. */
  readonly limits?: Partial<FunctionLimits> | undefined;
}

/** Where a function that answers can be called. */
export interface ServedFunction {
  /** `host:port`, mutual TLS. */
  readonly endpoint: string;
  /** Another one for each process, as ports come round again. */
  readonly version: string;
  /** Tells that a run begins; call the result when it is over. A process that is replaced stays until then. */
  readonly hold: () => () => void;
  /** Aborts a moment after another version has taken over; only the author of a source file wants that. */
  readonly replaced?: AbortSignal | undefined;
}

/** What there is to say about a function's process right now. */
export type ProcessState =
  | { readonly phase: "starting" }
  | { readonly phase: "serving"; readonly endpoint: string; readonly problem?: string; readonly notice?: string }
  /** It does not serve; it is tried again by itself. */
  | { readonly phase: "failed"; readonly problem: string };

/** A function that is kept running. */
export interface FunctionProcess {
  readonly name: string;
  /** The unpacked image it runs from; undefined where it runs from something else. */
  readonly root: string | undefined;
  /** A problem beside "serving" is that of a newer version which did not come up; a notice, a limit that it was held to or stopped for. */
  readonly state: ProcessState;
  /** Waits for a version that is starting. Rejects with the reason when the function does not serve. */
  served(signal?: AbortSignal): Promise<ServedFunction>;
  /** What answers right now, if anything does. */
  readonly current: ServedFunction | undefined;
  /** Tells that a run begins at an address that was served; call the result when it is over. */
  hold(endpoint: string): () => void;
  /** The last lines it wrote, oldest first. */
  logs(): readonly string[];
  reload(): void;
  /** Resolves as soon as it serves or fails. */
  settled(): Promise<void>;
  /** Resolves when no run uses what it serves and none can be on its way, within limits. */
  released(): Promise<void>;
  /** Another process serves in its place: calls to a source file end after a short grace. */
  replace(): void;
  /** Sees whether its certificate is still good by the clock of the machine, and replaces the process if not. */
  checkCertificate(): void;
  /** Ends it now; only calls that have arrived may finish. */
  stop(): Promise<void>;
}

/** What the processes of one control plane share. */
export interface ProcessSurroundings {
  readonly certificates: FunctionCertificates;
  readonly ports: PortPool;
  readonly cells: CellPool;
  readonly env: Readonly<Record<string, string>>;
  readonly clock: Clock;
  /** Where a function's output goes, besides the lines kept in memory. */
  readonly logFile: (spec: FunctionSpec) => LogFile;
  readonly onChange: (process: FunctionProcess) => void;
  readonly limits: ProcessLimits;
  readonly resources: ResourceSupervision;
}

/** How patient to be. */
export interface ProcessLimits {
  /** Until the first answer. */
  readonly startMs: number;
  /** For calls in flight when a process is stopped. */
  readonly graceMs: number;
  /** A replaced process stays at least this long, and as long as runs use it, up to the second limit. */
  readonly lingerMs: number;
  readonly holdMs: number;
  /** For calls to a version of a source file after it was replaced; they are made again on its successor. */
  readonly replacedMs: number;
  readonly restart: RestartPolicy;
}

const logCharacters = 256 * 1024;

const bareAdvice =
  "without a sandbox it must listen where --address says; install bubblewrap for one that does not: it gives each function a network of its own";

/** Starts a function and keeps it running until it is stopped. */
export function startFunctionProcess(spec: FunctionSpec, surroundings: ProcessSurroundings): FunctionProcess {
  return new RunningProcess(spec, surroundings);
}

class RunningProcess implements FunctionProcess {
  readonly name: string;
  readonly root: string | undefined;
  readonly #surroundings: ProcessSurroundings;
  readonly #log: LogFile;
  readonly #uses: Uses;
  readonly #renewal: Renewal;
  readonly #supervisor: Supervisor;
  readonly #tail = createLogTail(logCharacters);
  readonly #waiting = new Set<() => void>();
  readonly #rate: LogRate;
  /** What limits did to it, in the order in which it happened. */
  readonly #notices = new Set<string>();
  #state: ProcessState = { phase: "starting" };
  #version = "";
  /** Ends the calls to the version that serves; undefined for packages, whose calls are waited for. */
  #calls: AbortController | undefined;

  constructor(spec: FunctionSpec, surroundings: ProcessSurroundings) {
    const { certificates, limits, clock, ports, cells, env, resources } = surroundings;
    const { name, program, cwd } = spec;
    this.name = name;
    this.root = program.kind === "image" ? program.root : undefined;
    this.#calls = program.kind === "source" ? new AbortController() : undefined;
    this.#surroundings = surroundings;
    this.#log = surroundings.logFile(spec);
    this.#uses = createUses({ clock, lingerMs: limits.lingerMs, limitMs: limits.holdMs });
    const supervision = resources.of(spec);
    const tooMuch = (): void => this.#notice(heldText("logBytesPerSecond", supervision.limits));
    this.#rate = createLogRate(supervision.limits.logBytesPerSecond, clock, tooMuch);
    const folder = (): Promise<string> => this.#renewal.take();
    this.#renewal = createRenewal({ name, certificates, clock, renew: () => this.reload() });
    this.#supervisor = new Supervisor({
      launch: createLaunch({
        program,
        cwd,
        env,
        ports,
        cell: (maker) => cells.take(name, maker),
        certificates: folder,
        graceMs: limits.graceMs,
        supervision,
      }),
      file: program.kind === "source" ? program.file : undefined,
      answers: (address, signal) =>
        untilItAnswers({ address, tls: certificates.client.current().context, commonName: name, signal }),
      released: (address) => this.#uses.released(address),
      startLimitMs: limits.startMs,
      advice: isBare(program) ? bareAdvice : undefined,
      restart: limits.restart,
      clock,
      observer: this.#observer(),
      before: spec.before,
    });
  }

  get state(): ProcessState {
    return this.#state;
  }

  async served(signal?: AbortSignal): Promise<ServedFunction> {
    while (this.#state.phase === "starting") await this.#changed(signal);
    if (this.#state.phase === "failed") throw new Error(this.#state.problem);
    return this.#serves(this.#state.endpoint);
  }

  get current(): ServedFunction | undefined {
    return this.#state.phase === "serving" ? this.#serves(this.#state.endpoint) : undefined;
  }

  hold(endpoint: string): () => void {
    return this.#uses.hold(endpoint);
  }

  logs(): readonly string[] {
    return this.#tail.lines();
  }

  reload(): void {
    this.#supervisor.reload();
  }

  async settled(): Promise<void> {
    while (this.#state.phase === "starting") await this.#changed();
  }

  async released(): Promise<void> {
    if (this.#state.phase === "serving") await this.#uses.released(this.#state.endpoint);
  }

  replace(): void {
    const calls = this.#calls;
    if (calls === undefined) return;
    this.#calls = new AbortController();
    const { clock, limits } = this.#surroundings;
    clock.schedule(limits.replacedMs, () =>
      calls.abort(new Error("the function has been replaced by a newer version")),
    );
  }

  checkCertificate(): void {
    this.#renewal.look();
  }

  async stop(): Promise<void> {
    this.#renewal.stop();
    await this.#supervisor.stop();
    this.#become({ phase: "failed", problem: "the function has been stopped" });
  }

  #serves(endpoint: string): ServedFunction {
    return { endpoint, version: this.#version, hold: () => this.hold(endpoint), replaced: this.#calls?.signal };
  }

  #observer(): SupervisorObserver {
    return {
      serving: ({ address }) => {
        this.replace();
        this.#version = randomUUID();
        this.#become(this.#withNotices({ phase: "serving", endpoint: address }));
      },
      failed: ({ text }) => {
        this.#logProblem(text);
        this.#become(withProblem(this.#state, text));
      },
      died: (text) => {
        this.#logProblem(text);
        this.#become({ phase: "failed", problem: text });
      },
      held: (text) => this.#notice(text),
      exceeded: (text) => void this.#notices.add(text),
      output: (_, text) => {
        const kept = this.#rate.keep(text);
        if (kept === "") return;
        this.#tail.add(kept);
        this.#log.add(kept);
      },
    };
  }

  /** A limit that it was held to: it goes on, and users see why it is slow or incomplete. */
  #notice(text: string): void {
    if (this.#notices.has(text)) return;
    this.#notices.add(text);
    this.#log.add(`${new Date(this.#surroundings.clock.now()).toISOString()}  WARN  ${text}\n`);
    if (this.#state.phase === "serving") this.#become(this.#withNotices(this.#state));
  }

  #withNotices<S extends ProcessState>(state: S): S {
    // What it used is another number each time; the last one is enough.
    const notice = [...this.#notices].at(-1);
    return notice === undefined ? state : { ...state, notice };
  }

  /** A function that cannot start writes nothing itself, so its log says why. Each restart fails alike: one line is enough. */
  #logProblem(problem: string): void {
    if (problem === problemOf(this.#state)) return;
    this.#log.add(`${new Date(this.#surroundings.clock.now()).toISOString()}  ERROR  ${problem}\n`);
  }

  #become(state: ProcessState): void {
    this.#state = state;
    for (const wake of this.#waiting) wake();
    this.#waiting.clear();
    this.#surroundings.onChange(this);
  }

  #changed(signal?: AbortSignal): Promise<void> {
    signal?.throwIfAborted();
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const wake = (): void => {
      signal?.removeEventListener("abort", abort);
      resolve();
    };
    const abort = (): void => {
      this.#waiting.delete(wake);
      reject(new Error("the function is still starting", { cause: signal?.reason }));
    };
    this.#waiting.add(wake);
    signal?.addEventListener("abort", abort, { once: true });
    return promise;
  }
}

function problemOf(state: ProcessState): string | undefined {
  return state.phase === "starting" ? undefined : state.problem;
}

/** While an earlier version serves, a newer one that fails is a problem and no outage. */
function withProblem(state: ProcessState, problem: string): ProcessState {
  return state.phase === "serving" ? { ...state, problem } : { phase: "failed", problem };
}
