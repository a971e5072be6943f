// SPDX-License-Identifier: Apache-2.0

import { join } from "node:path";
import { type Clock, systemClock } from "@purlin/base";
import type { TlsSource } from "@purlin/function-runner";
import { createSandboxNetworkPool, openSandboxNetwork } from "../image/sandbox-network.ts";
import { openBehind } from "../sandbox/private-network.ts";
import type { Sandbox } from "../sandbox/sandbox-arguments.ts";
import { cleanEnvironment } from "../spawn/guarded-process.ts";
import { openSupervision, type SupervisionOptions } from "../spawn/supervision.ts";
import { createFunctionCertificates } from "./function-certificates.ts";
import { collectFunctionLogs, functionLogFolder, functionLogPath, openLogFile } from "./function-output.ts";
import { createPortPool } from "./function-port.ts";
import {
  type FunctionProcess,
  type FunctionSpec,
  type ProcessDeps,
  type ProcessLimits,
  startFunctionProcess,
} from "./function-process.ts";
import { refusedProcess, sandboxRefusal } from "./launch-function.ts";

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
  /** Called whenever a function starts to serve, fails or dies. */
  readonly onChange?: ((process: FunctionProcess) => void) | undefined;
  /** Called for a save of a source file, or of one it imports; `reload` then starts the new version. By default a save starts it. */
  readonly onSave?: ProcessDeps["onSave"];
  /** Called with what a function writes to its standard streams, within its limits. */
  readonly onOutput?: ProcessDeps["onOutput"];
}

/** The functions that run as child processes of this one. */
export interface FunctionProcesses extends AsyncDisposable {
  /** Our side of mutual TLS with all of them, and the short way to those in a sandbox. */
  readonly security: TlsSource;
  /** What the limits of functions are enforced by, in words. */
  readonly mechanism: string;
  /**
   * The process of a function: the one that runs when it is the same program, a new one otherwise. What it replaces stays until the
   * new one serves or fails, and until no call uses it.
   */
  run(spec: FunctionSpec): FunctionProcess;
  /** Makes ready what a function that is about to be run in a sandbox needs, and nothing of the function itself. */
  warm(name: string, sandbox: Sandbox): void;
  get(name: string): FunctionProcess | undefined;
  /** The folder with the certificates a function is served with, whether or not it runs already. */
  certificates(name: string, dnsNames?: readonly string[]): Promise<string>;
  list(): readonly FunctionProcess[];
  /** The unpacked images that something runs from, also what is about to end. */
  roots(): ReadonlySet<string>;
  /** Removes logs of what neither runs nor is there, but for the last few of each Function. */
  collectLogs(isThere: (name: string) => boolean): Promise<void>;
  /** To be called when the clock of the machine was set: certificates that are not valid now are replaced, with what serves with them. */
  checkCertificates(): void;
  /** Takes no new calls and ends when no call uses it. */
  stop(name: string): Promise<void>;
  /** Ends it now, also while calls use it: a function that does not answer keeps its calls. The next run starts another process. */
  end(name: string): Promise<void>;
  /** Calls the listener whenever a function begins to serve, fails or dies; the result ends that. */
  onChange(listener: (process: FunctionProcess) => void): () => void;
  /** Ends all of them, also those that are still used. */
  close(): Promise<void>;
}

const defaultDays = 365;
const logBytes = 1024 * 1024;
/** Logs of each Function that outlive their revision: they may contain the reason. */
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
  const { directory, env, clock = systemClock, limits = {} } = options;
  const listeners = new Set(options.onChange === undefined ? [] : [options.onChange]);
  const onChange = (process: FunctionProcess): void => {
    for (const listener of listeners) listener(process);
  };
  const { certificateDays: days = defaultDays, clientFolder } = options;
  const times = { now: () => clock.now(), days, clientFolder };
  const certificates = createFunctionCertificates(join(directory, "certificates"), times);
  const resources = openSupervision(directory, options.supervision);
  const deps: ProcessDeps = {
    certificates,
    ports: createPortPool(),
    networks: createSandboxNetworkPool(clock, (maker, shape) =>
      openSandboxNetwork(maker, { ...shape, supervision: resources.general }),
    ),
    resources,
    env: cleanEnvironment(env),
    clock,
    logFile: (spec) => openLogFile(functionLogPath(join(directory, functionLogFolder), spec), logBytes),
    onOutput: options.onOutput,
    onChange,
    onSave: options.onSave,
    limits: { ...defaultLimits, ...limits },
  };
  const begin = (spec: FunctionSpec): FunctionProcess => {
    const refusal = options.requireSandbox === true ? sandboxRefusal(spec) : undefined;
    if (refusal === undefined) return startFunctionProcess(spec, deps);
    const refused = refusedProcess(spec, refusal);
    // Once the caller has it: it may look at the process only when it is in the table.
    queueMicrotask(() => onChange(refused));
    return refused;
  };
  return new ProcessTable({ deps, begin, listeners, logFolder: join(directory, functionLogFolder) });
}

