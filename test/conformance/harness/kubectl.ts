// SPDX-License-Identifier: Apache-2.0
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type CommandResult, runCommand } from "./command.ts";
import type { ServerUnderTest } from "./server-under-test.ts";

/** What a command of kubectl gets besides its arguments. */
export interface KubectlOptions {
  readonly input?: string;
  readonly env?: Readonly<Record<string, string>>;
  /** Called with the output so far; kubectl is ended when it returns true. */
  readonly isEnough?: (stdout: string) => boolean;
}

/** kubectl caches discovery on disk; each server needs a cache of its own. */
const caches = mkdtempSync(join(tmpdir(), "conformance-kubectl-"));
process.once("exit", () => rmSync(caches, { recursive: true, force: true }));

/** Runs the real kubectl against a server. */
export async function runKubectl(
  server: ServerUnderTest,
  namespace: string,
  args: readonly string[],
  { input, env, isEnough }: KubectlOptions = {},
): Promise<CommandResult> {
  // Each server has a port of its own, and so has a folder of its own.
  const cache = join(caches, new URL(server.target.server).port);
  const flags = [`--kubeconfig=${server.kubeconfig}`, `--cache-dir=${cache}`, `--namespace=${namespace}`];
  const result = await runCommand({ program: server.kubectl, args: [...flags, ...args], input, env, isEnough });
  return { ...result, stdout: tidy(result.stdout), stderr: tidy(result.stderr) };
}

/** Text without what differs from run to run: ages, the widths of columns that follow them, names of temporary files. */
function tidy(text: string): string {
  return text
    .replaceAll(/(?<=\s)(\d+[smhd])+(?=\s|$)/g, "<age>")
    .replaceAll(/ {2,}/g, "  ")
    .replaceAll(/(?:\/[\w.-]+)+\/(LIVE|MERGED|kubectl-edit)-[\w.]+/g, "/tmp/$1")
    .replaceAll(/^((?:---|\+\+\+) \S+)\t.*$/gm, "$1");
}
