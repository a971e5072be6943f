// SPDX-License-Identifier: Apache-2.0

import { chmodSync, closeSync, existsSync, mkdirSync, openSync } from "node:fs";
import { dirname, join } from "node:path";
import { type Clock, type Log, silentLog, systemClock, Turns, type Work } from "@purlin/base";
import { Struct } from "@purlin/function-protocol";
import { bytesUpTo } from "../record/bound-run.ts";
import type { CutPart } from "../record/cut-run.ts";
import { type PreparedRun, prepareRun } from "../record/prepare-run.ts";
import { type RunRecord, type RunSubject, rawDigest } from "../record/stored-run.ts";
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
  /** Takes a run over, by reference, and returns whether it did. Never throws; a run that cannot be taken is counted as dropped. */
  record(run: RunRecord): boolean;
  /** Stores all runs that were taken over, at once. */
  flush(): void;
  /** Stores the runs that were taken over until now, in parts that let other work run. */
  flushInTurns(): Promise<void>;
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
/** Runs that wait must not keep more bytes in memory, unless it is one. */
const maxQueuedBytes: number = 64 * 2 ** 20;
/** Runs with more bytes are stored without a look at whether they equal the one before. */
const largeRunBytes: number = 4 * 2 ** 20;

/** What is stored of a run; without a prepared run, it is counted as a repeat of the one before. */
interface ReadyRun {
  readonly raw: string;
  readonly prepared?: PreparedRun;
}

interface QueuedRun {
  readonly run: RunRecord;
  readonly bytes: number;
}
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
  const writer = new RunWriter(database, bounds);
  return { database, mark, redactor, writer, reader: createRunReader(database, (ref) => writer.waiting(ref)) };
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

function subjectOf({ xr: { apiVersion, kind, metadata } }: RunRecord): RunSubject {
  const { namespace, name = "" } = metadata;
  return { apiVersion, kind, ...(namespace && { namespace }), name };
}

const textOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));

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
  #queue: QueuedRun[] = [];
  #queuedBytes = 0;
  /** What stores the first run of the queue, or removes old runs. */
  #storing: Work<void> | undefined;
  /** Whether a transaction is open, and whether a run is stored in it in part. */
  #transaction: "none" | "open" | "writing" = "none";
  #cancel: (() => void) | undefined;
  #nextExpiry = 0;
  /** The last slice: its CPU time, and how much the thread had worked by then. */
  #last = { cpuMs: 0, threadMs: 0, loop: performance.eventLoopUtilization() };
  /** Runs that have left the queue. */
  #finished = 0;
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
    return (
      this.#open?.reader ?? {
        list: () => [],
        listInTurns: async () => [],
        get: () => undefined,
        getInTurns: async () => undefined,
      }
    );
  }

  record(run: RunRecord): boolean {
    if (this.#open === undefined) return false;
    const bytes = this.#bytesOf(run);
    if (bytes === undefined) return false;
    const isFull = this.#queue.length >= maxQueued || this.#queuedBytes + bytes > maxQueuedBytes;
    if (isFull && this.#queue.length > 0) {
      this.#dropped++;
      return false;
    }
    this.#queue.push({ run, bytes });
    this.#queuedBytes += bytes;
    this.#schedule();
    return true;
  }

  /** The bytes of a run; undefined when it has an object that cannot be read, so that it is dropped. */
  #bytesOf(run: RunRecord): number | undefined {
    try {
      return bytesUpTo(maxQueuedBytes, run);
    } catch (error) {
      this.#drop(run, error);
      return undefined;
    }
  }

  #drop(run: RunRecord, error: unknown): void {
    this.#dropped++;
    const { kind, namespace, name } = subjectOf(run);
    this.#log.info("cannot record a run", { kind, namespace, name, error: textOf(error) });
  }

  flush(): void {
    this.#cancel?.();
    this.#slice(Number.POSITIVE_INFINITY);
  }

  async flushInTurns(): Promise<void> {
    const last = this.#finished + this.#queue.length;
    const turns = new Turns();
    while (this.#open !== undefined && this.#finished < last) {
      this.#cancel?.();
      this.#slice(sliceMs);
      if (turns.isOver) await turns.next();
    }
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
    if (this.#queue.length > 0 || this.#storing !== undefined) this.#schedule();
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
    if (open === undefined) return;
    do {
      this.#storing ??= this.#nextWork(open);
      if (this.#storing === undefined) break;
      if (this.#storing.next().done) this.#storing = undefined;
    } while (performance.now() < until);
    // A run that is stored in part is finished in a later slice, in the same transaction.
    if (this.#transaction === "open") this.#commit(open);
  }

  #begin({ database }: Open): void {
    if (this.#transaction === "none") database.exec("BEGIN IMMEDIATE");
    this.#transaction = "writing";
  }

  #commit({ database, writer }: Open): void {
    writer.finish();
    database.exec("COMMIT");
    this.#transaction = "none";
  }

  *#expire(open: Open): Work<void> {
    this.#begin(open);
    yield* open.writer.expire(this.#clock.now());
    this.#transaction = "open";
    this.#nextExpiry = this.#clock.now() + expireEveryMs;
  }

  /** What is to be done next: old runs are removed after the first ones are stored, and every ten minutes. */
  #nextWork(open: Open): Work<void> | undefined {
    const isDue = this.#recorded > 0 && this.#clock.now() >= this.#nextExpiry;
    if (isDue && (this.#nextExpiry > 0 || this.#queue.length === 0)) return this.#expire(open);
    return this.#queue.length === 0 ? undefined : this.#write(open);
  }

  /** Stores the first run of the queue. */
  *#write(open: Open): Work<void> {
    const [first] = this.#queue;
    if (first === undefined) return;
    const { run, bytes } = first;
    const ready = yield* this.#prepared(first, open);
    if (ready !== undefined) {
      this.#begin(open);
      if (ready.prepared === undefined) open.writer.repeat(subjectOf(run), run.endedMs);
      else yield* open.writer.write(ready.prepared, ready.raw);
      this.#transaction = "open";
      this.#recorded++;
    }
    this.#queue.shift();
    this.#finished++;
    this.#queuedBytes -= bytes;
  }

  /** What is stored of a run; nothing of one with an object that cannot be read. */
  *#prepared({ run, bytes }: QueuedRun, { writer, redactor, mark }: Open): Work<ReadyRun | undefined> {
    try {
      const raw = bytes > largeRunBytes ? "" : yield* rawDigest(run);
      if (raw !== "" && writer.repeats(subjectOf(run), raw)) return { raw };
      const prepared = yield* prepareRun(run, {
        redactor: redactor(),
        mark,
        known: this.#known,
        structOf: (object) => this.#structOf(object),
        maxRunBytes: this.#bounds.maxBytes / 4,
      });
      return { raw, prepared };
    } catch (error) {
      this.#drop(run, error);
      return undefined;
    }
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
      this.#problem = textOf(error);
      this.#queue = [];
      this.#storing = undefined;
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
