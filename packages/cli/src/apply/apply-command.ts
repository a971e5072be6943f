// SPDX-License-Identifier: Apache-2.0
import { openCluster } from "../cluster/cluster-client.ts";
import type { Io } from "../io.ts";
import { ApplyError, appliedLine, applyManifests } from "../manifests/apply-manifests.ts";
import { readManifests, skippedLine } from "../manifests/manifest.ts";
import { type CommandInput, isSet, listOption } from "../options/command-spec.ts";
import { harmlessLine } from "../terminal/harmless.ts";
import { createStyle } from "../terminal/style.ts";
import { UserError } from "../user-error.ts";

/** A kind that is defined a moment before its first object needs about this long. */
const kindWaitMs = 30_000;

/** `purlin apply PATH…` */
export async function run(input: CommandInput, io: Io): Promise<number> {
  const onSkipped = (files: readonly string[]): void => void io.stderr.write(`${skippedLine(files)}\n`);
  const paths = [...input.args, ...listOption(input, "filename")];
  if (paths.length === 0)
    throw new UserError("specify a file or folder: purlin apply PATH, or -f PATH", { exitCode: 2 });
  // The preview applies the files in the same way.
  const preview = { args: paths, options: { ...input.options, applyAs: "server-side" } };
  if (isSet(input, "dryRun")) return runDiff(preview, io);
  if (paths.includes("-") && input.options["confirm"] !== undefined)
    throw new UserError("--confirm: objects from stdin cannot be read twice: write them to a file", { exitCode: 2 });
  const manifests = await readManifests(paths, io, { stdin: true, onSkipped });
  // A pipe whose first half failed must not look like success.
  if (manifests.length === 0) throw new UserError(`${paths.join(", ")}: no objects found: nothing to apply`);
  const confirm = input.options["confirm"];
  if (confirm !== undefined && !(await isConfirmed(preview, confirm, io))) return 1;
  await using cluster = await openCluster(input, io);
  // Awaited here, or the connection would be closed first.
  return await reportProblems(io, () =>
    applyManifests(cluster.client, manifests, {
      waitMs: kindWaitMs,
      namespace: cluster.namespace,
      signal: io.signal,
      onApplied: (manifest, change) => io.stdout.write(`${appliedLine(manifest, change)}\n`),
    }),
  );
}

/** Applies, and shows each problem in a line of its own. Resolves to the exit code. */
async function reportProblems(io: Io, apply: () => Promise<void>): Promise<number> {
  try {
    await apply();
    return 0;
  } catch (error) {
    if (!(error instanceof ApplyError)) throw error;
    const style = createStyle(io.stderr, io.env);
    for (const problem of error.problems) io.stderr.write(`${style.bad("error:")} ${harmlessLine(problem)}\n`);
    return 1;
  }
}

/** Previews files as `purlin diff` does. Loaded when it is needed. */
async function runDiff(input: CommandInput, io: Io): Promise<number> {
  const { run: diff } = await import("../diff/diff-command.ts");
  return diff(input, io);
}

/** Shows the plan and asks whether to apply it; with a hash, checks that the plan is still the one that was approved. */
async function isConfirmed(input: CommandInput, confirm: CommandInput["options"][string], io: Io): Promise<boolean> {
  const { confirmPlan } = await import("../diff/confirm-plan.ts");
  return confirmPlan(input, typeof confirm === "string" ? confirm : undefined, io);
}
