// SPDX-License-Identifier: Apache-2.0
import type { LoggedChange } from "./change-log.ts";
import type { Decoder } from "./decoder.ts";
import { Expiry } from "./expiry.ts";
import { History, type HistoryLimits } from "./history.ts";
import { Keyspace } from "./keyspace.ts";
import type { Change } from "./store.ts";
import { Version } from "./version.ts";

/** Everything readers see: the present state, the recent past, and what of the log is needed for neither. */
export class Memory<T extends object> {
  readonly keyspace: Keyspace<T> = new Keyspace();
  readonly expiry: Expiry = new Expiry();
  readonly history: History<T>;
  /** Revisions whose rows can be deleted, in no order. */
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
      if (change === undefined) {
        break;
      }
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
