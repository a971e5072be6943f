// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import { type TempFolder, tempFolder } from "@purlin/base/testing/temp-folder";
import { type Outcome, runInProcess } from "../../test/test-io.ts";

const xrd = (spec: string, more = ""): string => `apiVersion: apiextensions.crossplane.io/v2
kind: CompositeResourceDefinition
metadata: {name: apps.e.org}
spec:
  group: e.org
  scope: Namespaced
  names: {kind: App, plural: apps}
  versions:
  - name: v1
    served: true
    referenceable: true
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec:
            type: object
            x-kubernetes-validations: [{rule: "!has(self.size) || self.size != 'xl'", message: too large}]
            properties:
              ${spec}
${more}`;
const app = (name: string, spec: string): string =>
  `apiVersion: e.org/v1\nkind: App\nmetadata: {name: ${name}, namespace: a}\nspec: ${spec}\n`;

const purlin = (folder: TempFolder, ...args: string[]): Promise<Outcome> =>
  runInProcess(args, { cwd: folder.path, env: { HOME: folder.path } });

test("resource validate prints the lines and has the exit codes of crossplane resource validate", async () => {
  using folder = tempFolder({
    "xrd.yaml": xrd("size: {type: string}\n              count: {type: integer}"),
    "ext/other.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: not-judged}\ndata: {a: 1}\n",
    "xr.yaml": [
      app("good", "{size: s}"),
      app("bad", "{count: many}"),
      app("unknown", "{sise: s}"),
      app("ruled", "{size: xl}"),
      "apiVersion: f.org/v1\nkind: Thing\nmetadata: {name: t}\n",
    ].join("---\n"),
  });
  const { exitCode, stdout, stderr } = await purlin(folder, "resource", "validate", "xrd.yaml,ext", "xr.yaml");
  assert.equal(stderr, "");
  const lines = stdout.trimEnd().split("\n");
  assert.deepEqual(
    [lines[0], lines[2], lines[4], lines[5]],
    [
      "[✓] e.org/v1, Kind=App, good validated successfully",
      '[x] schema validation error e.org/v1, Kind=App, unknown : spec.sise: Invalid value: "sise": unknown field: "sise"',
      "[!] could not find CRD/XRD for: f.org/v1, Kind=Thing",
      "Total 5 resources: 1 missing schemas, 1 success cases, 3 failure cases",
    ],
  );
  assert.match(
    lines[1] ?? "",
    /^\[x\] schema validation error e\.org\/v1, Kind=App, bad : spec\.count: Invalid value: "string": /,
  );
  assert.match(
    lines[3] ?? "",
    /^\[x\] CEL validation error e\.org\/v1, Kind=App, ruled : spec: Invalid value: too large$/,
  );
  assert.equal(exitCode, 1);
  const json = await purlin(
    folder,
    "resource",
    "validate",
    "xrd.yaml",
    "xr.yaml",
    "-o",
    "json",
    "--skip-success-results",
  );
  const document = JSON.parse(json.stdout) as {
    readonly summary: Record<string, number>;
    readonly resources: readonly { readonly name: string; readonly status: string }[];
  };
  const { total, valid, invalid, missingSchemas } = document.summary;
  assert.deepEqual([total, valid, invalid, missingSchemas], [5, 1, 3, 1]);
  assert.deepEqual(
    document.resources.map(({ name, status }) => `${name} ${status}`),
    ["bad invalid", "unknown invalid", "ruled invalid", "t missingSchema"],
  );
  folder.write("ok.yaml", "apiVersion: f.org/v1\nkind: Thing\nmetadata: {name: t}\n");
  assert.equal((await purlin(folder, "resource", "validate", "xrd.yaml", "ok.yaml")).exitCode, 0);
  const strict = await purlin(folder, "resource", "validate", "xrd.yaml", "ok.yaml", "--error-on-missing-schemas");
  assert.equal(strict.exitCode, 1);
});

