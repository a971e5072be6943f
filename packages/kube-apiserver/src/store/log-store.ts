// SPDX-License-Identifier: Apache-2.0
import type { Log } from "./change-log.ts";
import { type DataDirectory, fullError, isBeyondRepair, isFull, writeError } from "./data-directory.ts";
import type { DiskReserve } from "./disk-reserve.ts";
import { GroupCommit } from "./group-commit.ts";
import type { HistoryLimits } from "./history.ts";
import { Draft, requireKept } from "./keyspace.ts";
import { Maintenance } from "./maintenance.ts";
import { Memory } from "./memory.ts";
import { RevisionWaiters } from "./revision-waiters.ts";
import type {
  Codec,
  Decision,
  Entry,
  ListOptions,
  Page,
  StageListener,
  Store,
  Transaction,
  Watch,
  WatchOptions,
  Written,
} from "./store.ts";
import { StoreError } from "./store-error.ts";
import { type Decoder, isNoLarger, rowOf, Version } from "./version.ts";
import { Watcher, WatchHub } from "./watch-hub.ts";

export interface LogStoreOptions<T extends object> {
  readonly log: Log;
  readonly directory: Pick<DataDirectory, "path" | "release">;
  readonly codec: Codec<T>;
  readonly decoder: Decoder<T>;
  readonly limits: HistoryLimits;
  readonly now: () => number;
  /** Room on the disk for deletions; none where nothing is written. */
  readonly reserve?: DiskReserve;
  /** Why no write will be taken from the start. */
  readonly refusal?: StoreError;
}

// Deleting old rows touches pages all over the file, so it waits for a quiet moment; only a long backlog rides on commits.
const maxBacklog = 20_000;
// Room in the database that is enough for ordinary writes.
const roomBytes = 1024 * 1024;
// On a full disk, this many rows are deleted at once, this many times.
const [pieceSize, pieces] = [50, 20];
// How much of one chore is done at once, so that none holds the event loop.
const chore = 1000;

// How long a refused write counts: whether the next one would be refused too, only the next one shows.
const failureMs = 30_000;

/** The store: everything in memory, every change in the log before it is visible. */
export class LogStore<T extends object> implements Store<T> {
  readonly #options: LogStoreOptions<T>;
  readonly #memory: Memory<T>;
  readonly #hub = new WatchHub<T>();
  readonly #waiters = new RevisionWaiters();
  readonly #commits: GroupCommit<Version<T>>;
  readonly #maintenance: Maintenance;
  readonly #followers: { readonly prefix: string; readonly listener: StageListener<T> }[] = [];
  /** The last revision given to a writer. Writes that failed leave gaps. */
  #assigned: number;
  /** Copies of the log that are being written. */
  readonly #copies = new Set<Promise<void>>();
  /** Why no write is taken. */
  #refusal: StoreError | undefined;
  #checkpointed = true;
  /** Whether anything was committed since the last maintenance. */
  #isBusy = false;
  /** The last time the disk refused, until it takes something again. */
  #failure: { readonly error: StoreError; readonly at: number } | undefined;

