// SPDX-License-Identifier: Apache-2.0
import type { JsonObject } from "../json/json-value.ts";
import type { Place } from "./finding.ts";
import type { Outcome } from "./outcome.ts";

/** What stays the same while one value is checked. */
export interface CheckContext {
  /** Whether missing required fields are accepted. */
  readonly partial: boolean;
  /** What the whole check shares. */
  readonly progress: CheckProgress;
  /** Inside of allOf, anyOf, oneOf and not: how many values were looked at. */
  readonly composition: { visits: number } | undefined;
  /** Takes the checks of long lists and large maps, to be made later in parts; undefined: they are made at once. */
  readonly deferred: DeferredCheck[] | undefined;
  /** Checks a value inside the current one. */
  readonly check: (context: CheckContext, outcome: Outcome, subject: Subject) => void;
}

/** The checks of the items of a list, or the members of a map. */
export interface DeferredCheck {
  readonly size: number;
  readonly depth: number;
  checkAt(index: number): void;
}

/** Lists and maps with more items than this can be deferred. */
export const deferredAbove = 100;

/** How far a check has gone. */
export interface CheckProgress {
  depth: number;
  patternSteps: number;
  /** How many values were looked at inside of compositions. */
  composedVisits: number;
}

/** A value, the schema it is checked against, and where it is. */
export interface Subject {
  readonly value: unknown;
  readonly schema: JsonObject;
  readonly place: Place | undefined;
}
