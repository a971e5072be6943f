// SPDX-License-Identifier: Apache-2.0
// The reporter of a process that runs test files: it sends results to the runner and prints nothing.
import type { EventData } from "node:test";
import type { TestEvent as NodeTestEvent } from "node:test/reporters";
import { inspect } from "node:util";
import { send } from "./events.ts";

/** Node also fails every parent of a failed test: only the test itself is reported. */
const onlySubtestsFailed = (error: Error): boolean => "failureType" in error && error.failureType === "subtestsFailed";

/** What a test threw; Node wraps it in an error of its own. */
function thrownText(error: Error): string {
  const thrown = error.cause ?? error;
  return typeof thrown === "string" ? thrown : inspect(thrown, { depth: 8 });
}

/** A test that is skipped or marked as todo proves nothing, whatever it did. */
function excuse({ skip, todo }: EventData.TestPass | EventData.TestFail): string | undefined {
  if (skip !== undefined && skip !== false) return `skip: ${skip}`;
  return todo !== undefined && todo !== false ? `todo: ${todo}` : undefined;
}

function reportPass(data: EventData.TestPass, path: readonly string[]): void {
  const reason = excuse(data);
  if (reason !== undefined) send({ kind: "skipped", path, reason });
  else if (data.details.type !== "suite") send({ kind: "passed" });
}

function reportFail(data: EventData.TestFail, path: readonly string[]): void {
  const reason = excuse(data);
  const { error } = data.details;
  const location = `${data.file ?? ""}:${data.line ?? 0}:${data.column ?? 0}`;
  if (reason !== undefined) send({ kind: "skipped", path, reason });
  else if (!onlySubtestsFailed(error)) {
    send({ kind: "failed", failure: { path, location, error: thrownText(error) } });
  }
}

/**
 * An error after its test has ended: Node only mentions it, and ends the process with 1. When it does not name a test, run-files.ts has
 * reported the error.
 */
function reportDiagnostic({ message, file = "", line = 0, column = 0 }: EventData.TestDiagnostic): void {
  if (!/Test ".*asynchronous activity after the test ended/s.test(message)) return;
  send({
    kind: "failed",
    failure: { path: ["after a test"], location: `${file}:${line}:${column}`, error: message },
  });
}

export default async function* reporter(events: AsyncIterable<NodeTestEvent>): AsyncGenerator<string> {
  const path: string[] = [];
  for await (const { type, data } of events) {
    if (type === "test:start") path[data.nesting] = data.name;
    if (type === "test:pass") reportPass(data, [...path.slice(0, data.nesting), data.name]);
    if (type === "test:diagnostic") reportDiagnostic(data);
    if (type === "test:fail") reportFail(data, [...path.slice(0, data.nesting), data.name]);
  }
  yield "";
}
