// SPDX-License-Identifier: Apache-2.0

import { create, encodeCanonical, RunFunctionResponse, Severity } from "@purlin/function-protocol";
import { changesBetween, lastCall, type Run, type RunStepMessages, responseJson } from "@purlin/run-store";
import type { Io } from "../io.ts";
import { type CommandInput, isSet, textOption } from "../options/command-spec.ts";
import { jsonText, readOutput } from "../options/data-output.ts";
import { readTimeout } from "../options/duration.ts";
import { harmlessLine } from "../terminal/harmless.ts";
import { textOf, UserError } from "../user-error.ts";
import { openReplayFunction } from "./replay-function.ts";
import { comparable, restoreSecrets, storeMark } from "./restore-secrets.ts";
import { openRuns, type RunsSource } from "./runs-source.ts";
import { changeText, stepsOf } from "./show-command.ts";

/** The result of one step. */
interface Replayed {
  readonly step: string;
  readonly equal: boolean;
  readonly changes: ReturnType<typeof changesBetween>;
  readonly error?: string;
  /** The message of a fatal result. */
  readonly fatal?: string;
}

/** `purlin runs replay RUN`: exit code 0 when all responses are equal to the recorded ones, 3 when one differs, 1 when a call fails. */
export async function run(input: CommandInput, io: Io): Promise<number> {
  const output = readOutput(input, ["text", "json"]);
  const timeoutMs = readTimeout(textOption(input, "timeout") ?? (isSet(input, "inspectBrk") ? "1h" : "30s"));
  await using runs = await openRuns(input, io);
  const found = await runs.get(input.args[0] ?? "");
  const steps = chosen(found, input);
  const results: Replayed[] = [];
  for (const step of steps) results.push(await replay(step, { run: found, input, io, runs, timeoutMs }));
  if (output === "json") {
    io.stdout.write(jsonText({ run: found.id, steps: results }));
  } else for (const result of results) io.stdout.write(`${textOfResult(result).join("\n")}\n`);
  if (results.some(({ error }) => error !== undefined)) return 1;
  return results.every(({ equal }) => equal) ? 0 : 3;
}

/** One function stands for one step: with --with the step must be clear. */
function chosen(run: Run, input: CommandInput): readonly RunStepMessages[] {
  const wanted = textOption(input, "step");
  const steps = stepsOf(run, wanted).filter(({ calls }) => calls.length > 0);
  if (steps.length === 0) throw new UserError(`run ${run.id} called no function: there is nothing to replay`);
  const isOne = textOption(input, "with") !== undefined || isSet(input, "inspectBrk");
  if (!isOne || steps.length === 1) return steps;
  const failed = steps.filter(({ error }) => error !== undefined);
  if (failed.length === 1) return failed;
  const names = steps.map(({ name }) => name).join(", ");
  throw new UserError(`run ${run.id} has several steps: specify one of ${names} with --step`, { exitCode: 2 });
}

interface Replaying {
  readonly run: Run;
  readonly input: CommandInput;
  readonly io: Io;
  readonly runs: RunsSource;
  readonly timeoutMs: number;
}

async function replay(step: RunStepMessages, { run, input, io, runs, timeoutMs }: Replaying): Promise<Replayed> {
  const call = lastCall(step);
  if (call === undefined) throw new UserError(`step "${step.name}" called no function`);
  await using fn = await openReplayFunction(step, { input, io, cluster: runs.cluster });
  if (fn.revision !== undefined && fn.revision !== step.revision) {
    io.stderr.write(`note: the run used revision ${step.revision}; this is ${fn.revision}\n`);
  }
  const { cluster } = runs;
  const restored = isSet(input, "withSecrets") ? await restoreSecrets(run, step, { input, io, cluster }) : undefined;
  const request = restored ?? call.request;
  try {
    const response = await fn.call(request, Date.now() + timeoutMs);
    const empty = create(RunFunctionResponse);
    const pair = [call.response ?? empty, response] as const;
    const [recorded, now] = comparable(request, pair, storeMark(input, io)).map((one) => ({ ...one, meta: undefined }));
    if (recorded === undefined || now === undefined) throw new Error("a response is missing");
    const equal = encodeCanonical(RunFunctionResponse, recorded).equals(encodeCanonical(RunFunctionResponse, now));
    const changes = equal ? [] : changesBetween(responseJson(recorded), responseJson(now));
    const fatal = now.results.find(({ severity }) => severity === Severity.SEVERITY_FATAL)?.message;
    return { step: step.name, equal, changes, ...(fatal !== undefined && { fatal }) };
  } catch (error) {
    return { step: step.name, equal: false, changes: [], error: textOf(error) };
  }
}

function textOfResult({ step, equal, changes, error, fatal }: Replayed): string[] {
  if (error !== undefined) return [`${step}: the call failed: ${harmlessLine(error)}`];
  const stopped = fatal === undefined ? [] : [`  fatal result: ${harmlessLine(fatal)}`];
  if (equal) return [`${step}: the response equals the recorded one`, ...stopped];
  return [
    `${step}: the response differs from the recorded one`,
    ...stopped,
    ...changes.map((one) => `  ${harmlessLine(changeText(one))}`),
  ];
}
