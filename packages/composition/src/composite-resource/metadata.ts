// SPDX-License-Identifier: Apache-2.0
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
} from "@purlin/kube-controller/object";
