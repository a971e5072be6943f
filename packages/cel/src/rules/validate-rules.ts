// SPDX-License-Identifier: Apache-2.0
import { objectCostLimit } from "./cost-limits.ts";
import type { FieldError } from "./field-error.ts";
import { rootPath } from "./path.ts";
import { collectPlaces } from "./places.ts";
import { RuleRun } from "./rule-run.ts";
import type { RuleSet } from "./rule-set.ts";
import { atOnce, inTurns } from "./turns.ts";

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
   * Failures on values that an update left as they were. They do not make the update fail; the API server tells them
   * as warnings.
   */
  readonly unchanged: readonly FieldError[];
  /** What is left of the cost limit; negative when it ran out. */
  readonly costLeft: number;
}

/** Runs all rules over a value, at once. */
export function validateRules(rules: RuleSet, value: unknown, options: ValidateOptions = {}): RuleOutcome {
  const run = startRun(options);
  atOnce(steps(run, rules, { value, options }));
  return outcomeOf(run);
}

/**
 * The same, but lets the event loop turn when the rules take long. One rule is never cut; its own limits bound it. The
 * value must not change meanwhile.
 */
export async function validateRulesInTurns(
  rules: RuleSet,
  value: unknown,
  options: ValidateOptions & { readonly signal?: AbortSignal } = {},
): Promise<RuleOutcome> {
  const run = startRun(options);
  await inTurns(steps(run, rules, { value, options }), options.signal);
  return outcomeOf(run);
}

const startRun = ({ costLimit = objectCostLimit }: ValidateOptions): RuleRun => new RuleRun(costLimit);

interface Subject {
  readonly value: unknown;
  readonly options: ValidateOptions;
}

/** Runs the rules, one with each step. */
function* steps(run: RuleRun, rules: RuleSet, { value, options }: Subject): Generator<void> {
  const { oldValue, path = rootPath } = options;
  for (const place of collectPlaces(rules, { path, value, oldValue })) {
    yield* run.runRules(place);
    if (run.isOver) return;
  }
}

const outcomeOf = ({ errors, unchanged, costLeft }: RuleRun): RuleOutcome => ({ errors, unchanged, costLeft });
