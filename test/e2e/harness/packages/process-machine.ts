// SPDX-License-Identifier: Apache-2.0
import { join } from "node:path";
import { openPackageManagement } from "@purlin/control-plane";
import { createFunctionProcesses, type FunctionProcesses } from "@purlin/function-process";
import type { MachineTerm, PackageMachine } from "./package-machine.ts";
import "./sandbox.ts";

/** Functions that run, and what manages them. */
interface Running {
  readonly processes: FunctionProcesses;
  readonly packages: MachineTerm["packages"];
}

/** This machine: functions are child processes, and end with their control plane, as those of `purlin up` do, unless they are spared. */
export function createProcessMachine(directory: string): PackageMachine {
  const clientFolder = join(directory, "function-client");
  let current: Running | undefined;
  let isSpared = false;
  const open = async (flags: {
    readonly functionRevisionSelectors: boolean;
    readonly functionRollouts: boolean | undefined;
  }): Promise<Running> => {
    const processes = createFunctionProcesses({
      directory: join(directory, "functions"),
      clientFolder,
      env: { PATH: process.env["PATH"] },
    });
    return { processes, packages: await openPackageManagement({ directory, processes, ...flags }) };
  };
  const close = async (): Promise<void> => {
    const ending = current;
    current = undefined;
    await ending?.processes.close();
  };
  return {
    async begin(functionRevisionSelectors, functionRollouts) {
      current ??= await open({ functionRevisionSelectors, functionRollouts });
      const { packages, processes } = current;
      return {
        packages,
        functions: { security: processes.security },
        async [Symbol.asyncDispose]() {
          if (!isSpared) await close();
          isSpared = false;
        },
      };
    },
    spare() {
      isSpared = true;
    },
    running: () => (current?.processes.list() ?? []).map(({ name }) => name).toSorted(),
    hosts: () => "",
    access: async () => ({ certificates: clientFolder }),
    // A socket or port of its own; which one is the runtime's business.
    isEndpointOf: (endpoint) => /^(unix:\/.+|127\.0\.0\.1:\d+)$/.test(endpoint),
    [Symbol.asyncDispose]: close,
  };
}
