// SPDX-License-Identifier: Apache-2.0
import type { LoggedChange } from "./change-log.ts";
import type { Codec, Entry } from "./store.ts";

interface VersionInit<T extends object> {
  readonly key: string;
  readonly revision: number;
  readonly createRevision: number;
  /** Undefined marks a deletion. */
  readonly bytes: Uint8Array | undefined;
  readonly expiresAt: number | undefined;
  readonly decoder: Decoder<T>;
  /** Whether it leads to a deletion. */
  readonly frees?: boolean;
}

/** One state of a key, or the mark that it was deleted, with the way back to the state before. */
export class Version<T extends object> implements Entry<T> {
  readonly key: string;
  readonly revision: number;
  readonly createRevision: number;
  readonly expiresAt: number | undefined;
  readonly deleted: boolean;
  /** A deletion, or a step on the way to one. */
  readonly frees: boolean;
  readonly bytes: Uint8Array;
  /** Cut when history no longer needs it. */
  older: Version<T> | undefined;
  /** Kept by the decoder. */
  decoded: WeakRef<T> | undefined;
  readonly #decoder: Decoder<T>;

  constructor(init: VersionInit<T>) {
    this.key = init.key;
    this.revision = init.revision;
    this.createRevision = init.createRevision;
    this.expiresAt = init.expiresAt;
    this.deleted = init.bytes === undefined;
    this.frees = init.frees ?? this.deleted;
    this.bytes = init.bytes ?? nothing;
    this.older = undefined;
    this.decoded = undefined;
    this.#decoder = init.decoder;
  }

  get value(): T {
    return this.#decoder.valueOf(this);
  }

  /** This state for readers: nothing, if it is a deletion. */
  get entry(): Entry<T> | undefined {
    return this.deleted ? undefined : this;
  }

  /** The newest state not newer than the revision. */
  at(revision: number): Version<T> | undefined {
    let version: Version<T> | undefined = this;
    while (version !== undefined && version.revision > revision) {
      version = version.older;
    }
    return version;
  }
}

const nothing = new Uint8Array();

// How much a step on the way to a deletion may add.
const stepBytes = 4096;

/** A step on the way to a deletion adds a date and takes finalizers away; what adds more is not one. */
export function isNoLarger(bytes: Uint8Array, current: Entry<object> | undefined): boolean {
  return bytes.length <= (current?.bytes.length ?? 0) + stepBytes;
}

/** The row of the log for a version. */
export function rowOf<T extends object>(version: Version<T>): LoggedChange {
  const { key, revision, createRevision, expiresAt } = version;
  return { key, revision, createRevision, expiresAt, bytes: version.deleted ? undefined : version.bytes };
}

/**
 * Returns the value of a version and keeps it for the next reader. A value that is still referenced (by an informer's cache) is
 * shared for as long as it is held; beyond that, about `budget` bytes worth of recently used values stay decoded, in two
 * generations: when the young one is full it becomes the old one, and the old one is dropped.
 */
export class Decoder<T extends object> {
  readonly #codec: Codec<T>;
  readonly #budget: number;
  #generations: readonly [young: Set<T>, old: Set<T>] = [new Set(), new Set()];
  #youngBytes = 0;

  constructor(codec: Codec<T>, budget: number) {
    this.#codec = codec;
    this.#budget = budget;
  }

  valueOf(version: Version<T>): T {
    const known = version.decoded?.deref();
    if (known !== undefined) {
      this.#retain(known, version.bytes.length);
      return known;
    }
    const value = this.#codec.decode(version.bytes);
    this.remember(version, value);
    return value;
  }

  /** Takes the value that a writer has just encoded, so that it is not decoded again. */
  remember(version: Version<T>, value: T): void {
    version.decoded = new WeakRef(value);
    this.#retain(value, version.bytes.length);
  }

  #retain(value: T, size: number): void {
    const [young] = this.#generations;
    if (young.has(value)) return;
    if (this.#youngBytes + size > this.#budget / 2) {
      this.#generations = [new Set([value]), young];
      this.#youngBytes = size;
      return;
    }
    young.add(value);
    this.#youngBytes += size;
  }
}
