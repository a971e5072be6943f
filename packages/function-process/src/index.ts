// SPDX-License-Identifier: Apache-2.0

export { defaultFunctionLimits, type FunctionLimits, limitsOfRuntimeConfig } from "./limits/function-limits.ts";
export { collectFunctionLogs, type FunctionLog, functionLogFolder, listFunctionLogs } from "./process/function-logs.ts";
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
export { closeInheritedDescriptors } from "./process/inherited-descriptors.ts";
export type { Launch, LaunchEvents, Launched } from "./process/launch.ts";
export type { FunctionProgram } from "./process/launch-function.ts";
export { type LogFile, openLogFile } from "./process/log-file.ts";
export type { SourceFolders } from "./process/source-file.ts";
export { createSourceRuntime, type SourceOptions, sourceSpec } from "./process/source-runtime.ts";
export type { SupervisionOptions } from "./process/supervision.ts";
export {
  type RestartPolicy,
  Supervisor,
  type SupervisorObserver,
  type SupervisorOptions,
} from "./process/supervisor.ts";
export { type ImageTrial, type StartFailure, tryImage } from "./process/try-image.ts";
export { isWorkerMessage, type WorkerMessage } from "./process/worker-message.ts";
export { workerProgram } from "./process/worker-program.ts";
export { findSandbox, type SandboxSupport } from "./sandbox/find-sandbox.ts";
export { mountPoints, type Sandbox } from "./sandbox/sandbox-arguments.ts";
