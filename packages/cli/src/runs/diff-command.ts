// SPDX-License-Identifier: Apache-2.0

import type { Resources, State } from "@purlin/function-protocol";
import type { JsonObject, JsonValue } from "@purlin/kube-objects/json";
import { changesBetween, desiredObjects, lastCall, type Run, responseJson } from "@purlin/run-store";
import type { Io } from "../io.ts";
import type { CommandInput } from "../options/command-spec.ts";
import { jsonText, readOutput } from "../options/data-output.ts";
import { harmlessLine } from "../terminal/harmless.ts";
import { createStyle } from "../terminal/style.ts";
import { openRuns } from "./runs-source.ts";
import { changeText } from "./show-command.ts";

/** What differs between two runs in one respect. */
interface Difference {
  /** Such as `step compose: observed resource db`. */
  readonly what: string;
  readonly changes: ReturnType<typeof changesBetween>;
}

/** `purlin runs diff A B`: exit code 3 when the runs differ. */
export async function run(input: CommandInput, io: Io): Promise<number> {
  const output = readOutput(input, ["text", "json"]);
  await using runs = await openRuns(input, io);
  const [before, after] = await Promise.all([runs.get(input.args[0] ?? ""), runs.get(input.args[1] ?? "")]);
  const inputs = differing(inputsOf(before), inputsOf(after));
  const outputs = differing(outputsOf(before), outputsOf(after));
  if (output === "json") {
    const document = { before: before.id, after: after.id, inputs, outputs };
    io.stdout.write(jsonText(document));
  } else {
    const style = createStyle(io.stdout, io.env);
    const lines = [style.strong("Inputs"), ...textOf(inputs), style.strong("Outputs"), ...textOf(outputs)];
    io.stdout.write(`${lines.join("\n")}\n`);
  }
  return inputs.length + outputs.length > 0 ? 3 : 0;
}

function textOf(differences: readonly Difference[]): string[] {
  if (differences.length === 0) return ["  no difference"];
  return differences.flatMap(({ what, changes }) => [
    `  ${harmlessLine(what)}`,
    ...changes.map((change) => `    ${harmlessLine(changeText(change))}`),
  ]);
}

function differing(before: ReadonlyMap<string, JsonValue>, after: ReadonlyMap<string, JsonValue>): Difference[] {
  const names = [...new Set([...before.keys(), ...after.keys()])];
  return names
    .map((what) => ({ what, changes: changesBetween(before.get(what), after.get(what)) }))
    .filter(({ changes }) => changes.length > 0);
}

/** Everything that a run depends on, by name. */
function inputsOf(run: Run): ReadonlyMap<string, JsonValue> {
  const inputs = new Map<string, JsonValue>([
    ["composition revision", run.compositionRevision],
    ["composite resource", run.composite],
  ]);
  for (const step of run.steps) {
    const of = (what: string): string => `step ${step.name}: ${what}`;
    inputs.set(of("function revision"), `${step.function} ${step.revision}`);
    const request = lastCall(step)?.request;
    if (request === undefined) continue;
    inputs.set(of("input"), request.input?.value ?? null);
    for (const [name, object] of objectsIn(request.observed)) inputs.set(`observed resource ${name}`, object);
    for (const [name, found] of [...request.requiredResources, ...request.extraResources]) {
      inputs.set(of(`required resources ${name}`), itemsOf(found));
    }
  }
  return inputs;
}

function objectsIn(state: State | undefined): ReadonlyMap<string, JsonObject> {
  const resources = state?.resources ?? new Map();
  return new Map([...resources].map(([name, { resource }]) => [name, resource?.value ?? {}]));
}

function itemsOf({ items }: Resources): JsonValue {
  return items.map(({ resource }) => resource?.value ?? {});
}

/** Everything that a run resulted in, by name. */
function outputsOf(run: Run): ReadonlyMap<string, JsonValue> {
  const outputs = new Map<string, JsonValue>([
    ["outcome", run.outcome],
    ["error", run.error ?? null],
    ["conditions", run.conditions.map((condition) => ({ ...condition }))],
  ]);
  const last = run.steps.at(-1);
  const desired = desiredObjects(last && lastCall(last)?.response?.desired);
  for (const [name, object] of desired) outputs.set(`desired resource ${name}`, object);
  for (const step of run.steps) {
    const response = lastCall(step)?.response;
    const json = response && (responseJson(response) as JsonObject);
    if (json?.["results"] !== undefined) outputs.set(`step ${step.name}: results`, json["results"]);
  }
  return outputs;
}
