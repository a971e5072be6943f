// SPDX-License-Identifier: Apache-2.0

import { finish, type Work } from "@purlin/base";
import { type FieldError, rootPath } from "@purlin/kube-objects/errors";
import { objectCostLimit } from "./cost-limits.ts";
import { collectPlaces } from "./places.ts";
import { RuleRun } from "./rule-run.ts";
import type { RuleSet } from "./rule-set.ts";

interface ValidateOptions {
  /** The object before an update. Rules that read `oldSelf` run only where there is an old value. */
  readonly oldValue?: unknown;
  /** Where the value stands; the object itself by default. */
  readonly path?: string;
  /** What all rules together may cost. */
  readonly costLimit?: number;
}

interface RuleOutcome {
  readonly errors: readonly FieldError[];
  /**
   * Failures on values that an update left as they were. They do not make the update fail; the API server
   * returns them as warnings.
   */
  readonly unchanged: readonly FieldError[];
  /** What is left of the cost limit; negative when it ran out. */
  readonly costLeft: number;
}

/** Runs all rules over a value. */
export function validateRules(rules: RuleSet, value: unknown, options: ValidateOptions = {}): RuleOutcome {
  return finish(validatingRules(rules, value, options));
}

/** The same in parts: one rule with each. A rule is never interrupted; its own limits bound it. The value must not change meanwhile. */
export function* validatingRules(rules: RuleSet, value: unknown, options: ValidateOptions = {}): Work<RuleOutcome> {
  const { oldValue, path = rootPath, costLimit = objectCostLimit } = options;
  const run = new RuleRun(costLimit);
  for (const place of collectPlaces(rules, { path, value, oldValue })) {
    yield* run.runRules(place);
    if (run.isOver) break;
  }
  return outcomeOf(run);
}

const outcomeOf = ({ errors, unchanged, costLeft }: RuleRun): RuleOutcome => ({ errors, unchanged, costLeft });
