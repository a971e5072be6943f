// SPDX-License-Identifier: Apache-2.0

// The processes of all functions of a control plane:

export type {
  FunctionProcess,
  FunctionSpec,
  ProcessLimits,
  ProcessState,
  ServedFunction,
} from "./process/function-process.ts";
export {
  createFunctionProcesses,
  type FunctionProcesses,
  type FunctionProcessesOptions,
} from "./process/function-processes.ts";
export type { FunctionProgram } from "./process/launch-function.ts";
export { createLeases, createRetirements, type Lease, type Retirements } from "./process/leases.ts";

// Functions that run from a source file:

export {
  createSourceRuntime,
  findSourceFile,
  type SourceFolders,
  type SourceOptions,
  sourceSpec,
} from "./process/source-file.ts";

// A trial run of an image:

export { type ImageTrial, imageSpec, type StartFailure, tryImage } from "./process/try-image.ts";

// One supervised function, with restarts and a new version on save:

export { workerProgram } from "./process/function-module.ts";
export {
  type RestartPolicy,
  Supervisor,
  type SupervisorObserver,
  type SupervisorOptions,
} from "./process/supervisor.ts";
export {
  isWorkerMessage,
  type Launch,
  type LaunchEvents,
  type Launched,
  type SupervisionOptions,
  type WorkerMessage,
} from "./spawn/supervision.ts";

// Limits and sandboxes:

export { type ProviderWiring, providerApiPort } from "./image/prepare-provider.ts";
export {
  defaultFunctionLimits,
  type FunctionLimits,
  limitsOfRuntimeConfig,
  settingsOfRuntimeConfig,
} from "./limits/function-limits.ts";
export { type Egress, type EgressSupport, findEgress } from "./sandbox/egress.ts";
export { findSandbox, type SandboxSupport } from "./sandbox/find-sandbox.ts";
export { mountPoints, type Sandbox } from "./sandbox/sandbox-arguments.ts";
export { closeInheritedDescriptors } from "./spawn/guarded-process.ts";
/** Whether the output of a program says that its port is taken. */
export { saysPortTaken } from "./spawn/port-taken.ts";

// Logs of functions:

export {
  collectFunctionLogs,
  type FunctionLog,
  functionLogFolder,
  type LogFile,
  listFunctionLogs,
  openLogFile,
} from "./process/function-output.ts";
