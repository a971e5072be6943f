// SPDX-License-Identifier: Apache-2.0
import { join } from "node:path";
import { type Clock, systemClock, type TlsSource } from "@purlin/function-runner";
import { openBehind } from "../sandbox/network-door.ts";
import type { Sandbox } from "../sandbox/sandbox-arguments.ts";
import { createCellPool } from "./cell-pool.ts";
import { cleanEnvironment } from "./clean-environment.ts";
import { createPortPool } from "./free-port.ts";
import { createFunctionCertificates } from "./function-certificates.ts";
import { collectFunctionLogs, functionLogFolder, functionLogPath } from "./function-logs.ts";
import {
  type FunctionProcess,
  type FunctionSpec,
  type ProcessLimits,
  type ProcessSurroundings,
  startFunctionProcess,
} from "./function-process.ts";
import { openLogFile } from "./log-file.ts";
import { openCell } from "./network-cell.ts";
import { refusedProcess, sandboxRefusal } from "./refused-process.ts";
import { openSupervision, type SupervisionOptions } from "./supervision.ts";

/** How functions run on this machine. */
export interface FunctionProcessesOptions {
  /** Certificates and logs go here. */
  readonly directory: string;
  /** The environment of this process; functions get only its harmless part. */
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly clock?: Clock | undefined;
  /** Days a certificate is good for; it is renewed, and the process replaced, when a third of them is left. A year unless given. */
  readonly certificateDays?: number | undefined;
  /**
   * Where the certificate that functions are called with is written, with its key, for other programs of the same user: `ca.crt`,
   * `tls.crt` and `tls.key`. Nowhere unless given.
   */
  readonly clientFolder?: string | undefined;
  readonly limits?: Partial<ProcessLimits> | undefined;
  /** What functions may use, and how that is enforced. */
  readonly supervision?: SupervisionOptions | undefined;
  /** Refuses programs that would run without a sandbox: they fail with the reason. */
  readonly requireSandbox?: boolean | undefined;
  /** Told whenever a function begins to serve, fails or dies. */
  readonly onChange?: ((process: FunctionProcess) => void) | undefined;
}

/** The functions that run as child processes of this one. */
export interface FunctionProcesses extends AsyncDisposable {
  /** Our side of mutual TLS with all of them, and the short way to those in a sandbox. */
  readonly security: TlsSource;
  /** What the limits of functions are enforced by, in words. */
  readonly mechanism: string;
  /**
   * The process of a function: the one that runs when it is the same program, a new one otherwise. What it replaces stays until the
   * new one serves or fails, and until nobody uses it.
   */
  run(spec: FunctionSpec): FunctionProcess;
  /** Makes ready what a function that is about to be run in a sandbox needs, and nothing of the function itself. */
  warm(name: string, sandbox: Sandbox): void;
  get(name: string): FunctionProcess | undefined;
  /** The folder with the certificates a function is served with, whether or not it runs already. */
  certificates(name: string): Promise<string>;
  list(): readonly FunctionProcess[];
  /** The unpacked images that something runs from, also what is about to end. */
  roots(): ReadonlySet<string>;
  /** Removes logs of what neither runs nor is there any more, but for the last few of each Function. */
  collectLogs(isThere: (name: string) => boolean): Promise<void>;
  /** To be called when the clock of the machine was set: certificates that are not valid now are replaced, with what serves with them. */
  checkCertificates(): void;
  /** Nobody is given it any more; it ends when nobody uses it. */
  stop(name: string): Promise<void>;
  /** Ends all of them, also those that are still used. */
  close(): Promise<void>;
}

const defaultDays = 365;
const logBytes = 1024 * 1024;
/** Logs of each Function that outlive their revision: they may tell why it went. */
const spareLogs = 10;

const defaultLimits: ProcessLimits = {
  startMs: 60_000,
  graceMs: 8_000,
  lingerMs: 1_000,
  holdMs: 120_000,
  replacedMs: 2_000,
  restart: { baseMs: 500, maxMs: 30_000, healthyMs: 10_000 },
};

/** Starts, watches over and ends function processes. None of them outlives this process, however it ends. */
export function createFunctionProcesses(options: FunctionProcessesOptions): FunctionProcesses {
  const { directory, env, clock = systemClock, limits = {}, onChange = () => {} } = options;
  const { certificateDays: days = defaultDays, clientFolder } = options;
  const times = { now: () => clock.now(), days, clientFolder };
  const certificates = createFunctionCertificates(join(directory, "certificates"), times);
  const resources = openSupervision(directory, options.supervision);
  const surroundings: ProcessSurroundings = {
    certificates,
    ports: createPortPool(),
    cells: createCellPool(clock, (sandbox) => openCell(sandbox, resources.general)),
    resources,
    env: cleanEnvironment(env),
    clock,
    logFile: (spec) => openLogFile(functionLogPath(join(directory, functionLogFolder), spec), logBytes),
    onChange,
    limits: { ...defaultLimits, ...limits },
  };
  const begin = (spec: FunctionSpec): FunctionProcess => {
    const refusal = options.requireSandbox === true ? sandboxRefusal(spec) : undefined;
    if (refusal === undefined) return startFunctionProcess(spec, surroundings);
    const refused = refusedProcess(spec.name, refusal);
    // Once the caller has it: it may look at the process only when it is in the table.
    queueMicrotask(() => onChange(refused));
    return refused;
  };
  return new ProcessTable({ surroundings, begin, logFolder: join(directory, functionLogFolder) });
}

