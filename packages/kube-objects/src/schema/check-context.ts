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
  /** Checks a value inside the current one. */
  readonly check: (context: CheckContext, outcome: Outcome, subject: Subject) => void;
}

/** How far a check has gone. */
export interface CheckProgress {
  depth: number;
  patternSteps: number;
}

/** A value, the schema it is checked against, and where it is. */
export interface Subject {
  readonly value: unknown;
  readonly schema: JsonObject;
  readonly place: Place | undefined;
}
