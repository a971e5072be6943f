// SPDX-License-Identifier: Apache-2.0

import { chmodSync, closeSync, existsSync, mkdirSync, openSync } from "node:fs";
import { dirname, join } from "node:path";
import { type Clock, type Log, silentLog, systemClock } from "@purlin/base";
import { Struct } from "@purlin/function-protocol";
import { boundRun, type CutPart } from "../record/cut-run.ts";
import { prepareRun } from "../record/prepare-run.ts";
import { type RunRecord, rawDigest } from "../record/stored-run.ts";
import { createRedactor } from "../redact/redact-messages.ts";
import { keyedMark, type Mark, readMarkKey, SensitiveKinds } from "../redact/sensitive-fields.ts";
import { type Bounds, defaultBounds, openDatabase, openForReading } from "./database.ts";
import { createRunReader, type RunReader } from "./run-reader.ts";
import { RunWriter } from "./run-writer.ts";

/** The file of a store, and the key of its marks beside it. */
const storeFile = "runs.db";
const keyFile = "runs.key";

/** Options of a store. */
export interface RunStoreOptions {
  readonly directory: string;
  readonly bounds?: Partial<Bounds> | undefined;
  /** Paths of fields to hide, beside those that are always hidden. */
  readonly redact?: readonly string[] | undefined;
  readonly clock?: Clock | undefined;
  readonly log?: Log | undefined;
  /** Called once, when runs can no longer be recorded. */
  readonly onWarning?: ((text: string) => void) | undefined;
}

/** Records runs, and reads them. */
export interface RunStore extends Disposable {
  /** The folder of its files. */
  readonly directory: string;
  readonly reader: RunReader;
  /** The kinds with sensitive fields, to be kept up to date by the caller. */
  readonly sensitive: SensitiveKinds;
  /** Takes a run over, by reference. Never throws; a run that cannot be taken is counted as dropped. */
  record(run: RunRecord): void;
  /** Stores all runs that were taken over. */
  flush(): void;
  readonly stats: RunStoreStats;
}

/** What a store has done since it was opened. */
interface RunStoreStats {
  readonly recorded: number;
  readonly dropped: number;
  /** The CPU time that recording took. */
  readonly cpuMs: number;
  /** Why nothing is recorded; undefined while runs are. */
  readonly problem: string | undefined;
}

const maxQueued = 256;
/**
 * Runs are stored in slices of this length, with a pause after each. While the event loop is busy, the next slice waits until the
 * thread has used this many times the CPU time of the last one for other work: recording takes at most a twentieth, also where the
 * process gets only a part of a core. Runs that come faster than that are dropped and counted.
 */
const sliceMs = 4;
const leastPauseMs = 80;
const pauseFactor = 20;
const busyUtilization = 0.5;
const expireEveryMs = 10 * 60_000;

/**
 * Opens a store for recording. A store that cannot be opened, or written to later, is reported once and records nothing: it never
 * fails a reconcile.
 */
export function openRunStore(options: RunStoreOptions): RunStore {
  return new Recorder(options);
}

/** The marks of the store in a folder. Throws when its key cannot be read. */
export function readStoreMark(directory: string): Mark {
  const path = join(directory, keyFile);
  if (!existsSync(path)) throw new Error(`${path} does not exist`);
  return keyedMark(readMarkKey(path));
}

/** Opens a store for reading only. */
export function readRunStore(directory: string): RunReader & Disposable {
  const database = openForReading(join(directory, storeFile));
  return { ...createRunReader(database), [Symbol.dispose]: () => database.close() };
}

type Open = ReturnType<typeof openFiles>;

function openFiles({ directory, redact }: RunStoreOptions, bounds: Bounds, sensitive: SensitiveKinds) {
  const path = join(directory, storeFile);
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
  const mark = keyedMark(readMarkKey(join(directory, keyFile)));
  hideFromOthers(path);
  const database = openDatabase(path);
  const redactor = createRedactor({ mark, sensitive, paths: redact });
  return { database, mark, redactor, writer: new RunWriter(database, bounds), reader: createRunReader(database) };
}

/** Lets only the owner read a database: SQLite gives the files beside it the mode that it has when they are created. */
function hideFromOthers(path: string): void {
  const mode = 0o600;
  if (!existsSync(path)) closeSync(openSync(path, "a", mode));
  for (const file of [path, `${path}-wal`, `${path}-shm`]) if (existsSync(file)) chmodSync(file, mode);
}

/** The CPU time of this thread, which costs less to read than that of all threads. */
function threadCpuMs(): number {
  const { user, system } = process.threadCpuUsage();
  return (user + system) / 1000;
}

