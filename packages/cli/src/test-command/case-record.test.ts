// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { mkdirSync, readFileSync, symlinkSync } from "node:fs";
import { dirname, join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { type TempFolder, tempFolder } from "@purlin/base/testing/temp-folder";
import { type Outcome, runInProcess } from "../../test/test-io.ts";

const examples = fileURLToPath(new URL("../../../../examples/operations/", import.meta.url));
const env = { HOME: "/nonexistent", PATH: process.env["PATH"] };

test("the tests of the examples pass, and cover every step", async () => {
  const outcome = await runInProcess(["test", "--coverage=100%", "--reporter", "tap"], { cwd: examples, env });
  assert.equal(outcome.exitCode, 0, outcome.stdout + outcome.stderr);
  assert.match(outcome.stdout, /\n1\.\.5\n/);
});

/** Applies what its input says, after the object that it requires. */
const source = `import { request, response } from "@purlin/function-sdk";
export default (req, ctx) => {
  const rsp = ctx.to(req);
  const found = request.getRequiredResource(req, "pod")?.resource;
  response.setOutput(rsp, { found: found !== undefined });
  if (found === undefined) { response.fatal(rsp, "no Pod"); return rsp; }
  response.setContextKey(rsp, "seen", found.name);
  response.warning(rsp, "restarting " + found.name);
  response.setDesiredComposedResource(rsp, "note", { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "note", namespace: "a" }, data: { pod: found.name } });
  response.setDesiredComposedResource(rsp, "job", { apiVersion: "jobs.example.org/v1", kind: "Restart", metadata: { name: "r", namespace: "a" }, spec: { pod: found.name } });
  return rsp;
};
`;

const operation = `apiVersion: ops.crossplane.io/v1alpha1
kind: Operation
metadata: {name: restart}
spec:
  mode: Pipeline
  retryLimit: 2
  pipeline:
  - step: restart
    functionRef: {name: restart}
    requirements: {requiredResources: [{requirementName: pod, apiVersion: v1, kind: Pod, namespace: a, name: p}]}
`;

const files = {
  "fn.ts": source,
  "operation.yaml": operation,
  "functions.yaml":
    "apiVersion: pkg.crossplane.io/v1\nkind: Function\nmetadata: {name: restart, annotations: {purlin.dev/source: fn.ts}}\n",
  // A Pod that a server would refuse: it has no containers.
  "pod.yaml": "apiVersion: v1\nkind: Pod\nmetadata: {name: p, namespace: a}\nspec: {}\n",
};

function project(cases: string): TempFolder {
  const head = "apiVersion: test.purlin.dev/v1alpha1\nkind: OperationTest\nspec:\n";
  const inputs = "  inputs: {operation: operation.yaml, functions: functions.yaml, required: pod.yaml}\n";
  const folder = tempFolder({ ...files, "restart.test.yaml": `${head}${inputs}  cases:\n${cases}` });
  const sdk = dirname(dirname(fileURLToPath(import.meta.resolve("@purlin/function-sdk"))));
  mkdirSync(join(folder.path, "node_modules/@purlin"), { recursive: true });
  symlinkSync(sdk, join(folder.path, "node_modules/@purlin/function-sdk"));
  return folder;
}

const run = (folder: TempFolder, ...args: readonly string[]): Promise<Outcome> =>
  runInProcess(["test", ...args], { cwd: folder.path, env });

test("a case expects applied objects, outputs, results, conditions, events, writes and golden files", async () => {
  const cases = `  - name: everything
    expect:
      succeeded: true
      synced: true
      resources: {only: [job, note], kinds: {ConfigMap: 1, Restart: 1}}
      resource: {note: {data: {pod: p}}, other: absent}
      outputs: {restart: {found: true}}
      results: [{severity: Warning, message: restarting p, step: restart}]
      events: [{type: Warning, reason: RunPipelineStep}]
      conditions: [{type: ValidPipeline, status: "True"}, {type: Succeeded, reason: PipelineSuccess}]
      operation: {status: {appliedResourceRefs: {$len: 2}}}
      context: {seen: p}
      writes: 2
      calls: {restart: 1}
      cel: ["resources.note.data.pod == 'p' && outputs.restart.found", "operation.metadata.name == 'restart'"]
      golden: golden/restart.yaml
  - name: it fails for good
    inputs: {required: []}
    reconciles: [{until: settled}]
    expect:
      conditions: [{type: Succeeded, status: "False", reason: PipelineError, message: {$regex: "^failure limit of 2 reached.*no Pod"}}]
      resources: {count: 0}
      calls: {restart: 2}
      outputs: {restart: {found: false}}
  - name: retry limits are patched
    patch: {spec: {retryLimit: 0}}
    expect: {succeeded: false, calls: {}, not: {calls: {restart: 1}}}
`;
  using folder = project(cases);
  const outcome = await run(folder);
  assert.equal(outcome.exitCode, 0, outcome.stdout + outcome.stderr);
  const golden = readFileSync(join(folder.path, "golden/restart.yaml"), "utf8");
  assert.match(golden, /kind: Operation[\s\S]*kind: Restart[\s\S]*kind: ConfigMap[\s\S]*kind: Result/);
});

test("failures of a case name what was applied, and why the Operation failed", async () => {
  const cases = `  - {name: wrong, expect: {resource: {nte: {kind: ConfigMap}, note: {data: {pod: q}}}, outputs: {restart: {found: false}}}}
  - {name: fails, inputs: {required: []}}
  - {name: not done, inputs: {required: []}, expect: {succeeded: true}}
`;
  using folder = project(cases);
  const outcome = await run(folder, "--parallel", "1");
  assert.equal(outcome.exitCode, 1);
  for (const line of [
    "resource.nte: resource is missing; applied: job, note; did you mean note?",
    'resource.note.data.pod: expected "q", got "p" (set by step "restart")  at restart.test.yaml:6:77',
    "outputs.restart.found: expected false, got true",
    'reconcile failed: pipeline step "restart" returned a fatal result: no Pod',
    'succeeded: expected true, got false (ReconcileError: pipeline step "restart" returned a fatal result: no Pod)',
  ]) {
    assert.ok(outcome.stdout.includes(line), `${line}\n${outcome.stdout}`);
  }
});

test("a wrong test of an Operation ends with 2 and the place", async () => {
  for (const [cases, text] of [
    ["  - {name: a, inputs: {xr: xr.yaml}}\n", /:6:\d+: unknown key xr: /],
    ["  - {name: a, expect: {output: {}}}\n", /:6:\d+: unknown key output: did you mean outputs\?/],
    [
      "  - {name: a, inputs: {operation: functions.yaml}}\n",
      /case "a": inputs: not an operation type: Function\/pkg\.crossplane\.io\/v1/,
    ],
    ["  - {name: a, inputs: {operation: []}}\n", /case "a": inputs\.operation: expected one object/],
    ["  - {name: a, inputs: {watched: [pod.yaml, pod.yaml]}}\n", /case "a": inputs\.watched: expected one object/],
  ] as const) {
    using folder = project(cases);
    const outcome = await run(folder);
    assert.equal(outcome.exitCode, 2, outcome.stdout + outcome.stderr);
    assert.match(outcome.stderr, text);
  }
});
