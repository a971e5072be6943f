// SPDX-License-Identifier: Apache-2.0

// What reconcilers are given.
export { wouldApplyChange } from "./apply/would-change.ts";
export type {
  CachedListOptions,
  ClosableControllerClient,
  ControllerClient,
} from "./client/create-controller-client.ts";
export { createControllerClient } from "./client/create-controller-client.ts";
export { compareResourceVersions } from "./client/own-writes.ts";
export type { Reconcile, ReconcileResult } from "./controller/controller.ts";
export {
  attempt,
  isReconcileError,
  ReconcileError,
  type StepText,
  TerminalError,
} from "./controller/controller.ts";
// CRDs of our kinds: how they are written down and installed.
export {
  type CrdVersion,
  crdType,
  createCrd,
  isEstablished,
  type KindDocs,
  refusalOf,
  reservedFor,
} from "./crd/crd.ts";
export { type InstallProgress, installCrds } from "./crd/install-crds.ts";
export {
  ageColumn,
  atomicMap,
  bareConditions,
  bareNameRef,
  type Column,
  checked,
  choice,
  column,
  conditionColumn,
  conditions,
  defaulted,
  describeFields,
  type Fields,
  type FieldTexts,
  flag,
  free,
  immutable,
  integer,
  integer32,
  listOf,
  mapOf,
  nameRef,
  object,
  text,
  time,
  under,
  wideColumn,
} from "./crd/schema.ts";
// Running controllers.
export type {
  ControllerEngine,
  ControllerSpec,
  WatchId,
  WatchingController,
  WatchSpec,
} from "./engine/controller-engine.ts";
export { createControllerEngine } from "./engine/create-controller-engine.ts";
export { createEventRecorder, type EventRecorder, type EventText, noEvents } from "./events/event-recorder.ts";
// Writing controllers.
export {
  createReconciler,
  defineController,
  explainTimeout,
  type ReconcileContext,
  type ReconcilerDefinition,
  reportPaused,
  withConditionTexts,
  writeStatus,
} from "./kit/define-controller.ts";
export { leaseSpecOf, leaseType, runWhileLeading } from "./leader/leader-election.ts";
export { DelayHeap } from "./queue/work-queue.ts";
