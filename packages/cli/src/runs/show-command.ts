// SPDX-License-Identifier: Apache-2.0
import type { Resources, State } from "@purlin/function-protocol";
import { type JsonObject, type JsonValue, printJson } from "@purlin/kube-objects/json";
import {
  changesBetween,
  desiredObjects,
  type FieldChange,
  lastCall,
  omittedIn,
  type Run,
  type RunStepMessages,
  requestJson,
  responseJson,
} from "@purlin/run-store";
import { printYaml } from "../files/yaml-file.ts";
import { harmlessLine } from "../harmless.ts";
import type { Io } from "../io.ts";
import { type CommandInput, isSet, textOption } from "../options/command-spec.ts";
import { jsonText, readOutput } from "../options/data-output.ts";
import { createStyle, type Style } from "../terminal/style.ts";
import { UserError } from "../user-error.ts";
import { openRuns } from "./runs-source.ts";

/** `purlin runs show RUN [--step S] [--request|--response|--desired]` */
export async function show(input: CommandInput, io: Io): Promise<undefined> {
  const output = readOutput(input, ["text", "json", "yaml"]);
  const views = ["request", "response", "desired"].filter((name) => isSet(input, name));
  if (views.length > 1) throw new UserError(`--${views.join(" and --")}: specify one of them`, { exitCode: 2 });
  await using runs = await openRuns(input, io);
  const found = await runs.get(input.args[0] ?? "");
  const steps = stepsOf(found, textOption(input, "step"));
  const write = (value: JsonValue): void => {
    io.stdout.write(output === "json" ? jsonText(value) : printYaml(value));
  };
  const [view] = views;
  if (view !== undefined) {
    io.stdout.write(
      messagesText(
        steps.map((step) => viewOf(step, view)),
        output,
      ),
    );
    return;
  }
  if (output !== "text") write(runJson({ ...found, steps }));
  else io.stdout.write(`${runText(found, steps, createStyle(io.stdout, io.env)).join("\n")}\n`);
}

/** Messages of steps: one document, as JSON a list if there are several, as YAML one after the other. */
function messagesText(messages: readonly JsonValue[], output: string): string {
  if (output !== "json") return messages.map((message) => printYaml(message)).join("---\n");
  const [only = null] = messages;
  return jsonText(messages.length === 1 ? only : [...messages]);
}

/** The steps of a run, or the one that is asked for by name or position. Throws a UserError when there is no such step. */
export function stepsOf({ id, steps }: Run, wanted: string | undefined): readonly RunStepMessages[] {
  if (wanted === undefined) return steps;
  const found = steps.filter(({ name, index }) => name === wanted || String(index) === wanted);
  if (found.length > 0) return found;
  const names = steps.map(({ name }) => name).join(", ") || "none";
  throw new UserError(`--step ${wanted}: run ${id} has no such step: its steps are ${names}`, { exitCode: 2 });
}

function viewOf(step: RunStepMessages, view: string): JsonValue {
  const call = lastCall(step);
  if (view === "request") return call === undefined ? null : requestJson(call.request);
  if (view === "response") return call?.response === undefined ? null : responseJson(call.response);
  return Object.fromEntries(desiredObjects(call?.response?.desired));
}

/** A run as JSON, with all messages. */
function runJson(found: Run): JsonValue {
  const steps = found.steps.map(({ calls, ...step }) => ({
    ...step,
    calls: calls.map(({ request, response }) => ({
      request: requestJson(request),
      ...(response !== undefined && { response: responseJson(response) }),
    })),
  }));
  return { ...found, steps } as unknown as JsonValue;
}

function runText(found: Run, steps: readonly RunStepMessages[], style: Style): string[] {
  const { xr, outcome, repeats } = found;
  const place = xr.namespace === undefined ? "" : ` in namespace ${xr.namespace}`;
  const facts = [
    `  outcome   ${outcome}${repeats > 0 ? `, ${repeats} equal ${repeats === 1 ? "run" : "runs"} since, the last at ${found.last}` : ""}`,
    `  began     ${found.began}, took ${Math.round(found.durationMs)}ms, cause: ${found.cause}`,
    `  revision  ${found.compositionRevision || "-"} of Composition ${found.composition || "-"}`,
    ...(found.error === undefined ? [] : [`  error     ${found.error}`]),
    ...found.conditions.map(
      ({ type, status, reason, message = "" }) => `  condition ${type}=${status} ${reason} ${message}`,
    ),
    ...found.writes.map(
      ({ verb, kind, name, subresource, changed }) =>
        `  write     ${verb} ${kind}/${name}${subresource ? `/${subresource}` : ""} (${changed} fields)`,
    ),
  ];
  return [
    `${style.strong(harmlessLine(found.id))}  ${harmlessLine(`${xr.kind} ${xr.name}${place}`)}`,
    ...facts.map(harmlessIndented),
    ...steps.flatMap((step) => ["", ...stepText(step, style)]),
  ];
}

/** Keeps the indentation of a line. */
function harmlessIndented(line: string): string {
  const indent = /^ */.exec(line)?.[0] ?? "";
  return `${indent}${harmlessLine(line)}`;
}

