// SPDX-License-Identifier: Apache-2.0
// The entry for packages of kinds: the types of their rules, and helpers to read, validate and print objects.

export type { AdmissionAttributes, AdmissionPlugin } from "./admission/admission.ts";
export { operationRuleErrors, webhookConditionErrors } from "./admission/match-rules.ts";
export {
  mutatingBindingErrors,
  mutatingPolicyErrors,
  validatingBindingErrors,
  validatingPolicyErrors,
} from "./admission/policy-rules.ts";
export { webhookTargetErrors } from "./crd/webhook-target.ts";
export {
  all,
  type Check,
  eachItem,
  hasUnreadableSelector,
  inRange,
  isPort,
  listAt,
  maybeNamed,
  named,
  needed,
  notNegative,
  oneOf,
  portNameProblems,
  portProblems,
  portRange,
  selectorErrors,
  selectorInGo,
  selectorProblems,
  within,
} from "./objects/checks.ts";
export { inMetaOrder, metaOf, textFields, withMeta } from "./objects/object-members.ts";
export { withNodeTopology } from "./pods/pod-resources.ts";
export type { ResourceType } from "./registry/registry.ts";
export { StoreFollower } from "./server/controller-kit.ts";
export { collecting } from "./store/collecting.ts";
export type { Entry, Store, Watch } from "./store/store.ts";
export type { VersionConversions } from "./strategy/apply-versions.ts";
export {
  defineKinds,
  type KindController,
  type KindControllerDeps,
  type KindDefinition,
  type KindRow,
  type KindRules,
  type KindSource,
  type ScalePaths,
  scaleSubresource,
  statusSubresource,
  wholeMetaChecks,
  withEmptyLists,
} from "./strategy/kind-rules.ts";
export type { Endpoint } from "./strategy/object-strategy.ts";
export {
  ageColumn,
  ageOfObject,
  at,
  column,
  count,
  integerColumn,
  items,
  labelText,
  nameColumn,
  nameOfObject,
  number,
  selectorText,
  type TableColumn,
  type TablePrinter,
  text,
  wideColumn,
} from "./table/table.ts";
