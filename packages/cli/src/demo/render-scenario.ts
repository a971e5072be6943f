// SPDX-License-Identifier: Apache-2.0
import type { CallOutcome, Round } from "../function-call/call-function.ts";
import type { Style } from "../terminal/style.ts";
import { formatTable } from "../terminal/table.ts";
import { type ConditionRow, claimConditions, type EventRow, events, outcome } from "./claim-view.ts";
import { answersText, requirementsText } from "./requirements-text.ts";

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
