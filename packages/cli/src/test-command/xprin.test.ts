// SPDX-License-Identifier: Apache-2.0
// Suites in the format of xprin, written for this test.
import assert from "node:assert/strict";
import { mkdirSync, symlinkSync } from "node:fs";
import { dirname, join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import type { KubeObject } from "@purlin/kube-objects/object";
import { tempFolder } from "../testing/temp-folder.ts";
import { runInProcess } from "../testing/test-io.ts";
import { failedAssertions } from "./xprin-assertions.ts";
import { isXprinFile } from "./xprin-file.ts";

const objects: readonly KubeObject[] = [
  { apiVersion: "e.org/v1", kind: "XApp", metadata: { name: "shop" }, spec: {} },
  {
    apiVersion: "apps/v1",
    kind: "Deployment",
    metadata: { name: "shop-web", labels: { app: "shop" }, uid: "1" },
    spec: { replicas: 3, paused: false, containers: ["a"], note: null },
  },
];

const golden = `apiVersion: e.org/v1
kind: XApp
metadata: {name: shop, ownerReferences: [{uid: other}]}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: shop-web}
spec: {replicas: REPLICAS}
---
apiVersion: render.crossplane.io/v1beta1
kind: Result
`;
const rendered = {
  objects,
  readFile: (name: string) => Promise.resolve(golden.replace("REPLICAS", name === "good.yaml" ? "3" : "2")),
};

const web = "Deployment/shop-web";
const assertions: Readonly<Record<string, { readonly assert: object; readonly says?: string }>> = {
  Count: { assert: { type: "Count", value: 2 } },
  WrongCount: { assert: { type: "Count", value: 3 }, says: "expected 3, got 2" },
  Exists: { assert: { type: "Exists", resource: web } },
  Glob: { assert: { type: "Exists", resource: "Deployment/shop-*" } },
  Missing: {
    assert: { type: "Exists", resource: "Deployment/other" },
    says: "resource Deployment/other not found; there are Deployment/shop-web",
  },
  NotExists: { assert: { type: "NotExists", resource: "Pod" } },
  ThereAfterAll: { assert: { type: "NotExists", resource: "Deployment" }, says: "resource Deployment exists" },
  Field: { assert: { type: "FieldExists", resource: web, field: "metadata.labels.app" } },
  NoField: { assert: { type: "FieldExists", resource: web, field: "spec.none" }, says: "spec.none: does not exist" },
  FieldGone: { assert: { type: "FieldNotExists", resource: web, field: "spec.none" } },
  FieldThere: {
    assert: { type: "FieldNotExists", resource: web, field: "spec.replicas" },
    says: "spec.replicas: exists",
  },
  Value: { assert: { type: "FieldValue", resource: web, field: "spec.replicas", operator: "==", value: 3 } },
  Text: {
    assert: { type: "FieldValue", resource: web, field: "spec.replicas", operator: "is", value: "3" },
    says: 'spec.replicas: expected "3", got 3',
  },
  Operator: {
    assert: { type: "FieldValue", resource: web, field: "spec.replicas", operator: ">", value: 1 },
    says: 'operator ">": expected == or is',
  },
  WholeGolden: { assert: { type: "Golden", expected: "good.yaml" } },
  OtherGolden: {
    assert: { type: "Golden", expected: "bad.yaml" },
    says: "Deployment/shop-web.spec.replicas: expected 2, got 3",
  },
  Unknown: { assert: { type: "Fuzzy" }, says: 'unknown assertion type "Fuzzy"' },
};
for (const [name, { assert: one, says }] of Object.entries(assertions)) {
  test(`assertions of xprin: ${name}`, async () => {
    const found = await failedAssertions([{ name: "a", ...one } as never], rendered);
    assert.deepEqual(found, says === undefined ? [] : [`a: ${says}`]);
  });
}
for (const [field, value] of Object.entries({
  "metadata.name": "string",
  "spec.replicas": "number",
  "spec.paused": "boolean",
  "spec.containers": "array",
  "metadata.labels": "object",
  "spec.note": "null",
})) {
  test(`types of fields in xprin: ${value}`, async () => {
    const one = { name: "a", type: "FieldType", resource: web, field, value };
    assert.deepEqual(await failedAssertions([one], rendered), []);
  });
}

test("suites are known by their names", () => {
  assert.deepEqual(["xprin.yaml", "a/xprin.yaml", "a/b_xprin.yaml", "axprin.yaml", "x.test.yaml"].map(isXprinFile), [
    true,
    true,
    true,
    false,
    false,
  ]);
});

const files = {
  "fn.ts": `import { request, response } from "@purlin/function-sdk";
export default (req, ctx) => {
  const rsp = ctx.to(req);
  const { spec = {} } = request.getObservedCompositeResource(req).resource.object;
  const observed = request.getObservedComposedResources(req);
  const data = { size: spec.size ?? "none", tier: String(request.getContextKey(req, "tier") ?? "") };
  response.setDesiredComposedResource(rsp, "map", { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "shop-map", namespace: "default" }, data });
  if (observed.has("map")) response.setDesiredComposedResource(rsp, "late", { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "shop-late", namespace: "default" } });
  return rsp;
};
`,
  "functions.yaml":
    "apiVersion: pkg.crossplane.io/v1\nkind: Function\nmetadata: {name: fn, annotations: {purlin.dev/source: fn.ts}}\n",
  "composition.yaml": `apiVersion: apiextensions.crossplane.io/v1
kind: Composition
metadata: {name: apps}
spec:
  compositeTypeRef: {apiVersion: e.org/v1, kind: XApp}
  mode: Pipeline
  pipeline: [{step: compose, functionRef: {name: fn}}]
`,
  "xrd.yaml": `apiVersion: apiextensions.crossplane.io/v1
kind: CompositeResourceDefinition
metadata: {name: xapps.e.org}
spec:
  group: e.org
  names: {kind: XApp, plural: xapps}
  versions:
  - name: v1
    served: true
    referenceable: true
    schema: {openAPIV3Schema: {type: object, properties: {spec: {type: object, properties: {size: {type: string, default: small}}}}}}
`,
  "xr.yaml": "apiVersion: e.org/v1\nkind: XApp\nmetadata: {name: shop}\nspec: {}\n",
  "observed.yaml":
    "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: shop-map, namespace: default, annotations: {crossplane.io/composition-resource-name: map}}\n",
  "suites/app_xprin.yaml": `common:
  inputs:
    composition: ../composition.yaml
    functions: ../functions.yaml
    xr: ../xr.yaml
  assertions:
  - {name: two objects, type: Count, value: 2}
tests:
- name: First loop
  id: first
  inputs: {context-values: {tier: '"gold"'}}
  hooks:
    pre-test: [{run: touch hook-ran}]
- name: Second loop
  patches: {xrd: ../xrd.yaml}
  inputs: {observed-resources: ../observed.yaml, crds: [../xrd.yaml]}
  assertions:
    xprin:
    - {name: three objects, type: Count, value: 3}
    - {name: default, type: FieldValue, resource: ConfigMap/shop-map, field: data.size, operator: is, value: small}
- name: Chained
  inputs:
    xr: {{ .Tests.first.Outputs.XR }}
`,
};

test("a suite of xprin runs; hooks and templates are reported, not run", async () => {
  using folder = tempFolder(files);
  const sdk = dirname(dirname(fileURLToPath(import.meta.resolve("@purlin/function-sdk"))));
  mkdirSync(join(folder.path, "node_modules/@purlin"), { recursive: true });
  symlinkSync(sdk, join(folder.path, "node_modules/@purlin/function-sdk"));
  const env = { HOME: "/nonexistent", PATH: process.env["PATH"] };
  const purlin = (...args: string[]) => runInProcess(["test", ...args], { cwd: folder.path, env });
  const { exitCode, stdout, stderr } = await purlin("suites/...", "--parallel", "1");
  assert.equal(exitCode, 0, `${stdout}${stderr}`);
  assert.match(
    stdout,
    /✓ First loop .*\n {2}✓ Second loop .*\n {2}- Chained \(skipped: \{\{ \.Tests\.first\.Outputs\.XR \}\}: /,
  );
  assert.match(stderr, /^note: suites\/app_xprin\.yaml: hooks are not run: First loop\n$/);
  const first = await purlin("suites", "--list", "--shard", "1/2");
  assert.equal(first.stdout, "suites/app_xprin.yaml: First loop\nsuites/app_xprin.yaml: Chained\n");
  assert.equal((await purlin("suites", "--list", "--shard", "2/2")).stdout, "suites/app_xprin.yaml: Second loop\n");
  assert.equal(
    (await purlin("suites", "--shard", "3/2")).stderr,
    "error: --shard 3/2: expected INDEX/COUNT, such as 1/4\n",
  );
});
