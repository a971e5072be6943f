// SPDX-License-Identifier: Apache-2.0
import { openCluster } from "../cluster/cluster-client.ts";
import { harmlessLine } from "../harmless.ts";
import type { Io } from "../io.ts";
import { ApplyError, appliedLine, applyManifests } from "../manifests/apply-manifests.ts";
import { readManifests, skippedLine } from "../manifests/manifest.ts";
import { type CommandInput, isSet, listOption, textOption } from "../options/command-spec.ts";
import { actionReport, printData, readOutput } from "../options/data-output.ts";
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
  // The preview applies the files in the same way, and has formats of its own.
  const { output: _, ...options } = input.options;
  const isText = (textOption(input, "output") ?? "text") === "text";
  const previewed = isText ? options : input.options;
  if (isSet(input, "dryRun")) return runDiff({ args: paths, options: { ...previewed, applyAs: "server-side" } }, io);
  const preview = { args: paths, options: { ...options, applyAs: "server-side" } };
  const output = readOutput(input, ["text", "json", "yaml"]);
  if (output !== "text" && input.options["confirm"] === true)
    throw new UserError(`--confirm without a hash asks in a terminal: use it without -o ${output}`, { exitCode: 2 });
  if (paths.includes("-") && input.options["confirm"] !== undefined)
    throw new UserError("--confirm: objects from stdin cannot be read twice: write them to a file", { exitCode: 2 });
  const manifests = await readManifests(paths, io, { stdin: true, onSkipped });
  // A pipe whose first half failed must not look like success.
  if (manifests.length === 0) throw new UserError(`${paths.join(", ")}: no objects found: nothing to apply`);
  const confirm = input.options["confirm"];
  const asking = output === "text" ? io : { ...io, stdout: io.stderr };
  if (confirm !== undefined && !(await isConfirmed(preview, confirm, asking))) return 1;
  await using cluster = await openCluster(input, io);
  const actions: Parameters<typeof actionReport>[0][number][] = [];
  const problems = await problemsOf(() =>
    applyManifests(cluster.client, manifests, {
      waitMs: kindWaitMs,
      namespace: cluster.namespace,
      signal: io.signal,
      onApplied(manifest, action, object) {
        actions.push({ object, action });
        if (output === "text") io.stdout.write(`${appliedLine(manifest, action)}\n`);
      },
    }),
  );
  const style = createStyle(io.stderr, io.env);
  for (const problem of problems) io.stderr.write(`${style.bad("error:")} ${harmlessLine(problem)}\n`);
  const errors = problems.map((message) => ({ code: "INVALID_INPUT" as const, message }));
  if (output !== "text") printData(actionReport(actions, errors), output, io);
  return problems.length === 0 ? 0 : 1;
}

/** Applies, and resolves to the problems, a line each. */
async function problemsOf(apply: () => Promise<void>): Promise<readonly string[]> {
  try {
    await apply();
    return [];
  } catch (error) {
    if (!(error instanceof ApplyError)) throw error;
    return error.problems;
  }
}

/** Previews files as `purlin diff` does. Loaded when it is needed. */
async function runDiff(input: CommandInput, io: Io): Promise<number> {
  const { run: diff } = await import("../diff/diff-command.ts");
  return diff(input, io);
}

/** Shows the plan and asks whether to apply it; with a hash, checks that the plan is still the one that was approved. */
async function isConfirmed(input: CommandInput, confirm: CommandInput["options"][string], io: Io): Promise<boolean> {
  const { confirmPlan } = await import("../diff/diff-command.ts");
  return confirmPlan(input, typeof confirm === "string" ? confirm : undefined, io);
}