  constructor(options: LogStoreOptions<T>) {
    this.#options = options;
    this.#memory = new Memory(options.limits, options.log.compactedRevision);
    const now = options.now();
    for (const row of options.log.read()) {
      this.#memory.load(row, options.decoder, now);
    }
    this.#assigned = this.#memory.revision;
    this.#commits = new GroupCommit({
      commit: (versions) => this.#commit(versions),
      abandon: (versions) => this.#abandon(versions),
      sizeOf: (version) => version.bytes.length,
    });
    this.#maintenance = new Maintenance(() => this.#maintain());
    this.#refusal = options.refusal;
    if (this.#refusal === undefined) {
      options.reserve?.hold();
      this.#maintenance.wake();
    }
  }

  get problem(): StoreError | undefined {
    const { directory, log, now } = this.#options;
    if (this.#refusal !== undefined) return this.#refusal;
    const misplaced = log.problem();
    if (misplaced !== undefined) return writeError(directory.path, new Error(misplaced));
    const isRecent = this.#failure !== undefined && now() - this.#failure.at < failureMs;
    return isRecent ? this.#failure?.error : this.#hasRoom() ? undefined : fullError(directory.path);
  }

  get revision(): number {
    return this.#memory.revision;
  }

  get compactedRevision(): number {
    return this.#memory.compactedRevision;
  }

  get(key: string): Entry<T> | undefined {
    return this.#memory.keyspace.get(key);
  }

  list(options: ListOptions<T>): Page<T> {
    const revision = options.revision ?? this.revision;
    requireKept(revision, this.compactedRevision, this.revision);
    return this.#memory.keyspace.list({ ...options, revision });
  }

  watch(options: WatchOptions<T>): Watch<T> {
    this.#requireOpen();
    requireKept(options.after, this.compactedRevision, Number.POSITIVE_INFINITY);
    const watcher = new Watcher<T>(this.#memory, options, (closing) => this.#hub.remove(closing));
    this.#hub.add(watcher);
    return watcher;
  }

  async write(key: string, decide: (transaction: Transaction<T>) => Decision<T>): Promise<Written<T>> {
    this.#requireWritable(key);
    const draft = new Draft(this.#memory.keyspace, key, this.#assigned + 1);
    const previous = draft.current;
    let version: Version<T> | undefined;
    try {
      version = this.#stage(key, draft, decide(draft));
    } catch (error) {
      await this.#settled(draft);
      throw error;
    }
    if (version === undefined) {
      await this.#settled(draft);
      return { entry: previous, previous, revision: undefined };
    }
    await this.#commits.add(version);
    return { entry: version.entry, previous, revision: version.revision };
  }

  follow(prefix: string, listener: StageListener<T>): void {
    for (const entry of this.list({ prefix }).entries) listener(entry.key, entry);
    this.#followers.push({ prefix, listener });
  }

  waitFor(revision: number, signal: AbortSignal): Promise<void> {
    this.#requireOpen();
    return this.revision >= revision ? Promise.resolve() : this.#waiters.add(revision, signal);
  }

  compact(revision: number): void {
    const upTo = Math.min(revision, this.revision);
    this.#memory.trim(this.#options.now(), upTo, Number.POSITIVE_INFINITY);
    // Revisions may have gaps, so the last change dropped can lie before what was asked for.
    this.#memory.compactedRevision = Math.max(this.#memory.compactedRevision, upTo);
    this.#maintenance.wake();
  }

  async copyTo(path: string): Promise<void> {
    this.#requireOpen();
    const copying = this.#options.log.copyTo(path).finally(() => this.#copies.delete(copying));
    this.#copies.add(copying);
    await copying;
  }

  async close(): Promise<void> {
    if (this.#isClosed()) return;
    this.#commits.flush();
    this.#refusal = new StoreError("closed", "the store was closed");
    this.#maintenance.stop();
    this.#hub.end(this.#refusal);
    this.#waiters.fail(this.#refusal);
    await Promise.allSettled(this.#copies);
    this.#options.log.close();
    this.#options.directory.release();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  /** The new version, seen by writers from now on; undefined when there is nothing to change. */
  #stage(key: string, draft: Draft<T>, decision: Decision<T>): Version<T> | undefined {
    const { current, revision } = draft;
    if (decision.action === "keep" || (decision.action === "delete" && current === undefined)) return undefined;
    const { codec, decoder } = this.#options;
    const put = decision.action === "put" ? decision : undefined;
    const bytes = put && codec.encode(put.value);
    const frees = bytes === undefined || (put?.frees === true && isNoLarger(bytes, current));
    this.#requireRoom(frees);
    const version = new Version<T>({
      frees,
      key,
      revision,
      createRevision: current?.createRevision ?? revision,
      bytes,
      expiresAt: put?.expiresAt,
      decoder,
    });
    if (put !== undefined) decoder.remember(version, put.value);
    this.#assigned = revision;
    this.#memory.keyspace.stage(version);
    this.#staged(key);
    return version;
  }

  #staged(key: string): void {
    for (const { prefix, listener } of this.#followers) {
      if (key.startsWith(prefix)) listener(key, this.#memory.keyspace.newest(key).version?.entry);
    }
  }

  /** An answer, even a refusal, that rests on a state not yet durable must wait until it is. */
  #settled(draft: Draft<T>): Promise<void> {
    return draft.sawPending ? this.#commits.settled() : Promise.resolve();
  }

  #commit(versions: readonly Version<T>[]): void {
    // A chore may have met a failed sync since these were accepted.
    if (this.#refusal !== undefined) throw this.#refusal;
    const isBehind = this.#memory.obsolete.length > maxBacklog;
    this.#logWithReserve(versions, isBehind ? 2 * versions.length : 0);
    const now = this.#options.now();
    for (const version of versions) {
      this.#hub.publish(this.#memory.commit(version, now));
    }
    this.#memory.trim(now, 0, chore);
    this.#waiters.reached(this.revision);
    this.#maintenance.wake();
  }

  /** What was kept free for deletions is for nothing else. */
  #requireRoom(frees: boolean): void {
    const { reserve, directory } = this.#options;
    if (frees || this.#hasRoom() || reserve?.hold() === true) return;
    throw fullError(directory.path);
  }

  /** Deletions leave room in the database, even where the disk has none. */
  #hasRoom(): boolean {
    const { log, reserve } = this.#options;
    return reserve?.isReleased !== true || log.freeBytes() >= roomBytes;
  }

  /** Logs; on a full disk after the write-ahead log was emptied, and what leads to deletions with all the room there is. */
  #logWithReserve(versions: readonly Version<T>[], cleanup: number): void {
    const { reserve } = this.#options;
    const isForced = reserve !== undefined && versions.every(({ frees }) => frees);
    const makers = isForced ? [reserve.release, this.#makeRoom] : [this.#checkpoint];
    for (const makeRoom of makers) {
      try {
        this.#log(versions, cleanup);
        return;
      } catch (error) {
        if (!(error instanceof StoreError) || !isFull(error)) throw error;
        makeRoom();
      }
    }
    this.#log(versions, cleanup);
  }

  /** Drops all history, piece by piece: each piece needs some room in the write-ahead log, which a checkpoint frees. */
  readonly #makeRoom = (): void => {
    this.#memory.trim(this.#options.now(), this.revision, Number.POSITIVE_INFINITY);
    this.#checkpoint();
    for (let piece = 0; piece < pieces && this.#memory.obsolete.length > 0; piece += 1) {
      this.#cleanUp(pieceSize);
      this.#checkpoint();
    }
  };

  #log(versions: readonly Version<T>[], cleanup: number): void {
    const { obsolete, compactedRevision } = this.#memory;
    const dropped = obsolete.splice(0, cleanup);
    try {
      this.#options.log.commit({ changes: versions.map(rowOf), obsolete: dropped, compactedRevision });
      this.#checkpointed = false;
      this.#isBusy = true;
      this.#failure = undefined;
      if (this.#options.reserve?.isLowAfter(versions) && !this.#checkpoint()) {
        // The log may not outgrow the room that is kept, or it could never be emptied again.
        this.#options.reserve.release();
        this.#checkpoint();
      }
    } catch (error) {
      obsolete.unshift(...dropped);
      const refusal = writeError(this.#options.directory.path, error);
      this.#failure = { error: refusal, at: this.#options.now() };
      if (isBeyondRepair(error)) this.#refusal = refusal;
      throw refusal;
    }
  }

  readonly #checkpoint = (): boolean => {
    try {
      this.#options.log.checkpoint();
      this.#checkpointed = true;
      this.#options.reserve?.checkpointed();
      return true;
    } catch {
      // The disk refuses. Nothing is lost: the next run tries again.
      return false;
    }
  };

  #abandon(versions: readonly Version<T>[]): void {
    for (const version of versions) {
      this.#memory.keyspace.unstage(version.key);
      this.#staged(version.key);
    }
  }

  /** Maintenance while there are no writes. Returns whether there will be more to do later. */
  #maintain(): boolean {
    const now = this.#options.now();
    const { expiry, history, obsolete } = this.#memory;
    for (const key of expiry.due(now, chore)) {
      this.#expire(key, now);
    }
    this.#memory.trim(now, 0, chore);
    const wasBusy = this.#isBusy;
    this.#isBusy = false;
    if (this.#refusal === undefined) {
      this.#tidy(wasBusy);
      this.#keepReserve();
    }
    // Also after a clean-up, which is a commit like any other.
    const isCheckpointDue = !this.#checkpointed && (wasBusy || this.#isBusy);
    const isFullDisk = this.#options.reserve?.isReleased === true;
    return (
      isFullDisk ||
      isCheckpointDue ||
      expiry.size > 0 ||
      obsolete.length > 0 ||
      history.size > this.#options.limits.keepChanges
    );
  }

  #tidy(isBusy: boolean): void {
    if (this.#memory.obsolete.length > 0) {
      this.#cleanUp(chore);
    } else if (!this.#checkpointed && !isBusy) {
      // It blocks for as long as the disk takes, and the writes of a busy server would wait for it every time.
      this.#checkpoint();
    }
  }

  /** Takes the room for deletions; when it was given back, history has to go first. */
  #keepReserve(): void {
    const { log, reserve } = this.#options;
    // Another directory in the place of ours is not ours to write to.
    if (log.problem() !== undefined) return;
    if (reserve?.isReleased) this.#makeRoom();
    reserve?.hold();
  }

  #cleanUp(count: number): void {
    try {
      // Neighbours in the file together.
      this.#memory.obsolete.sort((a, b) => a - b);
      this.#log([], count);
    } catch {
      // The disk refuses. Nothing is lost: rows that should be gone are merely still there, and the next run tries again.
    }
  }

  #expire(key: string, now: number): void {
    const decide = ({ current }: Transaction<T>): Decision<T> =>
      (current?.expiresAt ?? Number.POSITIVE_INFINITY) <= now ? { action: "delete" } : { action: "keep" };
    // The error of a disk that refuses writes is already known, and the next run retries.
    this.write(key, decide).catch(() => {});
  }

  #requireOpen(): void {
    if (this.#refusal?.code === "closed") throw this.#refusal;
  }

  #requireWritable(key: string): void {
    if (this.#refusal !== undefined) throw this.#refusal;
    if (!key.startsWith("/") || key.endsWith("/") || !key.isWellFormed()) {
      throw new TypeError(
        `cannot write "${key}": a key begins with "/", does not end with it, and is well-formed Unicode`,
      );
    }
  }

  #isClosed(): boolean {
    return this.#refusal?.code === "closed";
  }
}
