// SPDX-License-Identifier: Apache-2.0
import { spawnSync } from "node:child_process";

/** Downloads a Go module (or finds it in the module cache) and returns its directory. Needs the Go toolchain. */
export function goModuleDirectory(path: string, version: string): string {
  const command = ["mod", "download", "-json", `${path}@${version}`];
  const { status, stdout, stderr, error } = spawnSync("go", command, { encoding: "utf8", maxBuffer: 1 << 24 });
  if (error) throw new Error(`cannot run go: ${error.message}. Install the Go toolchain first`, { cause: error });
  const answer = JSON.parse(stdout || "{}") as { readonly Dir?: string; readonly Error?: string };
  if (status !== 0 || !answer.Dir) throw new Error(`go ${command.join(" ")}: ${answer.Error ?? stderr.trim()}`);
  return answer.Dir;
}