test("validate --old names what a new version of a definition breaks, at its line", async () => {
  using folder = tempFolder({
    "old/xrd.yaml": xrd(
      "size: {type: string, enum: [s, l]}\n              gone: {type: string}\n              count: {type: integer}",
      "  - {name: v0, served: true, referenceable: false, schema: {openAPIV3Schema: {type: object}}}\n",
    ),
    "new/xrd.yaml": xrd(
      "size: {type: string, enum: [s]}\n              count: {type: string}\n              more: {type: string}",
    ),
    "same/xrd.yaml": xrd(
      "size: {type: string, enum: [s, l]}\n              gone: {type: string}\n              count: {type: integer}",
    ),
  });
  const { exitCode, stdout } = await purlin(folder, "validate", "new", "--old", "old");
  assert.equal(exitCode, 2);
  const found = stdout.split("\n").filter((line) => line.endsWith("[V04]"));
  assert.equal(found.length, 4, stdout);
  assert.match(
    stdout,
    /^new\/xrd\.yaml:\d+:\d+: error: CompositeResourceDefinition\/apps\.e\.org: .*spec\.versions\[v0\]: the version is removed \[V04\]$/m,
  );
  assert.match(
    stdout,
    /^new\/xrd\.yaml:21:\d+: error: .*v1: spec\.count: type changes from integer to string \[V04\]$/m,
  );
  assert.match(stdout, /error: .*v1: spec\.gone: the field is removed: its data is lost at the next write \[V04\]$/m);
  assert.match(stdout, /^new\/xrd\.yaml:20:\d+: .*v1: spec\.size: .* \[V04\]$/m);
  const same = await purlin(folder, "validate", "same", "--old", "same");
  assert.equal(same.exitCode, 0, same.stdout);
});

test("an extension that gives no schema is named: its kind would only seem to be missing", async () => {
  using folder = tempFolder({
    "xrd.yaml": xrd("size: {type: strong}"),
    "xr.yaml": app("good", "{size: s}"),
  });
  const { stdout, stderr } = await purlin(folder, "resource", "validate", "xrd.yaml", "xr.yaml");
  assert.match(stdout, /^\[!\] could not find CRD\/XRD for: e\.org\/v1, Kind=App\n/);
  assert.match(stderr, /^warning: xrd\.yaml:\d+:\d+: CompositeResourceDefinition\/apps\.e\.org: .*strong/);
});

test("the document has the members of Crossplane's, and advice of ours", async () => {
  using folder = tempFolder({
    "xrd.yaml": xrd("size: {type: string}\n              list: {type: array, maxItems: 1, items: {type: string}}"),
    "xr.yaml": [app("a", "{sise: 1}"), app("b", "{size: 1, list: [a, b]}"), app("c", "{size: xl}")].join("---\n"),
  });
  const { stdout } = await purlin(folder, "resource", "validate", "xrd.yaml", "xr.yaml", "-o", "json");
  const { resources } = JSON.parse(stdout) as { readonly resources: readonly { readonly errors: readonly object[] }[] };
  const place = { file: "xr.yaml", level: "error" };
  assert.deepEqual(
    resources.map(({ errors }) => errors.map((one) => ({ ...one, line: 0, column: 0 }))),
    [
      [
        {
          ...{ type: "unknownField", field: "spec.sise", value: "sise", code: "V02", ...place, line: 0, column: 0 },
          message: 'spec.sise: Invalid value: "sise": unknown field: "sise"',
          advice: "spec.sise: unknown field: did you mean size?",
        },
      ],
      [
        {
          ...{ type: "schema", field: "spec.size", value: "number", code: "V01", ...place, line: 0, column: 0 },
          message: 'spec.size: Invalid value: "number": spec.size in body must be of type string: "number"',
          advice: 'spec.size: Invalid value: "integer": spec.size in body must be of type string: "integer"',
        },
        {
          ...{ type: "schema", field: "spec.list", value: 2, code: "V01", ...place, line: 0, column: 0 },
          message: "spec.list: Too many: 2: must have at most 1 item",
        },
      ],
      [
        {
          ...{ type: "cel", field: "spec", value: {}, code: "V03", ...place, line: 0, column: 0 },
          message: "spec: Invalid value: too large",
        },
      ],
    ],
  );
});
