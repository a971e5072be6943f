// SPDX-License-Identifier: Apache-2.0
// A controller on controller-runtime: cached client, leader election, server-side apply, status, finalizers, owned
// objects, webhooks, and a minute of churn. It stands in for the controllers of the world that use the same library.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { cacheDirectory } from "../../../tools/peers/cache-directory.ts";
import { goController, goControllerIn } from "../../../tools/peers/kube-clients.ts";
import { installed } from "../../../tools/peers/peer.ts";
import { runProgram } from "./run-program.ts";
import { type Server, startTwoServers, type TwoServers } from "./two-servers.ts";

const churnSeconds = 60;
const churn = `-churn=${churnSeconds}s`;
const patienceMs = (churnSeconds + 150) * 1000;

let servers: TwoServers;
before(async () => {
  servers = await startTwoServers();
});
after(() => servers[Symbol.asyncDispose]());

const run = ({ kubeconfig }: Server, ...args: readonly string[]) =>
  runProgram({
    program: goControllerIn(installed(goController, cacheDirectory)),
    args: [`-access=${kubeconfig}`, ...args],
    patienceMs,
  });

test("a controller on controller-runtime finds everything it relies on", async () => {
  const [ours, theirs] = await Promise.all([run(servers.embedded, churn), run(servers.real, churn)]);
  assert.deepEqual(ours, theirs);
  assert.deepEqual([theirs.exitCode, theirs.stderr], [0, ""], "on the real server");
});

test("a manager of controller-runtime serves a validating and a conversion webhook", async () => {
  const [ours, theirs] = await Promise.all([run(servers.embedded, "-webhooks"), run(servers.real, "-webhooks")]);
  assert.deepEqual(ours, theirs);
  assert.deepEqual([theirs.exitCode, theirs.stderr], [0, ""], "on the real server");
  for (const text of ["denied the request", "unknown unit", 'v1 has the size "12m"', "people are on board"]) {
    assert.ok(theirs.stdout.includes(text), `the program reports ${text}`);
  }
});
