// SPDX-License-Identifier: Apache-2.0
import { resolve } from "node:path";
import type { RunningSource, SourceRuntime } from "@purlin/function-runner";
import type { FunctionProcesses } from "./function-processes.ts";

/**
 * Runs the source files of Functions as child processes. Relative paths start at `cwd`, and files in messages are told
 * from there.
 */
export function createSourceRuntime(processes: FunctionProcesses, options: { readonly cwd: string }): SourceRuntime {
  const { cwd } = options;
  return {
    serve(name, path, signal): Promise<RunningSource> {
      const file = resolve(cwd, path);
      return processes.run({ name, cwd, program: { kind: "source", file } }).served(signal);
    },
    current: (name) => processes.get(name)?.current,
  };
}
