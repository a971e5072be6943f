// SPDX-License-Identifier: Apache-2.0
// Reading and changing plain objects, for code that must start at once: nothing here loads a client, an engine or metrics.
export {
  type Condition,
  type ConditionText,
  conditionOf,
  conditionsOf,
  conditionTime,
  sameCondition,
  setCondition,
  setConditions,
  stampCondition,
  withConditions,
} from "./conditions.ts";
export { memberAt, objectAt, textAt, textMapAt, textsAt, withMember } from "./members.ts";
export {
  annotationOf,
  controllerOf,
  controllerReference,
  hasFinalizer,
  isControlledBy,
  isDeleted,
  isPaused,
  labelOf,
  pausedAnnotation,
  withFinalizer,
  withOwner,
  withoutFinalizer,
} from "./metadata.ts";
export { pausedCondition, saysPaused } from "./pause.ts";
export { attempt, isReconcileFailure, ReconcileFailure, type StepText } from "./reconcile-failure.ts";
export { shortened } from "./shortened.ts";
export { during, textOf, wrapError } from "./wrap-error.ts";
