// SPDX-License-Identifier: Apache-2.0

// The CRDs of packages.
// The CRDs of packages.
export { functionCrds, functionCrds, packageCrds, packageCrds } from "./crds/package-crds.ts";
// Functions as child processes.
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
// The pieces, for whoever serves one function in another way.
export type { Launch, LaunchEvents, Launched } from "./process/launch.ts";
export type { FunctionProgram } from "./process/launch-function.ts";
export { createSourceRuntime } from "./process/source-runtime.ts";
export {
  type RestartPolicy,
  Supervisor,
  type SupervisorObserver,
  type SupervisorOptions,
} from "./process/supervisor.ts";
export { isWorkerMessage, type WorkerMessage } from "./process/worker-message.ts";
export { workerProgram } from "./process/worker-program.ts";
