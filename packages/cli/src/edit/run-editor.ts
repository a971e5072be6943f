// SPDX-License-Identifier: Apache-2.0
import { spawn } from "node:child_process";
import type { Io } from "../io.ts";
import { UserError } from "../user-error.ts";

/** Opens a file in the user's editor, as kubectl finds it: $KUBE_EDITOR, $EDITOR, or vi. Resolves when it is closed. */
export async function runEditor(file: string, io: Io): Promise<void> {
  const editor = io.env["KUBE_EDITOR"] || io.env["EDITOR"] || "vi";
  // A shell, because the variable may hold a command with arguments, as for git and kubectl.
  const child = spawn("/bin/sh", ["-c", `${editor} "$1"`, "sh", file], { stdio: "inherit", signal: io.signal });
  const { promise, resolve, reject } = Promise.withResolvers<number | null>();
  child.on("error", reject);
  child.on("close", resolve);
  const exitCode = await promise;
  if (exitCode !== 0) throw new UserError(`editor "${editor}" exited with ${exitCode}: set $EDITOR to another one`);
}
