// SPDX-License-Identifier: Apache-2.0
// A control plane whose definitions and objects have integers beyond 2^53, through every command that shows or changes them.
// Functions get doubles, as protobuf has no other numbers: what a function copies may lose its last digits, and nothing else may.
import assert from "node:assert/strict";
import { mkdirSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { setTimeout } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { type TempFolder, tempFolder } from "@purlin/base/testing/temp-folder";
import { purlin, up } from "../../test/function-folder.ts";

const most = "9223372036854775807";
const odd = "9007199254740993";
const oddAsDouble = "9007199254740992";

const definition = `apiVersion: apiextensions.crossplane.io/v2
kind: CompositeResourceDefinition
metadata: {name: counters.example.org}
spec:
  scope: Namespaced
  group: example.org
  names: {kind: Counter, plural: counters}
  versions:
  - name: v1
    served: true
    referenceable: true
    additionalPrinterColumns:
    - {name: Start, type: integer, jsonPath: .spec.start}
    - {name: Limits, type: string, jsonPath: .spec.limits, priority: 1}
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec:
            type: object
            properties:
              start: {type: integer, format: int64, maximum: 9223372036854774784, default: ${odd}}
              end: {type: integer, format: int64, enum: [1, ${odd}, ${most}]}
              limits: {type: array, items: {type: integer, format: int64}, x-kubernetes-list-type: set}
              free: {type: object, x-kubernetes-preserve-unknown-fields: true}
          status: {type: object, properties: {start: {type: integer, format: int64}}}
`;

const composition = `apiVersion: apiextensions.crossplane.io/v1
kind: Composition
metadata: {name: counters}
spec:
  compositeTypeRef: {apiVersion: example.org/v1, kind: Counter}
  mode: Pipeline
  pipeline:
  - step: count
    functionRef: {name: count}
    input: {apiVersion: count.example.org/v1, kind: Input, limit: ${most}}
`;

const functions = `apiVersion: pkg.crossplane.io/v1
kind: Function
metadata: {name: count, annotations: {purlin.dev/source: count.ts}}
spec: {package: registry.example.org/count:v1}
`;

const tallies = `apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: tallies.example.org}
spec:
  group: example.org
  names: {kind: Tally, plural: tallies}
  scope: Namespaced
  versions:
  - name: v1
    served: true
    storage: true
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec:
            type: object
            properties:
              start: {type: integer, format: int64}
              exact: {type: integer, format: int64, default: ${odd}}
`;

const source = `import { request, response } from "@purlin/function-sdk";
export const fn = (req, ctx) => {
  const rsp = ctx.to(req);
  const { resource } = request.getObservedCompositeResource(req);
  const spec = { start: resource.getNumber("spec.start") };
  const tally = { apiVersion: "example.org/v1", kind: "Tally", metadata: { name: resource.name }, spec };
  response.setDesiredComposedResource(rsp, "tally", tally, { ready: true });
  response.setDesiredCompositeStatus(rsp, spec);
  return rsp;
};
`;

const counter = (free: string): string => `apiVersion: example.org/v1
kind: Counter
metadata: {name: c, namespace: default}
spec: {start: ${odd}, end: ${most}, limits: [${odd}, ${most}], free: ${free}}
`;

const tests = `apiVersion: test.purlin.dev/v1alpha1
kind: CompositionTest
spec:
  inputs:
    xr: platform/counter.yaml
    xrd: platform/definition.yaml
    composition: platform/composition.yaml
    functions: platform/functions.yaml
  cases:
  - name: integers
    expect:
      resource: {tally: {spec: {start: ${oddAsDouble}}}}
      xr: {spec: {end: ${most}}}
`;

function platform(): TempFolder {
  const folder = tempFolder({
    "package.json": '{"type":"module"}',
    "platform/definition.yaml": definition,
    "platform/composition.yaml": composition,
    "platform/functions.yaml": functions,
    "platform/tallies.yaml": tallies,
    "platform/count.ts": source,
    "platform/counter.yaml": counter(`{deep: [{low: -9223372036854775808}]}`),
    "changed.yaml": counter(`{deep: [{low: -9223372036854775807}]}`),
    "counters.test.yaml": tests,
  });
  const root = fileURLToPath(new URL("../../../..", import.meta.url));
  mkdirSync(join(folder.path, "node_modules/@purlin"), { recursive: true });
  symlinkSync(join(root, "packages/function-sdk"), join(folder.path, "node_modules/@purlin/function-sdk"));
  return folder;
}

test("integers beyond 2^53 come out of every command as they went in", async () => {
  using folder = platform();
  await using running = up(folder, "platform");
  await running.next("stdout", /Everything is ready\.\n/);
  const run = async (...args: string[]): Promise<string> => {
    const { stdout, stderr, exitCode } = await purlin(folder, ...args);
    assert.deepEqual([exitCode, stderr], [0, ""], args.join(" "));
    return stdout;
  };
  const spec = async (path: string): Promise<string> => run("get", "counter", "c", "-o", `jsonpath={.spec.${path}}`);

  // What is stored.
  assert.equal(await spec("start"), odd, "a default");
  assert.equal(await spec("end"), most);
  assert.equal(await spec("limits"), `[${odd},${most}]`);
  assert.equal(await spec("free"), '{"deep":[{"low":-9223372036854775808}]}');
  assert.match(await run("get", "counter", "c", "-o", "json"), /"start": 9007199254740993$/m);
  assert.match(await run("get", "counter", "c", "-o", "yaml"), /^ {2}end: 9223372036854775807$/m);
  assert.match(
    await run("get", "counters", "-o", "wide"),
    /^c +9007199254740993 +\[9007199254740993,9223372036854775807\]/m,
  );
  assert.match(await run("describe", "counter", "c"), /^ +End: +9223372036854775807$/m);
  assert.match(await run("trace", "counter/c", "-o", "json"), /"end": 9223372036854775807/);
  assert.match(await run("trace", "counter/c", "-o", "yaml"), /end: 9223372036854775807/);
  assert.equal(await run("explain", "counter/c"), "Counter default/c is healthy\n");
  assert.match(await run("events", "-o", "json"), /"kind": "EventList"/);

  // What a function made of it.
  const tally = await run("get", "tally", "c", "-o", "jsonpath={.spec.start} {.spec.exact}");
  assert.equal(tally, `${oddAsDouble} ${odd}`);
  assert.match(
    await run("runs", "show", "counter/c", "--request", "-o", "json"),
    /9223372036854775807|9223372036854775808|9223372036854776000/,
  );
  assert.match(await run("runs", "show", "counter/c"), /count/);
  assert.match(await run("runs", "replay", "counter/c"), /count/);

  // Patches, and the run that follows.
  const patched = (...args: string[]): Promise<string> => run("patch", "counter", "c", ...args);
  await patched('{"spec": {"start": 9007199254740997}}');
  assert.equal(await spec("start"), "9007199254740997");
  const operations = [
    { op: "test", path: "/spec/end", value: most },
    { op: "add", path: "/spec/limits/-", value: "-9007199254740993" },
  ].map(({ op, path, value }) => `{"op": "${op}", "path": "${path}", "value": ${value}}`);
  await patched("--type", "json", `[${operations.join(", ")}]`);
  assert.equal(await spec("limits"), `[${odd},${most},-9007199254740993]`);
  while ((await run("get", "tally", "c", "-o", "jsonpath={.spec.start}")) !== "9007199254740996") await setTimeout(50);

  const ids = [...(await run("runs", "ls")).matchAll(/^([0-9A-Z]{26}) /gm)].map(([, id = ""]) => id);
  const { stdout: compared } = await purlin(folder, "runs", "diff", ids.at(-2) ?? "", ids[0] ?? "");
  assert.match(compared, /spec\.start.*9007199254740992.*9007199254740996/);

  // Previews and files.
  const plan = await purlin(folder, "diff", "changed.yaml");
  assert.match(plan.stdout, /spec\.start {2}9007199254740997 -> 9007199254740993\n/, plan.stderr);
  assert.match(plan.stdout, /-9223372036854775808.*-9223372036854775807/);
  const report = await purlin(folder, "diff", "changed.yaml", "-o", "json");
  assert.match(report.stdout, /"new": 9007199254740993/, report.stderr);
  await run("apply", "-f", "changed.yaml");
  assert.equal(await spec("free"), '{"deep":[{"low":-9223372036854775807}]}');
  // It warns of a deprecated type of the control plane itself.
  const exported = await purlin(folder, "export");
  assert.match(exported.stdout, /low: -9223372036854775807/, exported.stderr);
  assert.match(await run("backup", "all.purlin"), /all\.purlin/);
  const files = ["composition", "functions"].map((name) => `platform/${name}.yaml`);
  assert.match(await run("render", "platform/counter.yaml", ...files, "--include-full-xr"), /end: 9223372036854775807/);
  assert.match(await run("validate", "platform"), /no problems|0 errors|valid/);
  assert.match(await run("test", "counters.test.yaml"), /1 passed/);
  assert.equal(await running.stop(), 0);
});
