// SPDX-License-Identifier: Apache-2.0
// One secret value in more than forty places of two runs: no command about runs prints it or writes it to a file.
import assert from "node:assert/strict";
import { globSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { type TempFolder, tempFolder } from "@purlin/base/testing/temp-folder";
import { fromJson, RunFunctionRequest, RunFunctionResponse } from "@purlin/function-protocol";
import type { JsonObject } from "@purlin/kube-objects/json";
import type { KubeObject } from "@purlin/kube-objects/object";
import { openRunStore, readRunStore } from "@purlin/run-store";
import { type Outcome, runInProcess } from "../../test/test-io.ts";

const canary = "C4n4ry-Value!With?Special&Chars";
const base64 = (text: string): string => Buffer.from(text).toString("base64");
const forms: readonly string[] = [
  canary,
  base64(canary),
  Buffer.from(canary).toString("base64url"),
  base64(`admin:${canary}`),
  encodeURIComponent(canary),
];

const xr: KubeObject = {
  ...{ apiVersion: "acme.org/v1", kind: "App", metadata: { name: "shop", namespace: "dev", uid: "u" } },
  spec: { note: canary, [canary]: canary },
};
const secret = {
  ...{ apiVersion: "v1", kind: "Secret", metadata: { name: "s" } },
  ...{ data: { key: base64(canary) }, stringData: { key: canary } },
};

/** A place for each form of the value in a ConfigMap, and the Secrets that make it known as one. */
function stateOf(size: number): JsonObject {
  const maps = forms.map((text, at) => {
    const data = { [`a${at}`]: text, [`b${at}`]: `prefix ${text} suffix`, [`c${at}`]: JSON.stringify({ text, size }) };
    return [`map-${at}`, { resource: { apiVersion: "v1", kind: "ConfigMap", data } }];
  });
  const connectionDetails = { password: base64(canary) };
  return {
    composite: { resource: xr, connectionDetails },
    resources: {
      secret: { resource: secret, connectionDetails },
      text: { resource: { kind: "Any", apiVersion: "v1", spec: { manifest: `stringData:\n  key: ${canary}\n` } } },
      ...Object.fromEntries(maps),
    },
  };
}

const requestOf = (size: number) =>
  fromJson(RunFunctionRequest, {
    ...{ observed: stateOf(size), desired: stateOf(size) },
    ...{ input: { text: canary }, context: { "example.org/key": canary } },
    credentials: { c: { credentialData: { data: { token: base64(canary) } } } },
    requiredResources: { r: { items: [{ resource: secret }] } },
  });
const responseOf = (size: number) =>
  fromJson(RunFunctionResponse, {
    ...{ desired: stateOf(size), context: { text: canary }, output: { text: canary } },
    results: [{ severity: "SEVERITY_WARNING", message: `cannot log in with ${canary}`, reason: canary }],
    conditions: [{ type: "Db", status: "STATUS_CONDITION_FALSE", reason: "Failed", message: canary }],
  });

/** Later than now, so that no run is too old. */
const start = Date.parse("2090-01-02T03:04:05Z");
let folder: TempFolder;
let ids: readonly string[] = [];

before(() => {
  folder = tempFolder();
  const directory = join(folder.path, "runs");
  using store = openRunStore({ directory });
  for (const size of [1, 2]) {
    const call = { request: requestOf(size), response: responseOf(size) };
    const step = { functionName: "fn", revisionName: "fn-1", packageRef: "p", durationMs: 1, isCached: false };
    const condition = { type: "Synced", status: "False", reason: "ReconcileError", message: canary };
    store.record({
      ...{ xr, after: { ...xr, status: { conditions: [condition] } }, cause: "spec" },
      ...{ beganMs: start + size, endedMs: start + size, revision: undefined, outcome: "failed" },
      error: { reason: "ComposeResources", message: `failed: ${canary}` },
      steps: [
        { index: 0, name: "compose", ...step, calls: [call] },
        { index: 1, name: "ready", ...step, calls: [{ request: call.request }], error: `no login with ${canary}` },
      ],
      writes: [{ verb: "apply", apiVersion: "v1", kind: "Secret", name: "s", after: secret }],
    });
  }
  store.flush();
  using reader = readRunStore(directory);
  ids = reader.list().map(({ id }) => id);
});
after(() => folder[Symbol.dispose]());

const purlin = (...args: readonly string[]): Promise<Outcome> =>
  runInProcess(["runs", ...args, "--recorder-dir", "runs"], { cwd: folder.path, env: {} });

function requireNoSecret(text: string, where: string): void {
  for (const form of forms) assert.ok(!text.includes(form), `${where} has ${form}`);
}

/** Commands with the exit codes that they may have. `1` and `2` stand for the runs. */
const commands: ReadonlyArray<readonly [words: string, exitCodes: readonly number[]]> = [
  ...["table", "json", "yaml"].map((format) => [`ls -o ${format}`, [0]] as const),
  ...["text", "json", "yaml"].flatMap((format) =>
    ["", "--request", "--response", "--desired"].map((part) => [`show 1 ${part} -o ${format}`, [0]] as const),
  ),
  ...["text", "json"].map((format) => [`diff 1 2 -o ${format}`, [3]] as const),
  ...["table", "json"].map((format) => [`blame app/shop -n dev -o ${format}`, [0]] as const),
];

for (const [words, exitCodes] of commands) {
  test(`purlin runs ${words} prints no secret value`, async () => {
    const named = words.split(" ").filter((word) => word !== "");
    const outcome = await purlin(...named.map((word) => (/^[12]$/.test(word) ? (ids[Number(word) - 1] ?? "") : word)));
    assert.ok(exitCodes.includes(outcome.exitCode), `${outcome.exitCode}: ${outcome.stderr}`);
    assert.notEqual(outcome.stdout, "");
    requireNoSecret(outcome.stdout + outcome.stderr, words);
    if (words.includes("--request")) assert.match(outcome.stdout, /\*\*REDACTED:[0-9a-f]{8}\*\*/);
  });
}

test("the files of purlin runs export have no secret value", async () => {
  const outcome = await purlin("export", ...ids, "--output", "exported");
  assert.equal(outcome.exitCode, 0, outcome.stderr);
  requireNoSecret(outcome.stdout + outcome.stderr, "the output");
  const files = globSync("exported/**/*", { cwd: folder.path }).map((name) => join(folder.path, name));
  const contents = files.filter((file) => statSync(file).isFile()).map((file) => readFileSync(file, "utf8"));
  assert.ok(contents.some((text) => text.includes("redacted-1")));
  for (const text of contents) requireNoSecret(text, "a file");
});
