// SPDX-License-Identifier: Apache-2.0

import type { RunOutcome, WriteRecord } from "./run-record.ts";

/** A write, without the objects. */
interface StoredWrite extends Omit<WriteRecord, "before" | "after"> {
  /** How many fields the write changed. */
  readonly changed: number;
}

/** A condition of the composite resource after a run. */
interface StoredCondition {
  readonly type: string;
  readonly status: string;
  readonly reason: string;
  readonly message?: string;
}

/** A message whose objects are elsewhere: in base64, with a reference in place of each object. */
type CutMessage = string;

/** A call of a function. */
export interface StoredCall {
  readonly request: CutMessage;
  readonly response?: CutMessage;
}

/** A step. The last call has everything that the function required. */
export interface StoredStep {
  readonly index: number;
  readonly name: string;
  readonly function: string;
  readonly revision: string;
  readonly package: string;
  readonly durationMs: number;
  readonly bytesIn: number;
  readonly bytesOut: number;
  readonly cached: boolean;
  /** The run whose call the cached response is of; undefined when that run is not recorded. */
  readonly origin?: string;
  readonly calls: readonly StoredCall[];
  readonly error?: string;
}

/** The composite resource of a run. */
export interface RunSubject {
  readonly apiVersion: string;
  readonly kind: string;
  readonly namespace?: string;
  readonly name: string;
}

/** What lists show of a run. */
export interface RunSummary {
  readonly id: string;
  readonly xr: RunSubject;
  readonly uid: string;
  readonly generation: number;
  readonly resourceVersion: string;
  readonly composition: string;
  /** The name of the CompositionRevision; empty when the run ended before one was selected. */
  readonly compositionRevision: string;
  readonly cause: string;
  readonly began: string;
  readonly durationMs: number;
  readonly outcome: RunOutcome;
  readonly steps: readonly string[];
  readonly writes: number;
  /** How many later runs of the resource were equal to this one, and when the last of them ended. */
  readonly repeats: number;
  readonly last: string;
  readonly error?: string;
}

/** A run with everything that is kept of it, apart from the objects. */
export interface StoredRun extends Omit<RunSummary, "steps" | "writes" | "repeats" | "last"> {
  readonly reason?: string;
  readonly conditions: readonly StoredCondition[];
  readonly ttlMs?: number;
  readonly steps: readonly StoredStep[];
  readonly writes: readonly StoredWrite[];
  /** The composite resource and the CompositionRevision, as references to parts. */
  readonly composite: string;
  readonly revision?: string;
  /** The objects of the run, by reference. */
  readonly parts: readonly string[];
}
