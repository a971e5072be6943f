// SPDX-License-Identifier: Apache-2.0

import { randomUUID } from "node:crypto";
import type { Clock } from "@purlin/base";
import type { SandboxNetworkPool } from "../image/sandbox-network.ts";
import type { FunctionLimits } from "../limits/function-limits.ts";
import { heldText, type MeasuredUsage } from "../limits/throttle.ts";
import type { ResourceSupervision, Supervision } from "../spawn/supervision.ts";
import { createRenewal, type FunctionCertificates, type Renewal } from "./function-certificates.ts";
import { createLogRate, createLogTail, type LogFile, type LogRate } from "./function-output.ts";
import { type PortPool, untilItAnswers } from "./function-port.ts";
import { createLaunch, type FunctionProgram, isBare, isProvider } from "./launch-function.ts";
import { createLeases, createRetirements, type Retirements } from "./leases.ts";
import { type RestartPolicy, Supervisor, type SupervisorObserver } from "./supervisor.ts";

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
  /** Records that a run begins; call the result when it is over. A process that is replaced stays until then. */
  readonly acquire: () => () => void;
  /** Aborts a moment after another version has taken over; only the author of a source file wants that. */
  readonly replaced?: AbortSignal | undefined;
}

/** The state of a function's process. */
export type ProcessState =
  | { readonly phase: "starting" }
  | { readonly phase: "serving"; readonly endpoint: string; readonly problem?: string; readonly notice?: string }
  /** It does not serve; the supervisor restarts it. */
  | { readonly phase: "failed"; readonly problem: string };

/** A function that is kept running. */
export interface FunctionProcess {
  readonly name: string;
  /** The unpacked image it runs from; undefined where it runs from something else. */
  readonly root: string | undefined;
  /** Whether it runs a Provider: its name is that of a ProviderRevision. */
  readonly isProvider: boolean;
  /** While "serving", `problem` is why a newer version did not start, and `notice` a limit that throttled or stopped the function. */
  readonly state: ProcessState;
  /** Waits for a version that is starting. Rejects with the reason when the function does not serve. */
  served(signal?: AbortSignal): Promise<ServedFunction>;
  /** What serves now; undefined when nothing does. */
  readonly current: ServedFunction | undefined;
  /** Records that a run begins at an address that was served; call the result when it is over. */
  acquire(endpoint: string): () => void;
  /** What its processes used when they were last measured; undefined before, and where the system does not say. */
  readonly usage: MeasuredUsage | undefined;
  /** The last lines it wrote, oldest first. */
  logs(): readonly string[];
  reload(): void;
  /** Resolves as soon as it serves or fails. */
  settled(): Promise<void>;
  /** Resolves when no run uses what it serves and none can be on its way, within limits. */
  released(): Promise<void>;
  /** Another process serves in its place: calls to a source file are aborted after a grace period. */
  replace(): void;
  /** Checks whether its certificate is still valid by the clock of the machine, and replaces the process if not. */
  checkCertificate(): void;
  /** Ends it now; only calls in flight may finish. */
  stop(): Promise<void>;
}

/** A piece of what a function wrote to one of its standard streams. */
interface FunctionOutput {
  readonly name: string;
  readonly stream: "stdout" | "stderr";
  readonly text: string;
}

/** What the processes of one control plane share. */
export interface ProcessDeps {
  readonly certificates: FunctionCertificates;
  readonly ports: PortPool;
  readonly networks: SandboxNetworkPool;
  readonly env: Readonly<Record<string, string>>;
  readonly clock: Clock;
  /** Where a function's output goes, besides the lines kept in memory. */
  readonly logFile: (spec: FunctionSpec) => LogFile;
  /** Called with the output of functions, as far as it is kept. */
  readonly onOutput?: ((output: FunctionOutput) => void) | undefined;
  readonly onChange: (process: FunctionProcess) => void;
  /** Called for a save of a source file, or of one it imports, instead of starting a new version. */
  readonly onSave?: ((process: FunctionProcess) => void) | undefined;
  readonly limits: ProcessLimits;
  readonly resources: ResourceSupervision;
}

/** Timeouts of function processes. */
export interface ProcessLimits {
  /** Until the first response. */
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
export function startFunctionProcess(spec: FunctionSpec, deps: ProcessDeps): FunctionProcess {
  return new RunningProcess(spec, deps);
}

class RunningProcess implements FunctionProcess {
  readonly name: string;
  readonly root: string | undefined;
  readonly isProvider: boolean;
  readonly #deps: ProcessDeps;
  readonly #log: LogFile;
  readonly #leases = createLeases();
  readonly #retirements: Retirements;
  readonly #renewal: Renewal;
  readonly #supervisor: Supervisor;
  readonly #supervision: Supervision;
  readonly #tail = createLogTail(logCharacters);
  readonly #waiting = new Set<() => void>();
  readonly #rate: LogRate;
  /** The limits that throttled or stopped it, oldest first. */
  readonly #notices = new Set<string>();
  #state: ProcessState = { phase: "starting" };
  #version = "";
  /** Aborts the calls to the serving version; undefined for packages, whose calls may finish. */
  #calls: AbortController | undefined;

