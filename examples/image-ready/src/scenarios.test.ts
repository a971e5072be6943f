// SPDX-License-Identifier: Apache-2.0
// Runs every request of this folder twice: over gRPC through the purlin command, whose output must be the file of the same
// name in expected/ (`UPDATE_EXPECTED=1` writes it again), and in memory, where a debugger can follow.
import assert from "node:assert/strict";
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { fromJson, type JsonObject, RunFunctionRequest, RunFunctionResponse, toJson } from "@purlin/function-sdk";
import { invokeToStable, newRequest, startTestServer } from "@purlin/function-sdk/testing";
import { builtinOpenAPI, findSchema, inlineReferences } from "@purlin/kube-objects/openapi";
import { load, loadAll } from "js-yaml";
import { runInProcess } from "../../../packages/cli/test/test-io.ts";
import { fn } from "./function.ts";

const folder = fileURLToPath(new URL("..", import.meta.url));
const read = (path: string): string => readFileSync(`${folder}${path}`, "utf8");
const scenarios = readdirSync(`${folder}requests`).map((file) => file.replace(/\.yaml$/, ""));

const runs = [
  ...scenarios.map((scenario) => ({ name: scenario, scenario, args: [] as string[] })),
  { name: "success-as-v1.17", scenario: "success", args: ["--as-crossplane", "v1.17"] },
  { name: "invalid-deployment-as-v1.17", scenario: "invalid-deployment", args: ["--as-crossplane", "v1.17"] },
];

test("every expected file belongs to a run", () => {
  assert.deepEqual(readdirSync(`${folder}expected`).sort(), runs.map(({ name }) => `${name}.yaml`).sort());
});

for (const { name, scenario, args } of runs) {
  test(`${name}: over gRPC, as purlin function call prints it`, async (t) => {
    const server = await startTestServer(fn);
    t.after(() => server.stop(0));
    const files = ["--request", `requests/${scenario}.yaml`, "--required-resources", "resources", "--crds", "crds"];
    const target = ["--target", `localhost:${server.port}`, "--insecure"];
    const { exitCode, stdout, stderr } = await runInProcess(["function", "call", ...target, ...files, ...args], {
      cwd: folder,
    });
    assert.equal(exitCode, 0, stderr);
    assert.match(stderr, /^2 rounds\n/, "one to ask, one to answer");
    if (process.env["UPDATE_EXPECTED"]) writeFileSync(`${folder}expected/${name}.yaml`, stdout);
    assert.equal(stdout, read(`expected/${name}.yaml`));
  });
}

const gvk = { group: "apps", version: "v1", kind: "Deployment" };

function deploymentSchema(): JsonObject {
  const document = builtinOpenAPI().document("apis/apps/v1");
  assert.ok(document);
  return inlineReferences(document, findSchema(document, gvk) ?? "") as JsonObject;
}

async function inMemory(scenario: string): Promise<RunFunctionResponse> {
  const request = fromJson(RunFunctionRequest, load(read(`requests/${scenario}.yaml`)));
  const { meta, desired, context } = newRequest({ tag: "t" });
  const resources = ["databases", "images"].flatMap((file) => loadAll(read(`resources/${file}.yaml`)) as object[]);
  const schemas = { "apps/v1/Deployment": deploymentSchema() };
  const { response, calls } = await invokeToStable(fn, { ...request, meta, desired, context }, { resources, schemas });
  assert.equal(calls, 2);
  return response;
}

for (const scenario of scenarios) {
  test(`${scenario}: in memory`, async () => {
    const expected = load(read(`expected/${scenario}.yaml`)) as JsonObject;
    const response = toJson(RunFunctionResponse, await inMemory(scenario));
    assert.deepEqual({ ...response, meta: undefined }, { ...expected, meta: undefined });
  });
}

/** The claim's status.conditions as the design of claim conditions shows them. */
const promised: Record<string, string> = {
  "image-not-found": `
- type: DatabaseReady
  status: True
  reason: Available
- type: ImageReady
  status: False
  reason: NotFound
  message: The image provided does not exist or you are not authorized to use
           it.
`,
  progressing: `
- type: DatabaseReady
  status: True
  reason: Available
- type: ImageReady
  status: True
  reason: Available
- type: AppReady
  status: False
  reason: Creating
  message: Waiting for the deployment to be available.
`,
  success: `
- type: DatabaseReady
  status: True
  reason: Available
- type: ImageReady
  status: True
  reason: Available
- type: AppReady
  status: True
  reason: Available
`,
};
const statuses: Record<number, boolean> = { 2: true, 3: false };
for (const [scenario, conditions] of Object.entries(promised)) {
  test(`${scenario}: the claim's user sees what the design promises`, async () => {
    const response = await inMemory(scenario);
    const seen = response.conditions.map(({ type, status, reason, message, target }) => {
      assert.equal(target, 2, "every condition is for the claim too");
      return { type, status: statuses[status], reason, ...(message === undefined ? {} : { message }) };
    });
    assert.deepEqual(seen, load(conditions));
    assert.deepEqual(
      response.results.map(({ severity, target }) => ({ severity, target })),
      scenario === "image-not-found" ? [{ severity: 1, target: 2 }] : [],
      "only the missing image stops the pipeline, and the claim reports it",
    );
  });
}
