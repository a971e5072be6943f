// SPDX-License-Identifier: Apache-2.0
// The object model: what a Kubernetes object is, and how to read and change its metadata, conditions and fields.
export {
  type Condition,
  type ConditionText,
  conditionOf,
  conditionsOf,
  conditionTime,
  sameCondition,
  setConditions,
  stampCondition,
  withConditions,
} from "./conditions.ts";
export { formatApiVersion, formatGvk, type GroupVersionKind, groupOf, gvkOf, parseApiVersion } from "./gvk.ts";
export { ageOf, humanDuration } from "./human-duration.ts";
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
export {
  memberAt,
  numberAt,
  objectAt,
  objectsAt,
  optionalObjectAt,
  stringAt,
  textAt,
  textMapAt,
  textsAt,
  withMember,
} from "./members.ts";
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
export type { ManagedFieldsEntry, ObjectMeta, OwnerReference } from "./object-meta.ts";
export { pausedCondition, saysPaused } from "./pause.ts";
export { longestMessage, shortened } from "./shortened.ts";
