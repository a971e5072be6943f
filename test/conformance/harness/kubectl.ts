// SPDX-License-Identifier: Apache-2.0
import { spawn } from "node:child_process";
import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { ServerUnderTest } from "./server-under-test.ts";

/** How a command left and what it printed. */
export interface CommandResult {
  readonly exitCode: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

const patienceMs = 60_000;
/** kubectl keeps discovery on disk; nobody else's may be used, and the two servers must not share theirs. */
const caches = mkdtempSync(join(tmpdir(), "conformance-kubectl-"));

/** Runs the real kubectl against a server. */
export function runKubectl(
  server: ServerUnderTest,
  namespace: string,
  args: readonly string[],
  input = "",
): Promise<CommandResult> {
  const flags = [
    `--kubeconfig=${server.kubeconfig}`,
    `--cache-dir=${join(caches, server.name)}`,
    `--namespace=${namespace}`,
  ];
  const child = spawn(server.kubectl, [...flags, ...args], { timeout: patienceMs, stdio: "pipe" });
  const { promise, resolve, reject } = Promise.withResolvers<CommandResult>();
  const printed = { stdout: "", stderr: "" };
  for (const stream of ["stdout", "stderr"] as const) {
    child[stream].setEncoding("utf8").on("data", (chunk: string) => {
      printed[stream] += chunk;
    });
  }
  child.on("error", reject);
  child.on("close", (exitCode) => resolve({ exitCode, ...printed }));
  child.stdin.on("error", () => {});
  child.stdin.end(input);
  return promise;
}
