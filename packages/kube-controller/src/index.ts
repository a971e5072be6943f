// SPDX-License-Identifier: Apache-2.0

// What reconcilers are given.
export type { ApplyOutcome, CachedListOptions, ControllerClient } from "./client/controller-client.ts";
export { type Clock, systemClock } from "./clock.ts";
export type { Reconcile, ReconcileResult } from "./controller/reconcile.ts";
// Running controllers.
export type { ControllerEngine, ControllerSpec, WatchId, WatchSpec } from "./engine/controller-engine.ts";
export { type EventRecorder, type EventText, noEvents } from "./events/event-recorder.ts";
export { type Log, type LogFields, silentLog } from "./log.ts";
