// SPDX-License-Identifier: Apache-2.0
// The commands about rollouts, on an API server without controllers: what they print, and what they change.
import assert from "node:assert/strict";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { type TempFolder, tempFolder } from "@purlin/base/testing/temp-folder";
import { mastersGroup } from "@purlin/kube-apiserver";
import { createDirectTransport, createKubeClient, type KubeClient } from "@purlin/kube-client";
import { installCrds } from "@purlin/kube-controller";
import { eventually } from "@purlin/kube-controller/testing";
import type { JsonObject } from "@purlin/kube-objects/json";
import { type KubeObject, memberAt } from "@purlin/kube-objects/object";
import { functionCrds } from "@purlin/package-manager";
import { type Outcome, runInProcess, TestIo } from "../../test/test-io.ts";
import { startEmbeddedServer } from "../apiserver/embedded-server.ts";
import { run } from "../run.ts";
import { rolloutType } from "./rollout-command.ts";

const closing = new AsyncDisposableStack();
let folder: TempFolder;
let client: KubeClient;
const purlin = (...args: string[]): Promise<Outcome> => runInProcess(["rollout", ...args], { cwd: folder.path });

before(async () => {
  folder = tempFolder();
  closing.defer(() => folder[Symbol.dispose]());
  const server = closing.use(
    await startEmbeddedServer({ directory: join(folder.path, ".purlin"), port: 0, warn: () => {} }),
  );
  client = createKubeClient(createDirectTransport(server.server.handle, { name: "admin", groups: [mastersGroup] }, ""));
  closing.defer(() => client.close());
  const missing = await purlin("status");
  assert.deepEqual(
    [missing.exitCode, missing.stderr],
    [1, "error: the control plane does not serve FunctionRollout: start it with --enable-function-rollouts\n"],
  );
  await installCrds(client, functionCrds({ functionRevisionSelectors: true, functionRollouts: true }));
});
after(() => closing.disposeAsync());

const steps = [
  { name: "shadow", shadow: true, approval: "Manual" },
  { cohort: { matchLabels: { tier: "dev" } }, minDuration: "5m" },
  { percent: 50, window: { schedule: "0 2 * * 1-5", duration: "3h" } },
  { percent: 100 },
];

async function rollout(name: string, status: JsonObject, spec: JsonObject = {}): Promise<void> {
  const made = await client.create({
    ...rolloutType,
    metadata: { name },
    spec: { functionRef: { name: "function-bucket" }, steps, ...spec },
  } as KubeObject);
  await client.update({ ...made, status } as KubeObject, { subresource: "status" });
}

async function setStatus(name: string, change: JsonObject): Promise<void> {
  const patch = { status: change };
  await client.patch({ ...rolloutType, name }, patch, { type: "merge", subresource: "status" });
}

const read = async (name: string, ...path: string[]): Promise<unknown> =>
  memberAt(await client.get(rolloutType, { name }), path);
const time = "2026-01-02T03:04:05Z";
const numbers = { total: 40, candidate: 10, moved: 8, healthy: 9, unhealthy: 1 };
const waiting: JsonObject = {
  phase: "Progressing",
  currentStep: 1,
  stableRevision: "function-bucket-aaa",
  candidateRevision: "function-bucket-bbb",
  composites: numbers,
  gates: [
    { name: "RuntimeHealthy", result: "Passed", message: "the candidate is healthy" },
    { name: "FunctionErrors", result: "Unknown", message: "0 of 1 calls" },
    { name: "errors", result: "Failed", message: "result 3, wanted to 1" },
  ],
  awaitingApproval: "step-2",
  conditions: [
    {
      type: "Progressing",
      status: "True",
      reason: "WaitingForApproval",
      message: 'step "step-2" waits for an approval',
      lastTransitionTime: time,
    },
  ],
  history: [
    { time, step: 0, decision: "RolloutStarted", message: "step one", composites: { ...numbers, candidate: 0 } },
    { time, step: 1, decision: "StepStarted", message: "step two", composites: numbers },
  ],
};

const picture = `live  Function function-bucket  Progressing (WaitingForApproval: step "step-2" waits for an approval)
  function-bucket-aaa → function-bucket-bbb

  ██████░░░░░░░░░░░░░░░░░░░░░░░░ 20.0 %
  8 of 40 composite resources moved, 10 belong on the candidate, 1 of them not synced

STEPS
  ✔ shadow: shadow, approval
  ▶ step-2: cohort tier=dev, at least 5m
    step-3: 50 %, window 0 2 * * 1-5
    step-4: 100 %
GATES
  ✔ RuntimeHealthy: the candidate is healthy
  ? FunctionErrors: 0 of 1 calls
  ✖ errors: result 3, wanted to 1

Waits for an approval: purlin rollout approve live
`;

test("status names a newer revision that an ended rollout keeps composite resources from", async () => {
  const message = 'FunctionRevision "f-3" is newer than "f-2"';
  const condition = { type: "Superseded", status: "True", reason: "NewerRevision", message, lastTransitionTime: time };
  await rollout("ended", { phase: "Succeeded", composites: numbers, conditions: [condition] });
  assert.match((await purlin("status", "ended")).stdout, /\n\nNote: FunctionRevision "f-3" is newer than "f-2"\n$/);
  await client.delete({ ...rolloutType, name: "ended" });
});

