// SPDX-License-Identifier: Apache-2.0
// What the runner prints: a line for each group that ended, failures in full, and a summary at the end.
import { relative } from "node:path";
import type { Failure } from "./events.ts";
import type { GroupResult } from "./test-process.ts";

const indent = (text: string, by: string): string => text.replaceAll(/^(?=.)/gm, by);
const count = (amount: number, noun: string): string => `${amount} ${noun}${amount === 1 ? "" : "s"}`;

/** `[3/16] ok    packages/cel: 302 passed in 9 files (2.1s)`. */
export function groupLine(result: GroupResult, done: number, total: number): string {
  const { group, passed, failures, skipped, seconds } = result;
  const numbers = [`${passed} passed`];
  if (failures.length > 0) numbers.push(`${failures.length} failed`);
  if (skipped.length > 0) numbers.push(`${skipped.length} skipped`);
  const mark = failures.length > 0 ? "FAIL" : "ok  ";
  const position = `[${String(done).padStart(String(total).length)}/${total}]`;
  const files = group.files.length === 1 ? "" : ` in ${group.files.length} files`;
  return `${position} ${mark} ${group.title}: ${numbers.join(", ")}${files} (${seconds.toFixed(1)}s)`;
}

const locationOf = ({ location }: Failure): string =>
  location.startsWith("/") ? relative(process.cwd(), location) : location;

/** A failed test: its path, where it is and its error. */
export function failureText(failure: Failure): string {
  return `✖ ${failure.path.join(" › ")}\n    at ${locationOf(failure)}\n${indent(failure.error, "    ")}`;
}

/** Everything a reader needs about a group that failed, while the others still run. */
export function failedGroupText(result: GroupResult): string {
  const printed = result.output.trim();
  const output = printed === "" ? [] : [`  output of ${result.group.title} (last part):`, indent(printed, "  | ")];
  return [...result.failures.map(failureText), ...output].join("\n");
}

/** The end of a run. The last line is always `N passed, N failed`. */
export function summary(results: readonly GroupResult[], seconds: number): string {
  const sum = (amount: (result: GroupResult) => number): number => results.reduce((all, one) => all + amount(one), 0);
  const failures = results.flatMap((result) => result.failures);
  const skipped = results.flatMap((result) => result.skipped);
  const passed = sum((result) => result.passed);
  const files = sum((result) => result.group.files.length);
  const total = passed + failures.length + skipped.length;
  return [
    ...failures.map((failure) => `✖ ${failure.path.join(" › ")} (${locationOf(failure)})`),
    ...skipped.map(({ path, reason }) => `not run: ${path.join(" › ")} (${reason})`),
    `${count(total, "test")} in ${count(files, "file")}, ${seconds.toFixed(0)}s`,
    `${passed} passed, ${failures.length} failed`,
  ].join("\n");
}
