// SPDX-License-Identifier: Apache-2.0
import type { FunctionProcess, FunctionSpec } from "./function-process.ts";
import { type FunctionProgram, isBare, isProvider, isSandboxed } from "./launch-function.ts";

/** Why a program must not run where a sandbox is required; undefined when it runs in one. */
export function sandboxRefusal({ name, program }: FunctionSpec): string | undefined {
  if (isSandboxed(program) && !sharesNetwork(program)) return undefined;
  return `--require-sandbox refuses to run ${name}: ${whatRuns(program)}`;
}

/** Whether it is a Provider in the network of this machine, where it reaches what listens on loopback and at abstract sockets. */
function sharesNetwork(program: FunctionProgram): boolean {
  return program.kind === "image" && program.provider !== undefined && program.provider.egress === undefined;
}

function whatRuns(program: FunctionProgram): string {
  if (isSandboxed(program)) {
    return "the provider would share the network of this machine; install pasta (Debian: apt-get install passt), or start without --require-sandbox";
  }
  if (isBare(program)) return "there is no sandbox; install bubblewrap and start again";
  if (program.kind === "source") {
    return "purlin.dev/source runs a file without a sandbox; build a package of it, or start without --require-sandbox";
  }
  return "a command runs without a sandbox; build a package of it, or start without --require-sandbox";
}

/** A function that is never started. It fails with the reason, whatever it is asked for. */
export function refusedProcess({ name, program }: FunctionSpec, problem: string): FunctionProcess {
  return {
    name,
    root: undefined,
    isProvider: isProvider(program),
    state: { phase: "failed", problem },
    current: undefined,
    usage: undefined,
    served: () => Promise.reject(new Error(problem)),
    acquire: () => () => {},
    logs: () => [],
    reload() {},
    checkCertificate() {},
    settled: () => Promise.resolve(),
    released: () => Promise.resolve(),
    replace() {},
    stop: () => Promise.resolve(),
  };
}
