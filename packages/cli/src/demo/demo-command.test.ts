// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { readdirSync } from "node:fs";
import { tmpdir } from "node:os";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { runInProcess } from "../../test/test-io.ts";
import { commandTable } from "../commands/command-table.ts";
import { nextSteps } from "./demo-command.ts";

const root = fileURLToPath(new URL("../../../..", import.meta.url));
const leftovers = (): string[] => readdirSync(tmpdir()).filter((name) => name.startsWith("purlin-demo-"));

test("the demo shows the three scenarios and the fallback, and leaves nothing behind", async () => {
  const before = leftovers();
  const { exitCode, stdout, stderr } = await runInProcess(["demo"], { cwd: root });
  assert.equal(stderr, "");
  assert.equal(exitCode, 0);
  assert.deepEqual(leftovers(), before);
  const scenes = stdout.split(/^(?=\d\. )/m).slice(1);
  assert.equal(scenes.length, 4);
  const [notFound = "", progressing = "", success = "", fallback = ""] = scenes;
  assert.match(
    notFound,
    /round 1: the function asks for Database "orders", Image "team-app-v9", the schema of apps\/v1 Deployment\n/,
  );
  assert.match(
    notFound,
    /round 2: the runner has found Database "orders", no Image "team-app-v9", the schema of .* \(\d+ KiB\); the function answers\n/,
  );
  assert.match(notFound, /DatabaseReady {2}True {4}Available\n/);
  assert.match(
    notFound,
    /ImageReady {5}False {3}NotFound {3}The image provided does not exist or you are not authorized to use it\.\n/,
  );
  assert.match(notFound, /Warning {2}ReconcileError {2}The image provided does not exist/);
  assert.match(notFound, /The function stopped the pipeline: nothing is applied\.\n/);
  assert.match(progressing, /AppReady {7}False {3}Creating {3}Waiting for the deployment to be available\.\n/);
  assert.match(progressing, /To be applied: Deployment "app" \(not ready yet\)\.\n/);
  assert.match(success, /AppReady {7}True {4}Available\n/);
  assert.match(success, /To be applied: Deployment "app" \(ready\)\.\n/);
  assert.match(
    fallback,
    /What only the platform team sees:\n.*\n {5}Warning {2}ComposeResources {2}The Deployment was not checked/,
  );
  assert.doesNotMatch(fallback, /KiB/, "no schema is fetched");
});

test("the demo ends with what to do next", async () => {
  const { stdout } = await runInProcess(["demo"], { cwd: root });
  for (const { command } of nextSteps) {
    assert.ok(stdout.includes(`\n    ${command}\n`), command);
    assert.ok(
      commandTable.some(({ name }) => command.startsWith(`npx purlin ${name} `)),
      command,
    );
  }
});

test("the demo can be interrupted", async () => {
  const { exitCode, stdout, stderr } = await runInProcess(["demo"], {
    cwd: root,
    signal: AbortSignal.abort(new Error("stopped by SIGINT")),
  });
  assert.equal(exitCode, 130);
  assert.equal(stderr, "stopped by SIGINT\n");
  assert.doesNotMatch(stdout, /Next, from this folder/);
});

test("colors mark what is good and what is not, on a terminal", async () => {
  const { stdout } = await runInProcess(["demo"], { cwd: root, isTTY: true });
  assert.ok(stdout.includes("\u001b[31mFalse\u001b[39m"));
  assert.ok(stdout.includes("\u001b[32mTrue\u001b[39m"));
});
