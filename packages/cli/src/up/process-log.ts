// SPDX-License-Identifier: Apache-2.0

import type { FunctionProcess, ProcessState } from "@purlin/function-process";
import type { Log } from "@purlin/kube-controller";

/** Logs each new state of a function's process once: restarts that fail alike are one line. */
export function createProcessLog(log: Log): (process: FunctionProcess) => void {
  const logged = new WeakMap<FunctionProcess, string>();
  return (process) => {
    const text = stateOf(process.state);
    if (logged.get(process) === text) return;
    logged.set(process, text);
    const fields = { function: process.name };
    if (process.state.phase === "serving" && process.state.problem === undefined) log.info("function serves", fields);
    else log.error("function failed", { ...fields, error: text });
  };
}

function stateOf(state: ProcessState): string {
  return state.phase === "starting" ? "" : (state.problem ?? state.phase);
}
