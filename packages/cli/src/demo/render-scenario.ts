// SPDX-License-Identifier: Apache-2.0

import {
  type Condition,
  isFatal,
  type Requirements,
  type ResourceSelector,
  type Resources,
  type RunFunctionRequest,
  type RunFunctionResponse,
  type Schema,
  type SchemaSelector,
  Severity,
  Status,
  Target,
} from "@purlin/function-protocol";
import type { CallOutcome, Round } from "../function-call/call-command.ts";
import { formatTable } from "../terminal/screen.ts";
import type { Style } from "../terminal/style.ts";

/** What a function asks for, in words; undefined when it asks for nothing. */
export function requirementsText(requirements: Requirements | undefined): string | undefined {
  const { resources, extraResources, schemas } = requirements ?? {};
  return list([
    ...[...(resources?.values() ?? [])].map(selectorText),
    ...[...(extraResources?.values() ?? [])].map(selectorText),
    ...[...(schemas?.values() ?? [])].map(schemaText),
  ]);
}

/** What a request carries in answer to requirements, in words; undefined when it answers none. */
export function answersText(requirements: Requirements | undefined, request: RunFunctionRequest): string | undefined {
  return list([
    ...foundText(requirements?.resources, request.requiredResources),
    ...foundText(requirements?.extraResources, request.extraResources),
    ...foundSchemaText(requirements?.schemas, request.requiredSchemas),
  ]);
}

function foundText(
  asked: ReadonlyMap<string, ResourceSelector> | undefined,
  answers: ReadonlyMap<string, Resources>,
): string[] {
  return [...(asked ?? [])].flatMap(([name, selector]) => {
    const answer = answers.get(name);
    if (answer === undefined) return [];
    return answer.items.length === 0 ? `no ${selectorText(selector).replace(/^every /, "")}` : selectorText(selector);
  });
}

function foundSchemaText(
  asked: ReadonlyMap<string, SchemaSelector> | undefined,
  answers: ReadonlyMap<string, Schema>,
): string[] {
  return [...(asked ?? [])].flatMap(([name, selector]) => {
    const answer = answers.get(name);
    if (answer === undefined) return [];
    if (answer.openapiV3 === undefined) return `no schema of ${selector.apiVersion} ${selector.kind}`;
    return `${schemaText(selector)} (${Math.ceil(answer.openapiV3.bytes.length / 1024)} KiB)`;
  });
}

function list(parts: readonly string[]): string | undefined {
  return parts.length === 0 ? undefined : parts.join(", ");
}

function schemaText({ apiVersion, kind }: SchemaSelector): string {
  return `the schema of ${apiVersion} ${kind}`;
}

function selectorText({ kind, match }: ResourceSelector): string {
  if (match === undefined) return `every ${kind}`;
  if (match.case === "matchName") return `${kind} "${match.value}"`;
  const labels = [...match.value.labels].map(([key, value]) => `${key}=${value}`);
  return labels.length === 0 ? `every ${kind}` : `every ${kind} with ${labels.join(",")}`;
}

/** One line of a table of conditions. */
interface ConditionRow {
  readonly type: string;
  readonly status: "True" | "False" | "Unknown";
  readonly reason: string;
  readonly message: string;
}

/** One event, as `kubectl describe` lists it. */
interface EventRow {
  readonly type: "Normal" | "Warning";
  readonly reason: string;
  readonly message: string;
}

/** The conditions of a response that reach the claim, in order; of one type, the last. */
export function claimConditions(response: RunFunctionResponse): ConditionRow[] {
  const byType = new Map<string, ConditionRow>();
  for (const condition of response.conditions) {
    if (condition.target === Target.TARGET_COMPOSITE_AND_CLAIM) byType.set(condition.type, toRow(condition));
  }
  return [...byType.values()];
}

function toRow({ type, status, reason, message }: Condition): ConditionRow {
  const names: Readonly<Record<number, ConditionRow["status"]>> = {
    [Status.STATUS_CONDITION_TRUE]: "True",
    [Status.STATUS_CONDITION_FALSE]: "False",
  };
  return { type, status: names[status] ?? "Unknown", reason, message: message ?? "" };
}

/** A severity of a later protocol is for the platform team to look into. */
const known: ReadonlySet<number> = new Set([
  Severity.SEVERITY_FATAL,
  Severity.SEVERITY_WARNING,
  Severity.SEVERITY_NORMAL,
]);