test("status draws waves, steps and gates; --watch prints what changes and ends with the rollout", async () => {
  await rollout("live", waiting);
  assert.deepEqual(await purlin("status", "live"), { exitCode: 0, stdout: picture, stderr: "" });
  const byNpx = await runInProcess(["rollout", "status", "live"], { cwd: folder.path, env: { npm_command: "exec" } });
  assert.match(byNpx.stdout, /\nWaits for an approval: npx purlin rollout approve live\n$/);
  assert.match(
    (await purlin("status")).stdout,
    /^NAME +TARGET +PHASE +STEP +MOVED\nlive +Function function-bucket +Progressing +2\/4 +8\/40\n$/,
  );
  const io = new TestIo({ cwd: folder.path });
  const watching = run(["rollout", "status", "live", "--watch"], io);
  await eventually("the picture is drawn", () => io.stdout.text === picture);
  await setStatus("live", { composites: { moved: 40, candidate: 40, unhealthy: 0 }, awaitingApproval: null });
  await eventually("the new wave is drawn", () => io.stdout.text.includes("40 of 40 composite resources moved"));
  assert.ok(!/Succeeded/.test(io.stdout.text), "all have moved, and it has not succeeded yet");
  await setStatus("live", { phase: "Succeeded", currentStep: 3 });
  assert.equal(await watching, 0);
  assert.match(io.stdout.text, /^live {2}Function function-bucket {2}Succeeded$/m);
  assert.equal(io.stdout.text.match(/^STEPS$/gm)?.length, 1, "lines that did not change are not repeated");
});

test("on a terminal --watch draws the picture over the one before", async () => {
  await rollout("screen", { ...waiting, awaitingApproval: null as never });
  const io = new TestIo({ cwd: folder.path, isTTY: true, env: { TERM: "xterm" } });
  const watching = run(["rollout", "status", "screen", "-w"], io);
  await eventually("the picture is drawn", () => io.stdout.text.includes("8 of 40 composite resources moved"));
  await setStatus("screen", { phase: "Succeeded" });
  assert.equal(await watching, 0);
  assert.ok(io.stdout.text.includes("\u001B["), "the cursor goes back");
});

for (const phase of ["RolledBack", "Failed"]) {
  test(`--watch exits 1 for a rollout that is ${phase}`, async () => {
    await rollout(`ends-${phase.toLowerCase()}`, { ...waiting, phase });
    assert.equal((await purlin("status", `ends-${phase.toLowerCase()}`, "--watch")).exitCode, 1);
  });
}

test("--watch exits 1 when the rollout is deleted before it ends", async () => {
  await rollout("deleted", waiting);
  const io = new TestIo({ cwd: folder.path });
  const watching = run(["rollout", "status", "deleted", "--watch"], io);
  await eventually("the picture is drawn", () => io.stdout.text.includes("STEPS"));
  await client.delete({ ...rolloutType, name: "deleted" });
  assert.equal(await watching, 1);
  assert.equal(io.stderr.text, 'error: FunctionRollout "deleted" was deleted before it ended\n');
});

test("pause and resume set spec.paused; resume after a failed gate names the pause that it ends", async () => {
  await rollout("steered", { ...waiting, phase: "Paused", pauseToken: "2-7" });
  const paused = await purlin("pause", "steered");
  assert.equal(
    paused.stdout,
    'FunctionRollout "steered" is paused: nothing moves until purlin rollout resume steered\n',
  );
  assert.equal(await read("steered", "spec", "paused"), true);
  assert.match((await purlin("status", "steered")).stdout, /purlin rollout approve steered\n$/);
  assert.equal((await purlin("resume", "steered")).stdout, 'FunctionRollout "steered" continues\n');
  assert.equal(await read("steered", "spec", "paused"), false);
  assert.equal(await read("steered", "metadata", "annotations", "pkg.crossplane.io/rollout-resume"), "2-7");
  await setStatus("steered", { awaitingApproval: null });
  assert.match(
    (await purlin("status", "steered")).stdout,
    /\nA gate failed: purlin rollout resume steered, or purlin rollout abort steered\n$/,
  );
});

test("approve approves the step that waits, keeps earlier approvals, and refuses steps that are not there", async () => {
  await rollout("approved", waiting);
  const approvals = (): Promise<unknown> =>
    read("approved", "metadata", "annotations", "pkg.crossplane.io/rollout-approve");
  assert.equal(
    (await purlin("approve", "approved")).stdout,
    'Step "step-2" of FunctionRollout "approved" is approved\n',
  );
  assert.equal(await approvals(), "step-2");
  assert.equal((await purlin("approve", "approved", "--step", "shadow")).exitCode, 0);
  assert.equal(await approvals(), "step-2,shadow");
  const wrong = await purlin("approve", "approved", "--step", "no");
  assert.deepEqual(
    [wrong.exitCode, wrong.stderr],
    [1, 'error: no step "no": the steps are shadow, step-2, step-3, step-4\n'],
  );
  await setStatus("approved", { awaitingApproval: null });
  const none = await purlin("approve", "approved");
  assert.match(
    none.stderr,
    /^error: FunctionRollout "approved" waits for no approval; approve a step in advance with --step NAME\n$/,
  );
});

