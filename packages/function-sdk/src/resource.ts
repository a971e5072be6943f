// SPDX-License-Identifier: Apache-2.0
// The `resource` namespace of the SDK.
export { Ready } from "@purlin/function-protocol";
export {
  CompositeObject,
  type CompositionUpdatePolicy,
  type LabelSelector,
  type NameReference,
  type ObjectReference,
} from "./resource/composite-object.ts";
export {
  ComposedObject,
  type DesiredComposed,
  fromObject,
  fromStruct,
  fromStruct as asObject,
  newDesiredComposed,
  toObject,
  toStruct,
  toStruct as asStruct,
  type UpdateOptions,
  update,
  updateStatus,
} from "./resource/convert.ts";
export {
  type Conditioned,
  type ConditionStatus,
  getCondition,
  isReady,
  KubeObject,
  type ObjectCondition,
  type SecretReference,
} from "./resource/kube-object.ts";
export {
  fromModel,
  type Model,
  type ObjectSource,
  type ReadyInput,
  type ResourceParts,
} from "./resource/resource-message.ts";
export { childName, KEY_ENVIRONMENT, KEY_EXTRA_RESOURCES, WATCHED_RESOURCE } from "./resource/well-known.ts";