/** The name of the process, and of its certificate: a function without a package has its endpoint behind it. */
function processOf({ revisionName }: { readonly revisionName: string }): string {
  return revisionName.split("@", 1)[0] ?? "";
}

/** The same program, whoever asks for it and in whatever order its members are. */
function identityOf({ cwd, program, limits = {} }: FunctionSpec): string {
  return JSON.stringify([cwd, limits, Object.entries(program).sort(([a], [b]) => (a < b ? -1 : 1))]);
}

interface Entry {
  readonly spec: string;
  readonly process: FunctionProcess;
  /** It has been told to end. */
  isEnding: boolean;
}

interface TableParts {
  readonly surroundings: ProcessSurroundings;
  /** Starts a function, or refuses it. */
  readonly begin: (spec: FunctionSpec) => FunctionProcess;
  readonly logFolder: string;
}

class ProcessTable implements FunctionProcesses {
  readonly security: TlsSource;
  readonly mechanism: string;
  readonly #surroundings: ProcessSurroundings;
  readonly #begin: (spec: FunctionSpec) => FunctionProcess;
  readonly #logFolder: string;
  readonly #entries = new Map<string, Entry>();
  /** Those that nobody is given any more, unless they are wanted again. */
  readonly #retiring = new Set<Entry>();
  readonly #forgetting = new Set<Promise<void>>();
  #isClosed = false;

  constructor({ surroundings, begin, logFolder }: TableParts) {
    this.#surroundings = surroundings;
    this.#begin = begin;
    this.#logFolder = logFolder;
    this.mechanism = surroundings.resources.mechanism;
    const { client } = surroundings.certificates;
    this.security = { current: () => client.current(), commonName: processOf, open: openBehind };
  }

  run(spec: FunctionSpec): FunctionProcess {
    const { name } = spec;
    const known = this.#entries.get(name);
    const text = identityOf(spec);
    if (known?.spec === text) return known.process;
    const entry = this.#wantedAgain(name, text) ?? {
      spec: text,
      process: this.#begin(spec),
      isEnding: false,
    };
    this.#entries.set(name, entry);
    if (known !== undefined) void this.#retire(known, entry.process.settled());
    return entry.process;
  }

  warm(name: string, sandbox: Sandbox): void {
    if (!this.#entries.has(name)) this.#surroundings.cells.warm(name, sandbox);
  }

  #wantedAgain(name: string, spec: string): Entry | undefined {
    return [...this.#retiring].find((one) => one.process.name === name && one.spec === spec && !one.isEnding);
  }

  get(name: string): FunctionProcess | undefined {
    return this.#entries.get(name)?.process;
  }

  certificates(name: string): Promise<string> {
    return this.#surroundings.certificates.serverFolder(name);
  }

  list(): readonly FunctionProcess[] {
    return [...this.#entries.values()].map(({ process }) => process);
  }

  roots(): ReadonlySet<string> {
    const all = [...this.#entries.values(), ...this.#retiring];
    return new Set(all.flatMap(({ process }) => process.root ?? []));
  }

  collectLogs(isThere: (name: string) => boolean): Promise<void> {
    return collectFunctionLogs(this.#logFolder, {
      isThere: ({ revision }) => this.#entries.has(revision) || isThere(revision),
      spare: spareLogs,
    });
  }

  checkCertificates(): void {
    for (const { process } of this.#entries.values()) process.checkCertificate();
  }

  async stop(name: string): Promise<void> {
    const entry = this.#entries.get(name);
    if (entry === undefined) return;
    this.#entries.delete(name);
    await this.#retire(entry);
    if (!this.#entries.has(name)) await this.#forget(name);
  }

  /** After the end the folder is that of whoever comes next, who starts with an empty one. */
  async #forget(name: string): Promise<void> {
    if (this.#isClosed) return;
    const forgetting = this.#surroundings.certificates.forget(name);
    this.#forgetting.add(forgetting);
    await forgetting.finally(() => this.#forgetting.delete(forgetting));
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    const all = [...this.#entries.values(), ...this.#retiring];
    this.#entries.clear();
    await Promise.all([...all.map((entry) => end(entry)), this.#surroundings.cells.close()]);
    await Promise.allSettled(this.#forgetting);
    this.#surroundings.resources.close();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  /** Ends a process once its successor has had its chance and nobody uses it, unless it is wanted again by then. */
  async #retire(entry: Entry, successor: Promise<void> = Promise.resolve()): Promise<void> {
    const { process } = entry;
    this.#retiring.add(entry);
    await successor;
    if (this.#entries.get(process.name) !== entry) process.replace();
    await process.released();
    if (this.#entries.get(process.name) !== entry) await end(entry);
    this.#retiring.delete(entry);
  }
}

function end(entry: Entry): Promise<void> {
  entry.isEnding = true;
  return entry.process.stop();
}
