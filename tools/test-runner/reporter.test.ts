// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import type { TestEvent as NodeTestEvent } from "node:test/reporters";
import type { TestEvent } from "./events.ts";
import reporter from "./reporter.ts";

/** What the reporter sends for events of node:test. */
async function sent(
  t: TestContext,
  ...events: readonly (readonly [type: string, data: object])[]
): Promise<readonly TestEvent[]> {
  const messages: TestEvent[] = [];
  const { send } = process;
  process.send = (message: TestEvent) => messages.push(message) > 0;
  t.after(() => {
    if (send === undefined) delete process.send;
    else process.send = send;
  });
  async function* all(): AsyncGenerator<NodeTestEvent> {
    for (const [type, data] of events) yield { type, data } as unknown as NodeTestEvent;
  }
  const printed: string[] = [];
  for await (const text of reporter(all())) printed.push(text);
  assert.deepEqual(printed, [""], "nothing is printed");
  if (send === undefined) delete process.send;
  else process.send = send;
  return messages;
}

const start = (name: string, nesting: number) => ["test:start", { name, nesting }] as const;
const pass = (name: string, nesting: number, more: object = {}) =>
  ["test:pass", { name, nesting, details: { type: "test" }, ...more }] as const;
const fail = (name: string, nesting: number, error: object, more: object = {}) =>
  ["test:fail", { name, nesting, details: { error }, file: "/a.test.ts", line: 3, column: 1, ...more }] as const;

test("a test that passed is counted, a suite is not", async (t) => {
  const suite = pass("file", 0, { details: { type: "suite" } });
  assert.deepEqual(await sent(t, start("file", 0), start("a", 1), pass("a", 1), suite), [{ kind: "passed" }]);
});

test("a failure has the names around it, its place, and what was thrown", async (t) => {
  const wrapped = Object.assign(new Error("wrapped"), { cause: "plain text" });
  assert.deepEqual(await sent(t, start("file", 0), start("suite", 1), start("a", 2), fail("a", 2, wrapped)), [
    { kind: "failed", failure: { path: ["file", "suite", "a"], location: "/a.test.ts:3:1", error: "plain text" } },
  ]);
  const [event] = await sent(t, start("a", 0), fail("a", 0, new TypeError("no"), { file: undefined, line: undefined }));
  assert.ok(event?.kind === "failed");
  assert.equal(event.failure.location, ":0:1");
  assert.match(event.failure.error, /^TypeError: no\n {4}at /);
});

test("the parents of a test that failed are not failures of their own", async (t) => {
  const parent = Object.assign(new Error("1 subtest failed"), { failureType: "subtestsFailed" });
  assert.deepEqual(await sent(t, start("file", 0), fail("file", 0, parent)), []);
});

test("a test that is skipped or todo is reported with the reason, whether it passed or failed", async (t) => {
  const found = await sent(
    t,
    ...[
      start("f", 0),
      start("a", 1),
      pass("a", 1, { skip: "no network" }),
      start("b", 1),
      pass("b", 1, { skip: true }),
    ],
    ...[
      start("c", 1),
      fail("c", 1, new Error("x"), { todo: "later" }),
      start("d", 1),
      pass("d", 1, { skip: false, todo: false }),
    ],
  );
  assert.deepEqual(found, [
    { kind: "skipped", path: ["f", "a"], reason: "skip: no network" },
    { kind: "skipped", path: ["f", "b"], reason: "skip: true" },
    { kind: "skipped", path: ["f", "c"], reason: "todo: later" },
    { kind: "passed" },
  ]);
});

test("names of an earlier suite are not part of the path of a later one", async (t) => {
  const found = await sent(
    t,
    ...[start("f1", 0), start("s", 1), start("a", 2), pass("a", 2), start("f2", 0), start("b", 1)],
    fail("b", 1, { cause: "x" }),
  );
  assert.deepEqual(found.at(-1), {
    kind: "failed",
    failure: { path: ["f2", "b"], location: "/a.test.ts:3:1", error: "x" },
  });
});

test("an error after a test has ended is a failure; other diagnostics are not", async (t) => {
  const message = 'Error: Test "a" at b:1:1 generated asynchronous activity after the test ended.';
  const found = await sent(
    t,
    ["test:diagnostic", { message, file: "/a.test.ts" }],
    ["test:diagnostic", { message: "tests 5" }],
  );
  assert.deepEqual(found, [
    { kind: "failed", failure: { path: ["after a test"], location: "/a.test.ts:0:0", error: message } },
  ]);
});
