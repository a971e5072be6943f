// SPDX-License-Identifier: Apache-2.0
import type { LoggedChange } from "./change-log.ts";
import { History, type HistoryLimits } from "./history.ts";
import { Keyspace } from "./keyspace.ts";
import type { Change } from "./store.ts";
import { type Decoder, Version } from "./version.ts";

/** Keys that expire around the same time share a bucket: they go together, and moving a key is cheap. */
const bucketMs = 1000;

/** Which keys expire when. Each key has at most one time; setting another moves it, so refreshing leaves nothing behind. */
export class Expiry {
  readonly #buckets = new Map<number, Set<string>>();
  readonly #bucketOf = new Map<string, number>();

  get size(): number {
    return this.#bucketOf.size;
  }

  /** Sets when the key expires; undefined for never. */
  set(key: string, expiresAt: number | undefined): void {
    const before = this.#bucketOf.get(key);
    // Rounded up: early would be wrong, late by less than a bucket is not.
    const bucket = expiresAt === undefined ? undefined : Math.ceil(expiresAt / bucketMs);
    if (before === bucket) return;
    if (before !== undefined) this.#leave(key, before);
    if (bucket !== undefined) this.#enter(key, bucket);
  }

  /** Keys whose time has come, at most about `limit`. They stay until they are set again. */
  due(now: number, limit: number): string[] {
    const due: string[] = [];
    for (const [bucket, keys] of this.#buckets) {
      if (bucket * bucketMs <= now && due.length < limit) due.push(...keys.values().take(limit - due.length));
    }
    return due;
  }

  #enter(key: string, bucket: number): void {
    this.#bucketOf.set(key, bucket);
    const keys = this.#buckets.get(bucket);
    if (keys === undefined) {
      this.#buckets.set(bucket, new Set([key]));
    } else {
      keys.add(key);
    }
  }

  #leave(key: string, bucket: number): void {
    this.#bucketOf.delete(key);
    const keys = this.#buckets.get(bucket);
    keys?.delete(key);
    if (keys?.size === 0) this.#buckets.delete(bucket);
  }
}

/** Everything readers see: the present state, the recent past, and what of the log is needed for neither. */
export class Memory<T extends object> {
  readonly keyspace: Keyspace<T> = new Keyspace();
  readonly expiry: Expiry = new Expiry();
  readonly history: History<T>;
  /**
   * Revisions whose rows can be deleted, those of a key in their order. The first ones go first: a deletion that goes before what it deleted
   * would let that come back at the next start.
   */
  readonly obsolete: number[] = [];
  revision: number;
  compactedRevision: number;

  constructor(limits: HistoryLimits, compactedRevision: number) {
    this.history = new History(limits);
    this.revision = compactedRevision;
    this.compactedRevision = compactedRevision;
  }

  /** Takes in one row of the log, in revision order. */
  load(row: LoggedChange, decoder: Decoder<T>, now: number): void {
    const version = new Version<T>({ ...row, decoder });
    this.keyspace.stage(version);
    const change = this.#apply(version);
    if (row.revision > this.compactedRevision) {
      this.history.add(change, now);
    } else {
      this.obsolete.push(...this.keyspace.forget(row.key, row.revision));
    }
  }

  /** Makes a staged version visible. */
  commit(version: Version<T>, now: number): Change<T> {
    const change = this.#apply(version);
    this.history.add(change, now);
    return change;
  }

  /** Drops history that is beyond its limits, or not after the revision; at most `count` changes. */
  trim(now: number, upTo: number, count: number): void {
    for (let dropped = 0; dropped < count; dropped += 1) {
      const change = this.history.dropOldest(now, upTo);
      if (change === undefined) break;
      this.compactedRevision = change.revision;
      this.obsolete.push(...this.keyspace.forget(change.key, change.revision));
    }
  }

  #apply(version: Version<T>): Change<T> {
    this.revision = Math.max(this.revision, version.revision);
    this.expiry.set(version.key, version.expiresAt);
    return this.keyspace.commit(version);
  }
}
