// SPDX-License-Identifier: Apache-2.0
import type { Io } from "../io.ts";
import type { CommandInput } from "../options/command-spec.ts";
import { UserError } from "../user-error.ts";
import { completionScripts, type Shell, shells } from "./shell-scripts.ts";

/** `purlin completion SHELL` */
export async function run(input: CommandInput, io: Io): Promise<undefined> {
  const [shell = ""] = input.args;
  if (!isShell(shell)) throw new UserError(`shell "${shell}" is not supported: use bash, zsh or fish`, { exitCode: 2 });
  io.stdout.write(completionScripts[shell]);
}

function isShell(name: string): name is Shell {
  return (shells as readonly string[]).includes(name);
}
