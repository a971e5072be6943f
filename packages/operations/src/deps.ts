// SPDX-License-Identifier: Apache-2.0
import type { Clock, Log } from "@purlin/base";
import type { DevelopmentTrust, RequirementFetchers, RunStep } from "@purlin/function-runner";
import type { ControllerClient, ControllerEngine, EventRecorder } from "@purlin/kube-controller";
import type { RunRecord } from "@purlin/run-store";

/** The dependencies of all controllers of operations. */
export interface ControllerDeps {
  readonly client: ControllerClient;
  readonly events: EventRecorder;
  readonly clock: Clock;
  readonly log: Log;
}

/** The delays of a key after failures. */
interface Backoff {
  readonly baseMs: number;
  readonly maxMs: number;
}

/** The dependencies of the controller of Operations. */
export interface OperationDeps extends ControllerDeps {
  readonly runStep: RunStep;
  /** Read the requirements that pipeline steps declare. */
  readonly fetchers: RequirementFetchers;
  /** Whether Functions under development are honoured, and whose annotations count. */
  readonly developmentFunctions?: DevelopmentTrust | undefined;
  /** One attempt, with all calls of functions, takes this long at most: two minutes unless given. */
  readonly deadlineMs?: number | undefined;
  /** One second to one minute unless given. */
  readonly backoff?: Backoff | undefined;
  /** Takes over the record of every attempt; without it none is recorded. */
  readonly recordRun?: ((run: RunRecord) => void) | undefined;
}

/** The dependencies of the controllers of CronOperations and WatchOperations. */
export interface SchedulerDeps extends ControllerDeps {
  readonly engine: Pick<ControllerEngine, "enqueue" | "start" | "stop" | "startWatches" | "stopWatches" | "isRunning">;
  /** How often the changes of one object may create Operations; the limits of composite resources unless given. */
  readonly breakerLimits?:
    | { readonly burst: number; readonly refillPerSecond: number; readonly cooldownMs: number }
    | undefined;
}
