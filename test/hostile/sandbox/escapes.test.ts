// SPDX-License-Identifier: Apache-2.0
// A hostile function tries every way out of its sandbox that it knows, and reports which of them worked.
import assert from "node:assert/strict";
import { test } from "node:test";
import { findSandbox } from "@purlin/function-process";
import { assertShutIn, explorationBody } from "./exploration.ts";
import { assertRefused, type CallResults, callCases, callPrograms, callsText } from "./forbidden-calls.ts";
import { runHostile } from "./sandboxed-function.ts";

const support = await findSandbox();
// A machine without a sandbox has nothing to escape from; configurations.test.ts proves the messages for that.
assert.ok(support.isSupported, JSON.stringify(support));

test(`${callCases.length} system calls, made by number`, async () => {
  const { found } = await runHostile({ body: `return ${callsText};`, programs: callPrograms() }, support);
  assertRefused(found as unknown as CallResults);
});

test("what a function finds out about this machine", async () => {
  assertShutIn(await runHostile({ body: explorationBody }, support));
});