function stepText(step: RunStepMessages, style: Style): string[] {
  const call = lastCall(step);
  const cached = step.cached ? `, from the cache (${step.origin ?? "origin not recorded"})` : "";
  const rounds = step.calls.length > 1 ? `, ${step.calls.length} rounds` : "";
  const title = `step ${step.index + 1} ${step.name}: ${step.function} ${revisionText(step.revision)}`;
  const facts = `${Math.round(step.durationMs)}ms, ${step.bytesIn} bytes in, ${step.bytesOut} bytes out${rounds}${cached}`;
  const error = step.error === undefined ? [] : [`  ${style.bad("error")}: ${harmlessLine(step.error)}`];
  return [style.strong(harmlessLine(title)), harmlessIndented(`  ${facts}`), ...error, ...callText(call)];
}

function callText(call: ReturnType<typeof lastCall>): string[] {
  if (call === undefined) return [];
  const lines: string[] = [];
  const { objects, bytes } = omittedIn(call);
  const count = objects === 1 ? "1 object" : `${objects} objects`;
  if (objects > 0) lines.push(`  ${count} of ${bytes} bytes ${objects === 1 ? "was" : "were"} too large to keep`);
  for (const { message, severity } of call.response?.results ?? []) {
    lines.push(`  result ${["unspecified", "fatal", "warning", "normal"][severity] ?? severity}: ${message}`);
  }
  if (call.response !== undefined) lines.push(...desiredText(call.request.desired, call.response.desired));
  return lines.map(harmlessIndented);
}

function desiredText(before: State | undefined, after: State | undefined): string[] {
  const [old, now] = [desiredObjects(before), desiredObjects(after)];
  const names = [...new Set([...old.keys(), ...now.keys()])].sort();
  const lines = names.flatMap((name) => {
    const changes = changesBetween(old.get(name), now.get(name));
    if (changes.length === 0) return [];
    const mark = old.has(name) ? (now.has(name) ? "~" : "-") : "+";
    return [`  ${mark} ${name}`, ...(mark === "-" ? [] : changes.map((change) => `      ${changeText(change)}`))];
  });
  return lines.length === 0 ? ["  desired: no change"] : lines;
}

/** A field and how it changed. */
export function changeText({ path, before, after }: FieldChange): string {
  // A scalar has no path of its own.
  const at = path === "" ? "" : `${path}: `;
  if (before === undefined) return `+ ${at}${shortJson(after)}`;
  if (after === undefined) return `- ${at}${shortJson(before)}`;
  return `~ ${at}${shortJson(before)} -> ${shortJson(after)}`;
}

const longest = 120;

/** A value in one line of bounded length. */
export function shortJson(value: JsonValue | undefined): string {
  const text = value === undefined ? "" : printJson(value);
  return text.length <= longest ? text : `${text.slice(0, longest)}…`;
}

/** The name of a revision. A function under development has an address instead, which changes with every start. */
export function revisionText(revision: string): string {
  return revision.includes("@") ? "(development)" : revision;
}

/** What differs between two runs in one respect. */
interface Difference {
  /** Such as `step compose: observed resource db`. */
  readonly what: string;
  readonly changes: ReturnType<typeof changesBetween>;
}

/** `purlin runs diff A B`: exit code 3 when the runs differ. */
export async function diff(input: CommandInput, io: Io): Promise<number> {
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
    ...changeTexts(changes).map((line) => `    ${harmlessLine(line)}`),
  ]);
}

const ownership = "metadata.managedFields";

/** A line for each field. Who owns which field is one line: every write changes dozens of them. */
export function changeTexts(changes: Difference["changes"]): string[] {
  const isOwnership = ({ path }: FieldChange): boolean => path.startsWith(ownership);
  const owned = changes.filter(isOwnership).length;
  const texts = changes.filter((change) => !isOwnership(change)).map(changeText);
  return owned === 0 ? texts : [...texts, `~ ${ownership} (${owned} ${owned === 1 ? "field" : "fields"}, see -o json)`];
}

function differing(before: ReadonlyMap<string, JsonValue>, after: ReadonlyMap<string, JsonValue>): Difference[] {
  const names = [...new Set([...before.keys(), ...after.keys()])];
  return names
    .map((what) => ({ what, changes: changesBetween(before.get(what), after.get(what)) }))
    .filter(({ changes }) => changes.length > 0);
}

/** Everything that a run depends on, by name. */
function inputsOf(diff: Run): ReadonlyMap<string, JsonValue> {
  const inputs = new Map<string, JsonValue>([
    ["composition revision", diff.compositionRevision],
    ["composite resource", diff.composite],
  ]);
  for (const step of diff.steps) {
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
function outputsOf(diff: Run): ReadonlyMap<string, JsonValue> {
  const outputs = new Map<string, JsonValue>([
    ["outcome", diff.outcome],
    ["error", diff.error ?? null],
    ["conditions", diff.conditions.map((condition) => ({ ...condition }))],
  ]);
  const last = diff.steps.at(-1);
  const desired = desiredObjects(last && lastCall(last)?.response?.desired);
  for (const [name, object] of desired) outputs.set(`desired resource ${name}`, object);
  for (const step of diff.steps) {
    const response = lastCall(step)?.response;
    const json = response && (responseJson(response) as JsonObject);
    if (json?.["results"] !== undefined) outputs.set(`step ${step.name}: results`, json["results"]);
  }
  return outputs;
}