test("abort marks the rollout; a rollout that has ended cannot be steered", async () => {
  await rollout("aborted", waiting);
  assert.match(
    (await purlin("abort", "aborted")).stdout,
    /^FunctionRollout "aborted" is aborted: composite resources move back/,
  );
  assert.equal(await read("aborted", "metadata", "annotations", "pkg.crossplane.io/rollout-abort"), "true");
  await setStatus("aborted", { phase: "RolledBack" });
  for (const command of ["pause", "resume", "approve", "abort"]) {
    const { exitCode, stderr } = await purlin(command, "aborted");
    assert.deepEqual(
      [exitCode, stderr],
      [1, 'error: FunctionRollout "aborted" has ended: it is RolledBack\n'],
      command,
    );
  }
});

test("with -o json, commands that steer a rollout print what they changed, or the error, as one document", async () => {
  await rollout("documented", waiting);
  const item = { ...rolloutType, name: "documented", action: "patched" };
  const report = { apiVersion: "cli.purlin.dev/v1", kind: "ActionReport", items: [item] };
  for (const command of ["pause", "resume", "approve", "abort"]) {
    const { exitCode, stdout, stderr } = await purlin(command, "documented", "-o", "json");
    assert.deepEqual([exitCode, JSON.parse(stdout), stderr], [0, report, ""], command);
  }
  await setStatus("documented", { phase: "RolledBack" });
  const refused = await purlin("pause", "documented", "-o", "json");
  const message = 'FunctionRollout "documented" has ended: it is RolledBack';
  assert.deepEqual([refused.exitCode, JSON.parse(refused.stdout)], [1, { errors: [{ code: "FAILED", message }] }]);
  const unknown = await purlin("pause", "documented", "-o", "table");
  assert.equal(unknown.stderr, "error: --output table: expected text, json or yaml\n");
});

test("rollout start -o json prints the rollout of --dry-run, or what was created and changed", async () => {
  const preview = await purlin("start", "function-json", "--dry-run", "-o", "json");
  const { kind, metadata } = JSON.parse(preview.stdout) as KubeObject;
  assert.deepEqual([kind, metadata], ["FunctionRollout", { name: "function-json" }]);
  const image = "example.org/acme/function-json:v2";
  const functionType = { apiVersion: "pkg.crossplane.io/v1", kind: "Function" };
  const spec = { package: "example.org/acme/function-json:v1" };
  await client.create({ ...functionType, metadata: { name: "function-json" }, spec });
  const { exitCode, stdout, stderr } = await purlin("start", "function-json", "--image", image, "-o", "json");
  assert.equal(exitCode, 0, stderr);
  const items = [
    { ...rolloutType, name: "function-json", action: "created" },
    { ...functionType, name: "function-json", action: "patched" },
  ];
  assert.deepEqual(JSON.parse(stdout), { apiVersion: "cli.purlin.dev/v1", kind: "ActionReport", items });
  assert.equal(memberAt(await client.get(functionType, { name: "function-json" }), ["spec", "package"]), image);
});

test("history lists decisions with their numbers", async () => {
  await rollout("old", waiting);
  const lines = [`${time}  step 1  RolloutStarted  0/40  step one`, `${time}  step 2  StepStarted  10/40  step two`];
  assert.equal((await purlin("history", "old")).stdout, `${lines.join("\n")}\n`);
  const { exitCode, stderr } = await purlin("history", "none");
  assert.equal(exitCode, 1);
  assert.match(stderr, /^error: FunctionRollout "none" not found: there are .*\bold\b/);
});

test("preview needs a shadow report, and groups it by class, the worst first", async () => {
  await rollout("unseen", waiting);
  const missing = await purlin("preview", "unseen");
  assert.match(
    missing.stderr,
    /^error: FunctionRollout "unseen" has no shadow report: it needs a step with shadow: true/,
  );
  const one = (name: string, kind: string): JsonObject => ({
    apiVersion: "example.org/v1",
    kind: "Bucket",
    namespace: "shop",
    name,
    class: kind,
    resources: [{ resource: "backup", kind: "ConfigMap", class: kind }],
  });
  const composites = [one("gold", "delete"), one("plain", "change")];
  await rollout("seen", {
    ...waiting,
    shadow: { compared: 5, classes: { delete: 1, change: 3, none: 1 }, composites },
  });
  assert.equal(
    (await purlin("preview", "seen")).stdout,
    `5 composite resources compared; nothing was applied.

delete: 1
  Bucket shop/gold
    delete ConfigMap "backup"

change: 3
  Bucket shop/plain
    change ConfigMap "backup"
  … and 2 more

none: 1
`,
  );
});
