// SPDX-License-Identifier: Apache-2.0
import { createInterface } from "node:readline/promises";
import type { Io } from "../io.ts";
import type { CommandInput } from "../options/command-spec.ts";
import { UserError } from "../user-error.ts";
import { previewFiles, printPlan } from "./diff-command.ts";
import { readDiffInput } from "./diff-input.ts";

/** Previews files and asks whether to apply them. With a hash it asks nothing: the plan must be the one with that hash. */
export async function confirmPlan(input: CommandInput, hash: string | undefined, io: Io): Promise<boolean> {
  const diff = readDiffInput(input, io);
  const plan = await previewFiles(input, diff, { io });
  if (hash !== undefined && plan.hash !== hash) {
    throw new UserError(
      `the plan has changed: its hash is ${plan.hash}, not ${hash}: preview it again with purlin diff`,
    );
  }
  printPlan(plan, diff, io);
  if (plan.isStale) throw new UserError("the control plane changes too fast to preview: nothing was applied");
  if (plan.errors.length > 0) throw new UserError("the preview has errors: nothing was applied");
  if (hash !== undefined) return true;
  if (!io.stdout.isTTY)
    throw new UserError(
      "--confirm needs a terminal; elsewhere use --confirm HASH with the hash of purlin diff -o json",
      { exitCode: 2 },
    );
  return asked(io);
}

async function asked(io: Io): Promise<boolean> {
  io.stdout.write("Apply these changes? Only 'yes' is accepted: ");
  const lines = createInterface({ input: io.stdin });
  try {
    for await (const line of lines) return line.trim() === "yes";
    return false;
  } finally {
    lines.close();
  }
}