/** The name of the process, and of its certificate: a function without a package has its endpoint behind it. */
function processOf({ revisionName }: { readonly revisionName: string }): string {
  return revisionName.split("@", 1)[0] ?? "";
}

/** Equal for equal programs, whatever the order of their members. */
function identityOf({ cwd, program, limits = {} }: FunctionSpec): string {
  return JSON.stringify([cwd, limits, Object.entries(program).sort(([a], [b]) => (a < b ? -1 : 1))]);
}

interface Entry {
  readonly spec: string;
  readonly process: FunctionProcess;
  /** It is being stopped. */
  isEnding: boolean;
}

interface TableDeps {
  readonly deps: ProcessDeps;
  /** Starts a function, or refuses it. */
  readonly begin: (spec: FunctionSpec) => FunctionProcess;
  readonly listeners: Set<(process: FunctionProcess) => void>;
  readonly logFolder: string;
}

class ProcessTable implements FunctionProcesses {
  readonly security: TlsSource;
  readonly mechanism: string;
  readonly #deps: ProcessDeps;
  readonly #begin: (spec: FunctionSpec) => FunctionProcess;
  readonly #listeners: Set<(process: FunctionProcess) => void>;
  readonly #logFolder: string;
  readonly #entries = new Map<string, Entry>();
  /** Processes that take no new calls, unless they are requested again. */
  readonly #retiring = new Set<Entry>();
  readonly #forgetting = new Set<Promise<void>>();
  #isClosed = false;

  constructor({ deps, begin, listeners, logFolder }: TableDeps) {
    this.#deps = deps;
    this.#begin = begin;
    this.#listeners = listeners;
    this.#logFolder = logFolder;
    this.mechanism = deps.resources.mechanism;
    const { client } = deps.certificates;
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

  onChange(listener: (process: FunctionProcess) => void): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  warm(name: string, sandbox: Sandbox): void {
    if (!this.#entries.has(name)) this.#deps.networks.warm(name, sandbox);
  }

  #wantedAgain(name: string, spec: string): Entry | undefined {
    return [...this.#retiring].find((one) => one.process.name === name && one.spec === spec && !one.isEnding);
  }

  get(name: string): FunctionProcess | undefined {
    return this.#entries.get(name)?.process;
  }

  certificates(name: string, dnsNames?: readonly string[]): Promise<string> {
    return this.#deps.certificates.serverFolder(name, dnsNames);
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
    await this.#remove(name, (entry) => this.#retire(entry));
  }

  async end(name: string): Promise<void> {
    await this.#remove(name, async (entry) => {
      this.#retiring.add(entry);
      entry.process.replace();
      await end(entry);
      this.#retiring.delete(entry);
    });
  }

  async #remove(name: string, ending: (entry: Entry) => Promise<void>): Promise<void> {
    const entry = this.#entries.get(name);
    if (entry === undefined) return;
    this.#entries.delete(name);
    await ending(entry);
    if (!this.#entries.has(name)) await this.#forget(name);
  }

  /** After close the folder belongs to the next run, which empties it first. */
  async #forget(name: string): Promise<void> {
    if (this.#isClosed) return;
    const forgetting = this.#deps.certificates.forget(name);
    this.#forgetting.add(forgetting);
    await forgetting.finally(() => this.#forgetting.delete(forgetting));
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    const all = [...this.#entries.values(), ...this.#retiring];
    this.#entries.clear();
    await Promise.all([...all.map((entry) => end(entry)), this.#deps.networks.close()]);
    await Promise.allSettled(this.#forgetting);
    this.#deps.resources.close();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  /** Ends a process once its successor serves or failed and no call uses it, unless it was requested again by then. */
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
