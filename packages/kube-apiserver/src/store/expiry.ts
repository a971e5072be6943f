// SPDX-License-Identifier: Apache-2.0

/** Keys that expire around the same time share a bucket: they go together, and moving a key is cheap. */
const BUCKET_MS = 1000;

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
    const bucket = expiresAt === undefined ? undefined : Math.ceil(expiresAt / BUCKET_MS);
    if (before === bucket) {
      return;
    }
    if (before !== undefined) {
      this.#leave(key, before);
    }
    if (bucket !== undefined) {
      this.#enter(key, bucket);
    }
  }

  /** Keys whose time has come, at most about `limit`. They stay until they are set anew. */
  due(now: number, limit: number): string[] {
    const due: string[] = [];
    for (const [bucket, keys] of this.#buckets) {
      if (bucket * BUCKET_MS <= now && due.length < limit) {
        due.push(...keys.values().take(limit - due.length));
      }
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
    if (keys?.size === 0) {
      this.#buckets.delete(bucket);
    }
  }
}
