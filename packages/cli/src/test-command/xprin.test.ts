// SPDX-License-Identifier: Apache-2.0
// Suites in the format of xprin, written for this test.
import assert from "node:assert/strict";
import { mkdirSync, symlinkSync } from "node:fs";
import { dirname, join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { tempFolder } from "@purlin/base/testing/temp-folder";
import type { KubeObject } from "@purlin/kube-objects/object";
import { runInProcess } from "../../test/test-io.ts";
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
  ThereAfterAll: {
    assert: { type: "NotExists", resource: "Deployment" },
    says: "resource Deployment exists: Deployment/shop-web",
  },
  CountOfPattern: { assert: { type: "Count", resource: "*/shop-w?b", value: 1 } },
  CountOfKind: { assert: { type: "Count", resource: "Deployment", value: 2 }, says: "Deployment: expected 2, got 1" },
  CountOfNone: { assert: { type: "Count", resource: "Pod/*", value: 0 } },
  AnyKind: { assert: { type: "FieldExists", resource: "*/*", field: "metadata.name" } },
  EveryMatch: {
    assert: { type: "FieldExists", resource: "*/shop*", field: "spec.replicas" },
    says: "XApp/shop: spec.replicas: does not exist",
  },
  Range: { assert: { type: "NotExists", resource: "Deployment/shop-[a-v]eb" } },
  NoStarOverSlash: { assert: { type: "NotExists", resource: "Deploy*b/*" } },
  ThreeParts: {
    assert: { type: "Exists", resource: "apps/v1/Deployment" },
    says: "resource apps/v1/Deployment: expected Kind or Kind/name",
  },
  TypeOfNothing: {
    assert: { type: "FieldType", resource: web, field: "spec.none", value: "null" },
    says: "spec.none: does not exist",
  },
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

/** A folder with files in which functions of ours can run. */
function projectWith(more: Readonly<Record<string, string>>): ReturnType<typeof tempFolder> {
  const folder = tempFolder({ ...files, ...more });
  const sdk = dirname(dirname(fileURLToPath(import.meta.resolve("@purlin/function-sdk"))));
  mkdirSync(join(folder.path, "node_modules/@purlin"), { recursive: true });
  symlinkSync(sdk, join(folder.path, "node_modules/@purlin/function-sdk"));
  return folder;
}
const env = { HOME: "/nonexistent", PATH: process.env["PATH"] };

test("a suite of xprin runs; hooks are reported, not run", async () => {
  using folder = projectWith({});
  const purlin = (...args: string[]) => runInProcess(["test", ...args], { cwd: folder.path, env });
  const { exitCode, stdout, stderr } = await purlin("suites/...", "--parallel", "1");
  assert.equal(exitCode, 0, `${stdout}${stderr}`);
  assert.match(stdout, /✓ First loop .*\n {2}✓ Second loop .*\n {2}✓ Chained /);
  assert.match(stderr, /^note: suites\/app_xprin\.yaml: hooks are not run: First loop\n$/);
  const first = await purlin("suites", "--list", "--shard", "1/2");
  assert.equal(first.stdout, "suites/app_xprin.yaml: First loop\nsuites/app_xprin.yaml: Chained\n");
  assert.equal((await purlin("suites", "--list", "--shard", "2/2")).stdout, "suites/app_xprin.yaml: Second loop\n");
  assert.equal(
    (await purlin("suites", "--shard", "3/2")).stderr,
    "error: --shard 3/2: expected INDEX/COUNT, such as 1/4\n",
  );
});

// The shapes of xprin's own examples, with other data. Its examples themselves ran here on 17 November 2026, with the functions that they
// name: what passes there passes here, and what is to fail fails. Compared: an XR and a claim without a definition; validation with a
// definition, and without that of the XR; observed resources and defaults; common inputs; outputs of tests above; composed composite
// resources that are only rendered; counts, patterns and types of fields, also of null; golden files.
const layers = {
  "base.ts": `import { response } from "@purlin/function-sdk";
export default (req, ctx) => {
  const rsp = ctx.to(req);
  response.setDesiredComposedResource(rsp, "part", { apiVersion: "parts.e.org/v1", kind: "XPart", metadata: { name: "shop-part" }, spec: { size: "large" } });
  response.setDesiredComposedResource(rsp, "thing", { apiVersion: "things.e.org/v1", kind: "Thing", metadata: { name: "shop-thing" } });
  return rsp;
};
`,
  "part.ts": `import { request, response } from "@purlin/function-sdk";
export default (req, ctx) => {
  const rsp = ctx.to(req);
  const { spec, status = {} } = request.getObservedCompositeResource(req).resource.object;
  const seen = status.seen ?? 0;
  response.setDesiredComposedResource(rsp, "map", { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "part-map", namespace: "default" }, data: { size: String(spec.size), seen: String(seen) } });
  response.setDesiredCompositeStatus(rsp, { seen: seen + 1 });
  return rsp;
};
`,
  "all-functions.yaml": ["base", "part"]
    .map(
      (name) =>
        `apiVersion: pkg.crossplane.io/v1\nkind: Function\nmetadata: {name: ${name}, annotations: {purlin.dev/source: ${name}.ts}}\n`,
    )
    .join("---\n"),
  "base-composition.yaml": compositionOf("e.org/v1", "XApp", "base"),
  "part-composition.yaml": compositionOf("parts.e.org/v1", "XPart", "part"),
  "part-xrd.yaml": `apiVersion: apiextensions.crossplane.io/v1
kind: CompositeResourceDefinition
metadata: {name: xparts.parts.e.org}
spec:
  group: parts.e.org
  names: {kind: XPart, plural: xparts}
  claimNames: {kind: Part, plural: parts}
  versions:
  - name: v1
    served: true
    referenceable: true
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec: {type: object, properties: {size: {type: string}, note: {type: string, nullable: true}}}
          status: {type: object, properties: {seen: {type: integer}}}
`,
  "crossplane.yaml": "apiVersion: meta.pkg.crossplane.io/v1\nkind: Configuration\nmetadata: {name: platform}\n",
  "part.yaml": "apiVersion: parts.e.org/v1\nkind: XPart\nmetadata: {name: p}\nspec: {size: s, note: null}\n",
  "medium.yaml": "apiVersion: parts.e.org/v1\nkind: XPart\nmetadata: {name: p}\nspec: {size: m}\n",
  "claim.yaml": "apiVersion: parts.e.org/v1\nkind: Part\nmetadata: {name: p, namespace: team}\nspec: {size: m}\n",
  "layers_xprin.yaml": `common:
  inputs: {composition: part-composition.yaml, functions: all-functions.yaml}
tests:
- name: Base
  id: base
  inputs: {xr: xr.yaml, composition: base-composition.yaml, crds: [xrd.yaml, part-xrd.yaml, crossplane.yaml]}
  assertions: {xprin: [{name: "only rendered", type: Count, value: 3}]}
- name: Part
  id: part
  inputs: {xr: {{ index .Tests.base.Outputs.Rendered "XPart/shop-part" }}, crds: [part-xrd.yaml]}
  assertions:
    xprin: [{name: "size", type: FieldValue, resource: ConfigMap, field: data.size, operator: "==", value: large}]
- name: Part again
  patches: {xrd: part-xrd.yaml}
  inputs: {xr: {{ .Tests.part.Outputs.XR }}}
  assertions:
    xprin: [{name: "status of the first", type: FieldValue, resource: ConfigMap, field: data.seen, operator: is, value: "1"}]
- name: Claim
  inputs: {claim: claim.yaml}
  assertions:
    xprin:
    - {name: "its size", type: FieldValue, resource: "ConfigMap/part-*", field: data.size, operator: "==", value: m}
    - {name: "the composite resource", type: Exists, resource: "XPart/p-*"}
- name: "Null"
  inputs: {xr: part.yaml, crds: [part-xrd.yaml]}
  assertions: {xprin: [{name: "null stays", type: FieldType, resource: XPart/p, field: spec.note, value: "null"}]}
- name: Changed by a hook
  inputs: {xr: part.yaml}
  hooks: {pre-test: [{run: "edit {{ .Inputs.XR }}"}]}
- name: Other repository
  inputs: {xr: "{{ .Repositories.other }}/part.yaml"}
- name: Known repository
  inputs: {xr: {{ .Repositories.parts }}/medium.yaml, composition: '{{ index .Repositories "parts" }}/part-composition.yaml'}
  assertions:
    xprin: [{name: "size", type: FieldValue, resource: ConfigMap, field: data.size, operator: "==", value: m}]
- name: Home
  inputs: {xr: ~/home-part.yaml}
  assertions:
    xprin: [{name: "size", type: FieldValue, resource: ConfigMap, field: data.size, operator: "==", value: home}]
    diff: [{name: "golden", expected: ~/golden.yaml, resource: ConfigMap/part-map}]
- name: Unknown template
  inputs: {xr: "{{ .Env.HOME }}/part.yaml"}
`,
  ".config/xprin.yaml": "repositories: {parts: ~/.}\n",
  "home-part.yaml": "apiVersion: parts.e.org/v1\nkind: XPart\nmetadata: {name: p}\nspec: {size: home}\n",
  "golden.yaml":
    'apiVersion: v1\nkind: ConfigMap\nmetadata: {name: part-map, namespace: default}\ndata: {size: home, seen: "0"}\n',
  "wrong_xprin.yaml": `common:
  inputs: {composition: part-composition.yaml, functions: all-functions.yaml}
tests:
- name: No schema
  id: none
  inputs: {xr: medium.yaml, crds: [xrd.yaml]}
- name: Other kind
  inputs: {xr: claim.yaml}
- name: No such resource
  inputs: {xr: {{ index .Tests.none.Outputs.Rendered "XPart/other" }}}
- name: No golden
  inputs: {xr: part.yaml, crds: [part-xrd.yaml]}
  assertions: {diff: [{name: "golden", expected: none.yaml}], xprin: [{name: "count", type: Count, value: 9}]}
`,
  "order_xprin.yaml": `tests:
- name: First
  inputs: {xr: {{ .Tests.second.Outputs.XR }}, composition: part-composition.yaml, functions: all-functions.yaml}
- name: Second
  id: second
  inputs: {xr: part.yaml, composition: part-composition.yaml, functions: all-functions.yaml}
`,
};

function compositionOf(apiVersion: string, kind: string, name: string): string {
  return `apiVersion: apiextensions.crossplane.io/v1
kind: Composition
metadata: {name: ${name}}
spec:
  compositeTypeRef: {apiVersion: ${apiVersion}, kind: ${kind}}
  mode: Pipeline
  pipeline: [{step: compose, functionRef: {name: ${name}}}]
`;
}

test("suites with the shapes of xprin's own examples pass, and fail where those fail", async () => {
  using folder = projectWith(layers);
  const own = { ...env, HOME: folder.path };
  const purlin = (...args: string[]) => runInProcess(["test", ...args], { cwd: folder.path, env: own });
  const passing = await purlin("layers_xprin.yaml");
  const shown = `${passing.stdout}${passing.stderr}`;
  assert.equal(passing.exitCode, 0, shown);
  for (const name of ["Base", "Part", "Part again", "Claim", "Null", "Known repository", "Home"])
    assert.match(shown, new RegExp(`✓ ${name} \\(`));
  assert.match(
    shown,
    /- Changed by a hook \(skipped: the pre-test hook at layers_xprin\.yaml:\d+:\d+ uses \{\{ \.Inputs\.XR \}\}, and hooks are not run\)/,
  );
  assert.match(
    shown,
    /- Other repository \(skipped: \{\{ \.Repositories\.other \}\}\/part\.yaml: ~\/\.config\/xprin\.yaml has no path for it: add it to repositories there\)/,
  );
  assert.match(
    shown,
    /- Unknown template \(skipped: \{\{ \.Env\.HOME \}\}\/part\.yaml: only outputs of tests above and repositories are known\)/,
  );
  assert.match(shown, /note: layers_xprin\.yaml: schemas of packages are not fetched, .*: Configuration platform\n/);

  const failing = await purlin("wrong_xprin.yaml");
  assert.equal(failing.exitCode, 1);
  for (const text of [
    "could not find CRD/XRD for: parts.e.org/v1, Kind=XPart",
    "composition's compositeTypeRef.kind (XPart) does not match XR's kind (Part)",
    'inputs: test "none" rendered no XPart/other: it rendered XPart/p, ConfigMap/part-map',
    "golden: cannot read the expected file",
    "count: expected 9, got 2",
  ])
    assert.ok(failing.stdout.includes(text), `${text}\n${failing.stdout}`);
  assert.match(failing.stdout, /4 failed, 0 passed/);

  const alone = await purlin("layers_xprin.yaml", "-t", "Part again");
  assert.match(alone.stdout, /inputs: test "part" is not selected, and this one needs its output/);
  const unordered = await purlin("order_xprin.yaml");
  folder.write(".config/xprin.yaml", "repositories: [parts]\n");
  const config = "error: ~/.config/xprin.yaml: repositories: expected a map of names to paths\n";
  assert.deepEqual(await purlin("layers_xprin.yaml"), { exitCode: 2, stdout: "", stderr: config });
  const wrong = 'error: order_xprin.yaml:3:3: inputs: no test above has the id "second"\n';
  assert.deepEqual([unordered.exitCode, unordered.stderr], [2, wrong]);
});
