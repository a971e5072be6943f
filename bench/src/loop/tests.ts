// SPDX-License-Identifier: Apache-2.0
import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { builtCommand } from "../../../tools/publish/built-command.ts";
import { type Figure, figure } from "../measure/figure.ts";

/** How much of everything. */
interface TestEffort {
  readonly rounds: number;
  readonly count: number;
}

const source = `import { request, response } from "@purlin/function-sdk";
export default (req) => {
  const rsp = response.to(req);
  const replicas = request.getObservedCompositeResource(req).resource.object.spec.replicas;
  for (const name of ["web", "cache"])
    response.setDesiredComposedResource(rsp, name, { apiVersion: "v1", kind: "ConfigMap", data: { replicas: String(replicas) } }, { ready: true });
  return rsp;
};
`;

const manifests = `apiVersion: apiextensions.crossplane.io/v2
kind: CompositeResourceDefinition
metadata: {name: apps.example.org}
spec:
  group: example.org
  names: {kind: App, plural: apps}
  versions:
  - name: v1
    served: true
    referenceable: true
    schema: {openAPIV3Schema: {type: object, properties: {spec: {type: object, properties: {replicas: {type: integer}}}}}}
`;

const inputs = `
    xrd: xrd.yaml
    xr: {apiVersion: example.org/v1, kind: App, metadata: {name: shop, namespace: default}, spec: {replicas: 0}}
    composition:
      apiVersion: apiextensions.crossplane.io/v1
      kind: Composition
      metadata: {name: apps}
      spec:
        compositeTypeRef: {apiVersion: example.org/v1, kind: App}
        mode: Pipeline
        pipeline: [{step: compose, functionRef: {name: app}}]
    functions: {apiVersion: pkg.crossplane.io/v1, kind: Function, metadata: {name: app, annotations: {purlin.dev/source: fn.ts}}}
`;

/** The time of `purlin test`, from the start of the command to its end, with one local function in TypeScript. */
export function testFigures({ rounds, count }: TestEffort): Figure[] {
  const folder = mkdtempSync(join(tmpdir(), "bench-tests-"));
  try {
    writeProject(folder, count);
    const times = Array.from({ length: rounds + 1 }, () => timeTests(folder, count));
    // The first run compiles the command.
    return [figure(`test: ${count} cases`, "s", times.slice(1), { relation: "at most", value: 10 })];
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

function writeProject(folder: string, count: number): void {
  const cases = Array.from(
    { length: count },
    (_, at) =>
      `  - {name: case ${at}, patch: {spec: {replicas: ${at}}}, expect: {resource: {web: {data: {replicas: "${at}"}}}, ready: true}}\n`,
  );
  writeFileSync(join(folder, "fn.ts"), source);
  writeFileSync(join(folder, "xrd.yaml"), manifests);
  writeFileSync(
    join(folder, "apps.test.yaml"),
    `apiVersion: test.purlin.dev/v1alpha1\nkind: CompositionTest\nspec:\n  inputs:${inputs}  cases:\n${cases.join("")}`,
  );
  mkdirSync(join(folder, "node_modules/@purlin"), { recursive: true });
  symlinkSync(resolve("packages/function-sdk"), join(folder, "node_modules/@purlin/function-sdk"));
}

function timeTests(folder: string, count: number): number {
  const started = performance.now();
  const { status, stdout, stderr } = spawnSync(process.execPath, [builtCommand(), "test", "--reporter", "dot"], {
    cwd: folder,
    encoding: "utf8",
  });
  if (status !== 0 || !stdout.includes(`${count} passed`))
    throw new Error(`purlin test: ${status}: ${stdout}${stderr}`);
  return (performance.now() - started) / 1000;
}