  constructor(spec: FunctionSpec, deps: ProcessDeps) {
    const { certificates, limits, clock, ports, networks, env, resources } = deps;
    const { name, program, cwd } = spec;
    this.name = name;
    this.root = program.kind === "image" ? program.root : undefined;
    this.isProvider = isProvider(program);
    this.#calls = program.kind === "source" ? new AbortController() : undefined;
    this.#deps = deps;
    this.#log = deps.logFile(spec);
    const { lingerMs, holdMs: limitMs } = limits;
    this.#retirements = createRetirements({ clock, lingerMs, limitMs, leases: this.#leases });
    const supervision = resources.of(spec);
    this.#supervision = supervision;
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
        openNetwork: (maker) => networks.take(name, maker),
        openShaped: (maker, shape) => networks.open(maker, shape),
        certificates: folder,
        graceMs: limits.graceMs,
        supervision,
      }),
      file: program.kind === "source" ? program.file : undefined,
      ...(deps.onSave !== undefined && { onSave: () => deps.onSave?.(this) }),
      answers: (address, signal) =>
        isProvider(program)
          ? untilItRuns(clock, this.#state.phase === "failed" ? recoveredMs : settledMs, signal)
          : untilItAnswers({ address, tls: certificates.client.current().context, commonName: name, signal }),
      noun: isProvider(program) ? "provider" : "function",
      released: (address) => this.#retirements.ended(address),
      startLimitMs: limits.startMs,
      advice: isBare(program) && !isProvider(program) ? bareAdvice : undefined,
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

  acquire(endpoint: string): () => void {
    return this.#leases.acquire(endpoint).release;
  }

  get usage(): MeasuredUsage | undefined {
    return this.#supervision.usage();
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
    if (this.#state.phase === "serving") await this.#retirements.ended(this.#state.endpoint);
  }

  replace(): void {
    const calls = this.#calls;
    if (calls === undefined) return;
    this.#calls = new AbortController();
    const { clock, limits } = this.#deps;
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
    return { endpoint, version: this.#version, acquire: () => this.acquire(endpoint), replaced: this.#calls?.signal };
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
      exceeded: (text) => this.#remember(text),
      output: (stream, text) => {
        const kept = this.#rate.keep(text);
        if (kept === "") return;
        this.#tail.add(kept);
        this.#log.add(kept);
        this.#deps.onOutput?.({ name: this.name, stream, text: kept });
      },
    };
  }

  /** Records a limit that throttled the function, so that users see why it is slow or its log incomplete. */
  #notice(text: string): void {
    if (this.#notices.has(text)) return;
    this.#remember(text);
    this.#log.add(`${new Date(this.#deps.clock.now()).toISOString()}  WARN  ${text}\n`);
    if (this.#state.phase === "serving") this.#become(this.#withNotices(this.#state));
  }

  #remember(notice: string): void {
    this.#notices.add(notice);
    const [oldest] = this.#notices;
    if (this.#notices.size > mostNotices && oldest !== undefined) this.#notices.delete(oldest);
  }

  #withNotices<S extends ProcessState>(state: S): S {
    // The measured number differs each time; the last notice is enough.
    const notice = [...this.#notices].at(-1);
    return notice === undefined ? state : { ...state, notice };
  }

  /** Writes the reason to the log of a function that cannot start, once: each restart fails the same way. */
  #logProblem(problem: string): void {
    if (problem === problemOf(this.#state)) return;
    this.#log.add(`${new Date(this.#deps.clock.now()).toISOString()}  ERROR  ${problem}\n`);
  }

  #become(state: ProcessState): void {
    this.#state = state;
    for (const wake of this.#waiting) wake();
    this.#waiting.clear();
    this.#deps.onChange(this);
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

/** Notices name what was measured: a function that is throttled for days has any number of them. */
const mostNotices = 100;

/** A Provider that runs this long has started: it need not serve anything. One that ended before has to run for longer. */
const settledMs = 1_000;
const recoveredMs = 5_000;

function untilItRuns(clock: Clock, settleMs: number, signal: AbortSignal): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const cancel = clock.schedule(settleMs, resolve);
  const abort = (): void => {
    cancel();
    reject(signal.reason);
  };
  signal.addEventListener("abort", abort, { once: true });
  return promise.finally(() => signal.removeEventListener("abort", abort));
}

function problemOf(state: ProcessState): string | undefined {
  return state.phase === "starting" ? undefined : state.problem;
}

/** While an earlier version serves, a newer one that fails is a problem, not an outage. */
function withProblem(state: ProcessState, problem: string): ProcessState {
  return state.phase === "serving" ? { ...state, problem } : { phase: "failed", problem };
}
