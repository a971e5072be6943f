// SPDX-License-Identifier: Apache-2.0
import type { Kind } from "./objects.ts";

/** Writes new objects, this many at a time, and gives how many seconds it took. */
export interface CreateJob {
  readonly job: "create";
  readonly kind: Kind;
  readonly prefix: string;
  readonly count: number;
  readonly clients: number;
  /** Default: `default`. */
  readonly namespace?: string;
}

/** Lists everything of a kind once and gives how many milliseconds it took to the last byte. */
export interface ListJob {
  readonly job: "list";
  readonly kind: Kind;
  /** A list of fewer bytes is a mistake. */
  readonly leastBytes: number;
}

/** Writes at a steady rate and gives, for each write, the milliseconds from sending it to seeing it in a watch. */
export interface WatchJob {
  readonly job: "watch";
  readonly kind: Kind;
  readonly prefix: string;
  readonly perSecond: number;
  readonly count: number;
}

export type Job = CreateJob | ListJob | WatchJob;

/** What a loader answers: one number, or one a write. */
export type Outcome = { readonly numbers: readonly number[] } | { readonly error: string };
