// SPDX-License-Identifier: Apache-2.0
import { resolve } from "node:path";
import type { RunningSource, SourceRuntime } from "@purlin/function-runner";
import type { FunctionSpec } from "./function-process.ts";
import type { FunctionProcesses } from "./function-processes.ts";
import type { SourceFolders } from "./source-file.ts";

/** How the source files of Functions are run. */
export interface SourceOptions {
  /** Relative paths start here, and files in messages are relative to it. */
  readonly cwd: string;
  /** Where source files must lie; anywhere unless given. */
  readonly within?: SourceFolders | undefined;
}

/** Runs the source files of Functions as child processes. */
export function createSourceRuntime(processes: FunctionProcesses, options: SourceOptions): SourceRuntime {
  return {
    serve(name, path, signal): Promise<RunningSource> {
      return processes.run(sourceSpec(name, path, options)).served(signal);
    },
    current: (name) => processes.get(name)?.current,
  };
}

/** The process of a Function's source file. */
export function sourceSpec(name: string, path: string, { cwd, within }: SourceOptions): FunctionSpec {
  return { name, cwd, program: { kind: "source", file: resolve(cwd, path), within } };
}