/** The events of a response: those the claim's user sees, and those only the platform team sees on the composite. */
export function events(response: RunFunctionResponse): { readonly claim: EventRow[]; readonly composite: EventRow[] } {
  const claim: EventRow[] = [];
  const composite: EventRow[] = [];
  for (const { severity, reason, message, target } of untilFatal(response)) {
    const fallback = severity === Severity.SEVERITY_FATAL ? "ReconcileError" : "ComposeResources";
    const type = severity === Severity.SEVERITY_NORMAL ? "Normal" : "Warning";
    const isForClaim = target === Target.TARGET_COMPOSITE_AND_CLAIM && known.has(severity);
    (isForClaim ? claim : composite).push({ type, reason: reason || fallback, message });
  }
  return { claim, composite };
}

/** A fatal result ends the pipeline; what comes after it is dropped. */
function untilFatal(response: RunFunctionResponse): RunFunctionResponse["results"] {
  const fatal = response.results.findIndex(({ severity }) => severity === Severity.SEVERITY_FATAL);
  return fatal === -1 ? response.results : response.results.slice(0, fatal + 1);
}

/** What happens to the composed resources: nothing after a fatal result, else what is wanted and whether it is ready. */
export function outcome(response: RunFunctionResponse): string {
  if (isFatal(response)) return "The function stopped the pipeline: nothing is applied.";
  const resources = [...(response.desired?.resources ?? [])].map(([name, { resource, ready }]) => {
    const kind = String(resource?.value["kind"] ?? "resource");
    return `${kind} "${name}" (${ready === 1 ? "ready" : "not ready yet"})`;
  });
  return resources.length === 0 ? "Nothing is to be applied." : `To be applied: ${resources.join(", ")}.`;
}

const indent = "   ";

/** What happened in one scenario: the rounds, what the claim's user sees, what the platform team sees, what is applied. */
export function renderOutcome({ response, rounds }: CallOutcome, style: Style): string {
  const { claim, composite } = events(response);
  const sections = [
    rounds.map((round, index) => style.faint(roundLine(rounds, round, index))),
    section(
      "What the claim's user sees:",
      joined(conditionLines(claimConditions(response), style), eventLines(claim, style)),
      style,
    ),
    section("What only the platform team sees:", eventLines(composite, style), style),
    [outcome(response)],
  ];
  const lines = sections.filter((section) => section.length > 0).flatMap((section) => [...section, ""]);
  return lines.map((line) => (line === "" ? "" : `${indent}${line}`)).join("\n");
}

function roundLine(rounds: readonly Round[], { request, response }: Round, index: number): string {
  const found = answersText(rounds[index - 1]?.response.requirements, request);
  const asked = requirementsText(response.requirements);
  const last = index === rounds.length - 1;
  const does = last || asked === undefined ? "the function answers" : `the function asks for ${asked}`;
  return `round ${index + 1}: ${found === undefined ? "" : `the runner has found ${found}; `}${does}`;
}

/** Two tables with an empty line between them, if there are two. */
function joined(first: readonly string[], second: readonly string[]): string[] {
  return [...first, ...(first.length > 0 && second.length > 0 ? [""] : []), ...second];
}

function section(title: string, lines: readonly string[], style: Style): string[] {
  return lines.length === 0 ? [] : [style.strong(title), ...lines.map((line) => (line === "" ? "" : `  ${line}`))];
}

function conditionLines(rows: readonly ConditionRow[], style: Style): string[] {
  if (rows.length === 0) return [];
  const paint = { True: style.good, False: style.bad, Unknown: style.doubtful };
  const head = ["CONDITION", "STATUS", "REASON", "MESSAGE"].map((text) => style.faint(text));
  const cells = rows.map(({ type, status, reason, message }) => [type, paint[status](status), reason, message]);
  return formatTable([head, ...cells]).split("\n");
}

function eventLines(rows: readonly EventRow[], style: Style): string[] {
  if (rows.length === 0) return [];
  const head = ["EVENT", "REASON", "MESSAGE"].map((text) => style.faint(text));
  const cells = rows.map(({ type, reason, message }) => [
    type === "Warning" ? style.doubtful(type) : type,
    reason,
    message,
  ]);
  return formatTable([head, ...cells]).split("\n");
}
