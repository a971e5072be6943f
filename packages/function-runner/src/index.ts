// SPDX-License-Identifier: Apache-2.0
export { type Clock, systemClock } from "./clock.ts";
export type { LiveRevisions, PoolStats } from "./dial/connection-pool.ts";
export { createDiallingRunner, type DiallingRunner, type DialOptions } from "./dial/dialling-runner.ts";
export { type NameResolver, systemNames } from "./dial/name-resolver.ts";
export { type TlsSource, tlsFromDirectory } from "./dial/tls-directory.ts";
export type { FunctionRunner, FunctionTarget, RunCall, RunTrace, StepInfo } from "./function-runner.ts";
export { createRunnerMetrics, noMetrics, type RunnerMetrics } from "./metrics.ts";
export { isRunnerError, RunnerError, type RunnerErrorCode } from "./runner-error.ts";
export { type RunnerLog, silentLog } from "./runner-log.ts";
