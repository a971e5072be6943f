// SPDX-License-Identifier: Apache-2.0
// kubectl of the release we follow, command by command, against the embedded server and the real one.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { scripts } from "./kubectl/scripts.ts";
import { type Outcome, runScript } from "./kubectl/step.ts";
import { startTwoServers, type TwoServers } from "./two-servers.ts";

let servers: TwoServers;
before(async () => {
  servers = await startTwoServers();
});
after(() => servers[Symbol.asyncDispose]());

for (const script of scripts) {
  test(`kubectl ${script.name}`, async (t) => {
    const [ours, theirs] = await Promise.all([runScript(servers.embedded, script), runScript(servers.real, script)]);
    for (const [index, expected] of theirs.entries()) {
      await t.test(`${index + 1}. ${expected.command}`, () => compare(ours[index], expected));
    }
  });
}

function compare(ours: Outcome | undefined, { step, result: theirs }: Outcome): void {
  const expected = step.fewerKinds
    ? { ...theirs, stdout: sharedLines(ours?.result.stdout ?? "", theirs.stdout) }
    : theirs;
  assert.deepEqual(ours?.result, expected, "the embedded server (actual) and the real one (expected) differ");
}

function sharedLines(ours: string, theirs: string): string {
  const printed = new Set(ours.split("\n"));
  const shared = theirs.split("\n").filter((line) => printed.has(line));
  assert.ok(shared.length > 5, `of what the real server lists, the embedded one has only ${shared.length} lines`);
  return shared.join("\n");
}
