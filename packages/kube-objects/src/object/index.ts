// SPDX-License-Identifier: Apache-2.0
// The object model: what an object is, and reading and changing its metadata, conditions and fields. Loads no client and no controller.
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
export {
  deepFreeze,
  type KubeList,
  type KubeObject,
  keyOf,
  keyText,
  type ObjectKey,
  type TypeRef,
  type WatchEvent,
} from "./kube-object.ts";
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
  withFinalizer,
  withOwner,
  withoutFinalizer,
} from "./metadata.ts";
export { pausedCondition, saysPaused } from "./pause.ts";
export { shortened } from "./shortened.ts";
export { during, textOf, wrapError } from "./wrap-error.ts";
