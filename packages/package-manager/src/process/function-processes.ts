// SPDX-License-Identifier: Apache-2.0
import { join } from "node:path";
import { type Clock, systemClock, type TlsSource } from "@purlin/function-runner";
import { cleanEnvironment } from "./clean-environment.ts";
import { createPortPool } from "./free-port.ts";
import { createFunctionCertificates } from "./function-certificates.ts";
import { functionLogFolder, functionLogPath } from "./function-logs.ts";
import {
  type FunctionProcess,
  type FunctionSpec,
  type ProcessLimits,
  type ProcessSurroundings,
  startFunctionProcess,
} from "./function-process.ts";
import { openLogFile } from "./log-file.ts";

/** How functions run on this machine. */
export interface FunctionProcessesOptions {
  /** Certificates and logs go here. */
  readonly directory: string;
  /** The environment of this process; functions get only its harmless part. */
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly clock?: Clock | undefined;
  readonly limits?: Partial<ProcessLimits> | undefined;
  /** Told whenever a function begins to serve, fails or dies. */
  readonly onChange?: ((process: FunctionProcess) => void) | undefined;
}

/** The functions that run as child processes of this one. */
export interface FunctionProcesses extends AsyncDisposable {
  /** Our side of mutual TLS with all of them. */
  readonly security: TlsSource;
  /** The process of a function: the one that runs when it is the same program, a new one otherwise. */
  run(spec: FunctionSpec): FunctionProcess;
  get(name: string): FunctionProcess | undefined;
  /** The folder with the certificates a function is served with, whether or not it runs already. */
  certificates(name: string): Promise<string>;
  list(): readonly FunctionProcess[];
  /** Lets its calls finish and ends it. */
  stop(name: string): Promise<void>;
  /** Ends all of them. */
  close(): Promise<void>;
}

const logBytes = 1024 * 1024;

const defaultLimits: ProcessLimits = {
  startMs: 60_000,
  graceMs: 8_000,
  lingerMs: 1_000,
  holdMs: 120_000,
  restart: { baseMs: 500, maxMs: 30_000, healthyMs: 10_000 },
};

/** Starts, watches over and ends function processes. None of them outlives this process, however it ends. */
export function createFunctionProcesses(options: FunctionProcessesOptions): FunctionProcesses {
  const { directory, env, clock = systemClock, limits = {}, onChange = () => {} } = options;
  const certificates = createFunctionCertificates(join(directory, "certificates"));
  const surroundings: ProcessSurroundings = {
    certificates,
    ports: createPortPool(),
    env: cleanEnvironment(env),
    clock,
    logFile: (spec) => openLogFile(functionLogPath(join(directory, functionLogFolder), spec), logBytes),
    onChange,
    limits: { ...defaultLimits, ...limits },
  };
  return new ProcessTable(surroundings);
}

/** The same program, whoever asks for it and in whatever order its members are. */
function identityOf({ cwd, program }: FunctionSpec): string {
  return JSON.stringify([cwd, Object.entries(program).sort(([a], [b]) => (a < b ? -1 : 1))]);
}

interface Entry {
  readonly spec: string;
  readonly process: FunctionProcess;
}

class ProcessTable implements FunctionProcesses {
  readonly security: TlsSource;
  readonly #surroundings: ProcessSurroundings;
  readonly #entries = new Map<string, Entry>();
  readonly #stopping = new Set<Promise<void>>();

  constructor(surroundings: ProcessSurroundings) {
    this.#surroundings = surroundings;
    this.security = surroundings.certificates.client;
  }

  run(spec: FunctionSpec): FunctionProcess {
    const known = this.#entries.get(spec.name);
    const text = identityOf(spec);
    if (known?.spec === text) return known.process;
    if (known !== undefined) void this.#retire(known);
    const process = startFunctionProcess(spec, this.#surroundings);
    this.#entries.set(spec.name, { spec: text, process });
    return process;
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

  async stop(name: string): Promise<void> {
    const entry = this.#entries.get(name);
    if (entry === undefined) return;
    this.#entries.delete(name);
    await this.#retire(entry);
  }

  async close(): Promise<void> {
    await Promise.all([...this.#entries.keys()].map((name) => this.stop(name)));
    await Promise.all(this.#stopping);
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  #retire({ process }: Entry): Promise<void> {
    const stopped = process.stop().finally(() => this.#stopping.delete(stopped));
    this.#stopping.add(stopped);
    return stopped;
  }
}