class Recorder implements RunStore {
  readonly directory: string;
  readonly sensitive = new SensitiveKinds();
  readonly #options: RunStoreOptions;
  readonly #clock: Clock;
  readonly #log: Log;
  readonly #bounds: Bounds;
  readonly #known = new WeakMap<Struct, CutPart>();
  readonly #structs = new WeakMap<object, Struct>();
  #open: Open | undefined;
  #queue: RunRecord[] = [];
  #cancel: (() => void) | undefined;
  #nextExpiry = 0;
  /** The last slice: its CPU time, and how much the thread had worked by then. */
  #last = { cpuMs: 0, threadMs: 0, loop: performance.eventLoopUtilization() };
  #recorded = 0;
  #dropped = 0;
  #cpuMs = 0;
  #problem: string | undefined;

  constructor(options: RunStoreOptions) {
    this.#options = options;
    this.directory = options.directory;
    this.#clock = options.clock ?? systemClock;
    this.#log = options.log ?? silentLog;
    this.#bounds = { ...defaultBounds, ...options.bounds };
    this.#guarded(() => {
      this.#open = openFiles(options, this.#bounds, this.sensitive);
    });
  }

  get stats(): RunStoreStats {
    return { recorded: this.#recorded, dropped: this.#dropped, cpuMs: this.#cpuMs, problem: this.#problem };
  }

  get reader(): RunReader {
    return this.#open?.reader ?? { list: () => [], get: () => undefined };
  }

  record(run: RunRecord): void {
    if (this.#open === undefined) return;
    if (this.#queue.length >= maxQueued) {
      this.#dropped++;
      return;
    }
    // What waits must not keep large messages in memory.
    this.#queue.push(boundRun(run, this.#open.mark));
    this.#schedule();
  }

  flush(): void {
    this.#cancel?.();
    this.#slice(Number.POSITIVE_INFINITY);
  }

  [Symbol.dispose](): void {
    this.flush();
    this.#open?.database.close();
    this.#open = undefined;
  }

  #slice(forMs: number): void {
    this.#cancel = undefined;
    const [before, began] = [threadCpuMs(), performance.now()];
    this.#guarded(() => this.#store(began + forMs));
    const threadMs = threadCpuMs();
    const cpuMs = threadMs - before;
    this.#cpuMs += cpuMs;
    this.#last = { cpuMs, threadMs, loop: performance.eventLoopUtilization() };
    if (this.#queue.length > 0) this.#schedule();
  }

  #schedule(): void {
    this.#cancel ??= this.#clock.schedule(leastPauseMs, () => {
      this.#cancel = undefined;
      if (this.#isDue()) this.#slice(sliceMs);
      else this.#schedule();
    });
  }

  /** Whether there is little other work, or other work since the last slice outweighs it. */
  #isDue(): boolean {
    const { cpuMs, threadMs, loop } = this.#last;
    if (performance.eventLoopUtilization(loop).utilization < busyUtilization) return true;
    return threadCpuMs() - threadMs >= cpuMs * pauseFactor;
  }

  #store(until: number): void {
    const open = this.#open;
    if (open === undefined || this.#queue.length === 0) return;
    open.database.exec("BEGIN IMMEDIATE");
    let taken = 0;
    do {
      const run = this.#queue[taken++];
      if (run !== undefined) this.#write(run, open);
    } while (taken < this.#queue.length && performance.now() < until);
    const now = this.#clock.now();
    if (now >= this.#nextExpiry) {
      open.writer.expire(now);
      this.#nextExpiry = now + expireEveryMs;
    }
    open.writer.finish();
    open.database.exec("COMMIT");
    this.#queue = this.#queue.slice(taken);
    this.#recorded += taken;
  }

  #write(run: RunRecord, { redactor, mark, writer }: Open): void {
    const raw = rawDigest(run);
    const { apiVersion, kind, metadata } = run.xr;
    const { namespace, name = "" } = metadata;
    const subject = { apiVersion, kind, ...(namespace && { namespace }), name };
    if (raw !== "" && writer.repeat(subject, raw, run.endedMs)) return;
    const prepared = prepareRun(run, {
      redactor: redactor(),
      mark,
      known: this.#known,
      structOf: (object) => this.#structOf(object),
      maxRunBytes: this.#bounds.maxBytes / 4,
    });
    writer.write(prepared, raw);
  }

  #structOf(object: object): Struct {
    const known = this.#structs.get(object);
    if (known !== undefined) return known;
    const struct = Struct.rounded(object);
    this.#structs.set(object, struct);
    return struct;
  }

  /** Stops recording at the first failure. */
  #guarded(action: () => void): void {
    try {
      action();
    } catch (error) {
      this.#problem = error instanceof Error ? error.message : String(error);
      this.#queue = [];
      const { directory, onWarning } = this.#options;
      const text = `runs are no longer recorded: ${join(directory, storeFile)}: ${this.#problem}: free disk space, or remove the file, and restart`;
      this.#log.error("cannot record runs", { file: join(directory, storeFile), error: this.#problem });
      onWarning?.(`warning: ${text}`);
      this.#abandon();
    }
  }

  #abandon(): void {
    const { database } = this.#open ?? {};
    this.#open = undefined;
    try {
      database?.close();
    } catch {
      // It is given up anyway.
    }
  }
}
