// SPDX-License-Identifier: Apache-2.0
import {
  type Condition,
  type ConditionText,
  sameCondition,
  setConditions,
  shortened,
  stampCondition,
} from "@purlin/kube-objects/object";
import { systemConditionTypes } from "../../composite-resource/standard-conditions.ts";
import type { PipelineCondition } from "../run/pipeline-outcome.ts";

/** The changes of the conditions of an XR in one reconcile. */
export interface ConditionChanges {
  /** Set by the controller before those of functions; they carry the generation. */
  readonly before: readonly ConditionText[];
  /** Set by functions, in the order of their responses. */
  readonly pipeline: readonly PipelineCondition[];
  /** Set by the controller after those of functions; they carry the generation. */
  readonly after: readonly ConditionText[];
  /** Whether composing failed, so that the other conditions of functions are unknown. */
  readonly undetermined: boolean;
}

/** When, and for which generation, conditions are set. */
export interface Stamp {
  readonly time: string;
  readonly generation: number | undefined;
}

const fatalError = {
  status: "Unknown",
  reason: "FatalError",
  message: "A fatal error occurred before the status of this condition could be determined.",
} as const;

/** The conditions that functions may set: all but those of the control plane. */
export function settable(conditions: readonly PipelineCondition[]): readonly PipelineCondition[] {
  return conditions.filter(({ type }) => !systemConditionTypes.has(type));
}

/** The conditions after a reconcile. New ones are appended in the order of the changes, which is Crossplane's. */
export function conditionsAfter(
  current: readonly Condition[],
  { before, pipeline, after, undetermined }: ConditionChanges,
  stamp: Stamp,
): readonly Condition[] {
  const fromFunctions = settable(pipeline);
  const marked = undetermined ? markOthers(current, new Set(fromFunctions.map(({ type }) => type)), stamp) : current;
  const own = (text: ConditionText): Condition => stampCondition(short(text), stamp.time, stamp.generation);
  const said = fromFunctions.map(({ forClaim: _, ...text }) => timed(text, stamp.time));
  return setConditions(marked, [...before.map(own), ...said, ...after.map(own)]);
}

/** A message of any length must not keep the status from being written. */
function short(text: ConditionText): ConditionText {
  return text.message === undefined ? text : { ...text, message: shortened(text.message) };
}

/** Conditions of functions have no generation: a function does not report which one it saw. */
function timed(text: ConditionText, time: string): Condition {
  return stampCondition(short(text), time, undefined);
}

function markOthers(
  current: readonly Condition[],
  set: ReadonlySet<string>,
  { generation }: Stamp,
): readonly Condition[] {
  return current.map((condition) => {
    if (systemConditionTypes.has(condition.type) || set.has(condition.type)) return condition;
    const { type, lastTransitionTime } = condition;
    const marked = stampCondition({ type, ...fatalError }, lastTransitionTime, generation);
    return sameCondition(condition, marked) ? condition : marked;
  });
}
