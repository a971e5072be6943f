// SPDX-License-Identifier: Apache-2.0
import type { FunctionProcess } from "@purlin/function-process";
import type { JsonValue } from "@purlin/kube-objects/json";

/** Where a control plane on this machine serves what the processes of its functions use. */
export const processesPath = "/purlin/v1/processes";

/** What the processes of one function use. */
export interface ProcessUsage {
  readonly name: string;
  readonly phase: string;
  /** Processors, on average since the measurement before. */
  readonly cpus?: number;
  readonly memoryBytes?: number;
  readonly processes?: number;
}

/** The processes of all functions; undefined for any other path. */
export function processesDocument(
  processes: readonly Pick<FunctionProcess, "name" | "state" | "usage">[],
  path: string,
): JsonValue | undefined {
  if (path !== processesPath) return undefined;
  return { items: processes.map(({ name, state, usage }) => ({ name, phase: state.phase, ...usage })) };
}
