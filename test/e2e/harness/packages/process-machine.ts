// SPDX-License-Identifier: Apache-2.0
import { join } from "node:path";
import { openPackageManagement } from "@purlin/control-plane";
import { createFunctionProcesses, type FunctionProcesses } from "@purlin/function-process";
import type { PackageMachine } from "./package-machine.ts";
import "./sandbox.ts";

/** This machine: functions are child processes, and end with their control plane, as those of `purlin up` do. */
export function createProcessMachine(directory: string): PackageMachine {
  const clientFolder = join(directory, "function-client");
  let current: FunctionProcesses | undefined;
  return {
    async begin(functionRevisionSelectors, functionRollouts) {
      const processes = createFunctionProcesses({
        directory: join(directory, "functions"),
        clientFolder,
        env: { PATH: process.env["PATH"] },
      });
      current = processes;
      const packages = await openPackageManagement({
        directory,
        processes,
        functionRevisionSelectors,
        functionRollouts,
      });
      return {
        packages,
        functions: { security: processes.security },
        [Symbol.asyncDispose]: () => processes.close(),
      };
    },
    running: () => (current?.list() ?? []).map(({ name }) => name).toSorted(),
    access: async () => ({ certificates: clientFolder }),
    // A socket or port of its own; which one is the runtime's business.
    isEndpointOf: (endpoint) => /^(unix:\/.+|127\.0\.0\.1:\d+)$/.test(endpoint),
    async [Symbol.asyncDispose]() {},
  };
}
