// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import type { JsonObject, JsonValue } from "@purlin/kube-objects/json";
import { objectAt } from "@purlin/kube-objects/object";
import type { Run } from "@purlin/run-store";
import { recordedRun, recordedStep } from "../../test/recorded-runs.ts";
import { exportedFiles } from "./export-command.ts";

const exported = (run: Run, definitions: readonly JsonObject[] = []): Readonly<Record<string, readonly JsonValue[]>> =>
  Object.fromEntries(exportedFiles(run, definitions));
const testFile = "shop-01abcdef.test.yaml";

interface Case {
  readonly kind: string;
  readonly metadata: JsonObject;
  readonly spec: { readonly inputs: JsonObject; readonly cases: readonly [{ readonly expect: JsonObject }] };
}
/** The first document of a file. */
function documentOf<T = JsonObject>(files: Readonly<Record<string, readonly JsonValue[]>>, name: string): T {
  const [document] = files[name] ?? [];
  assert.ok(document, name);
  return document as T;
}
const caseOf = (run: Run, definitions?: readonly JsonObject[]): Case =>
  documentOf<Case>(exported(run, definitions), testFile);
const expectOf = (run: Run): JsonObject => caseOf(run).spec.cases[0].expect;
const desiredOf = (expect: JsonObject): JsonObject => objectAt(expect, ["desired", "resources"]);
const desiring = (resources: object, composite?: object): object => ({
  desired: { resources, ...(composite && { composite: { resource: composite } }) },
});

test("a run without its surroundings is a case with the composite resource and the packages of its functions", () => {
  const run = recordedRun({ steps: [recordedStep("compose", { response: desiring({}) })] });
  assert.deepEqual(Object.keys(exported(run)), ["fixtures/xr.yaml", "functions.yaml", testFile]);
  assert.deepEqual(exported(run)["fixtures/xr.yaml"], [run.composite]);
  assert.deepEqual(exported(run)["functions.yaml"], [
    {
      ...{ apiVersion: "pkg.crossplane.io/v1", kind: "Function", metadata: { name: "function-compose" } },
      spec: { package: "example.org/compose:v1" },
    },
  ]);
  assert.deepEqual(caseOf(run), {
    ...{ apiVersion: "test.purlin.dev/v1alpha1", kind: "CompositionTest" },
    metadata: { name: "shop-01abcdef", annotations: { "purlin.dev/run": "01ABCDEFGH" } },
    spec: {
      inputs: { xr: "fixtures/xr.yaml", functions: "functions.yaml" },
      cases: [
        {
          name: "as recorded",
          expect: { resources: { only: [] }, desired: { composite: {}, resources: {} }, conditions: [] },
        },
      ],
    },
  });
});

test("a Function of which no package was recorded runs from a source that its author adds", () => {
  const run = recordedRun({ steps: [recordedStep("compose", { package: "", response: desiring({}) })] });
  const annotations = { "purlin.dev/source": "function-compose.ts" };
  assert.deepEqual(exported(run)["functions.yaml"], [
    { apiVersion: "pkg.crossplane.io/v1", kind: "Function", metadata: { name: "function-compose", annotations } },
  ]);
});

test("definitions, the revision and Functions of the control plane are fixtures", () => {
  const xrd = {
    apiVersion: "apiextensions.crossplane.io/v2",
    kind: "CompositeResourceDefinition",
    metadata: { name: "apps.acme.org", managedFields: [], uid: "u" },
  };
  const fn = {
    apiVersion: "pkg.crossplane.io/v1",
    kind: "Function",
    metadata: { name: "function-compose", uid: "x", annotations: { a: "b" } },
  };
  const revision = { kind: "CompositionRevision", spec: { revision: 3, mode: "Pipeline" } };
  const files = exported(recordedRun({ steps: [recordedStep("compose"), recordedStep("compose")], revision }), [
    xrd,
    fn,
  ]);
  assert.deepEqual(files["fixtures/xrd.yaml"], [{ ...xrd, metadata: { name: "apps.acme.org", uid: "u" } }]);
  assert.deepEqual(files["fixtures/composition.yaml"], [
    {
      apiVersion: "apiextensions.crossplane.io/v1",
      kind: "Composition",
      metadata: { name: "apps" },
      spec: { mode: "Pipeline" },
    },
  ]);
  assert.deepEqual(files["functions.yaml"], [
    {
      apiVersion: "pkg.crossplane.io/v1",
      kind: "Function",
      metadata: { name: "function-compose", annotations: { a: "b" } },
    },
  ]);
});

const pod = (name: string): JsonObject => ({ apiVersion: "v1", kind: "Pod", metadata: { name } });

test("an XRD of the scope that only v1 has is written as v1", () => {
  const xrd = (scope: string): JsonObject => ({
    ...{ apiVersion: "apiextensions.crossplane.io/v2", kind: "CompositeResourceDefinition" },
    ...{ metadata: { name: "apps.acme.org" }, spec: { scope } },
  });
  const versionOf = (scope: string): JsonValue | undefined =>
    documentOf(exported(recordedRun({}), [xrd(scope)]), "fixtures/xrd.yaml")["apiVersion"];
  assert.equal(versionOf("LegacyCluster"), "apiextensions.crossplane.io/v1");
  assert.equal(versionOf("Cluster"), "apiextensions.crossplane.io/v2");
});

test("observed and required resources are files of their own, also where their names look alike as file names", () => {
  const request = {
    observed: {
      resources: { "a/b": { resource: pod("one") }, "a b": { resource: pod("two") }, "": { resource: pod("three") } },
    },
    requiredResources: { pods: { items: [{ resource: pod("r") }] }, none: {} },
    extraResources: { pods: { items: [{ resource: pod("e") }] } },
  };
  const files = exported(recordedRun({ steps: [recordedStep("compose", { request })] }));
  const named = (file: string): unknown[] =>
    (files[file] ?? []).map((one) => (one as { metadata: JsonObject }).metadata);
  const annotated = (resource: string): JsonObject => ({ "crossplane.io/composition-resource-name": resource });
  assert.deepEqual(named("fixtures/observed/a_b.yaml"), [{ name: "one", annotations: annotated("a/b") }]);
  assert.deepEqual(named("fixtures/observed/a_b-2.yaml"), [{ name: "two", annotations: annotated("a b") }]);
  assert.deepEqual(named("fixtures/observed/_.yaml"), [{ name: "three", annotations: annotated("") }]);
  assert.deepEqual(named("fixtures/required/compose-pods.yaml"), [{ name: "r" }, { name: "e" }]);
  assert.equal(Object.keys(files).filter((name) => name.startsWith("fixtures/required/")).length, 1);
});

test("the desired state of the last step that answered is what is expected", () => {
  const last = desiring(
    { web: { resource: pod("w"), ready: "READY_TRUE" }, db: { resource: pod("d") } },
    { status: { url: "u" }, spec: {} },
  );
  const steps = [
    recordedStep("a", { response: desiring({ other: { resource: pod("o") } }) }),
    recordedStep("b", { response: last }),
    recordedStep("c"),
  ];
  const conditions = [
    { type: "Ready", status: "False", reason: "Creating", message: "m" },
    { type: "Responsive", status: "True", reason: "R" },
  ] as unknown as Run["conditions"];
  assert.deepEqual(expectOf(recordedRun({ steps, conditions })), {
    resources: { only: ["db", "web"] },
    desired: { composite: { status: { url: "u" }, spec: {} }, resources: { db: pod("d"), web: pod("w") } },
    conditions: [{ type: "Ready", status: "False", reason: "Creating" }],
  });
});

test("a run that failed expects its error, as a text and not as a pattern", () => {
  const run = recordedRun({ steps: [recordedStep("a")], outcome: "failed", error: 'step "a" failed: [x] (1.5s)?' });
  assert.deepEqual(expectOf(run), { fatal: 'step "a" failed: \\[x\\] \\(1\\.5s\\)\\?', conditions: [] });
  const { fatal } = expectOf(run);
  assert.match(run.error ?? "", new RegExp(String(fatal)));
});

test("each hidden value has one name in all fixtures, and is listed once", () => {
  const mark = "**REDACTED:0123abcd**";
  const composite = { ...recordedRun().composite, spec: { a: mark, b: `x ${mark} ${"**REDACTED**"}`, list: [mark] } };
  const files = exported(
    recordedRun({
      composite,
      steps: [recordedStep("a", { response: desiring({ web: { resource: { ...pod("w"), spec: { token: mark } } } }) })],
    }),
  );
  assert.deepEqual(documentOf(files, "fixtures/xr.yaml")["spec"], {
    a: "redacted-1",
    b: "x redacted-1 redacted-2",
    list: ["redacted-1"],
  });
  assert.deepEqual(files["fixtures/redacted.yaml"], [{ "redacted-1": mark, "redacted-2": "**REDACTED**" }]);
  const { spec } = documentOf<Case>(files, testFile);
  assert.equal(spec.inputs["secrets"], "fixtures/redacted.yaml");
  assert.deepEqual(desiredOf(spec.cases[0].expect)["web"], { ...pod("w"), spec: { token: "redacted-1" } });
});

test("keys of desired resources that look like operators are keys", () => {
  const schema = { ...pod("w"), spec: { schema: { $ref: "#/x" }, list: [{ $any: true }] } };
  const run = recordedRun({ steps: [recordedStep("a", { response: desiring({ web: { resource: schema } }) })] });
  assert.deepEqual(desiredOf(expectOf(run))["web"], {
    ...pod("w"),
    spec: { schema: { $$ref: "#/x" }, list: [{ $$any: true }] },
  });
});

test("observed Secrets are as an API server stores them; of hidden values in desired ones any will do", () => {
  const secret = (more: object): JsonObject => ({ apiVersion: "v1", kind: "Secret", metadata: { name: "s" }, ...more });
  const hidden = { data: { a: "**REDACTED**", b: "Yg==" }, stringData: { c: "text" } };
  const request = { observed: { resources: { s: { resource: secret(hidden) } } } };
  const run = recordedRun({
    steps: [recordedStep("a", { request, response: desiring({ s: { resource: secret(hidden) } }) })],
  });
  const { data } = documentOf(exported(run), "fixtures/observed/s.yaml");
  assert.deepEqual(data, { a: btoa("redacted-1"), b: "Yg==", c: btoa("text") });
  assert.deepEqual(
    desiredOf(expectOf(run))["s"],
    secret({ data: { a: { $any: true }, b: "Yg==" }, stringData: { c: "text" } }),
  );
});

test("a run of an Operation is a case of its own kind: outputs of steps, nothing observed", () => {
  const xr = { apiVersion: "ops.crossplane.io/v1alpha1", kind: "Operation", name: "shop" };
  const request = { observed: { resources: { s: { resource: pod("s") } } } };
  const steps = [recordedStep("a", { request, response: { output: { n: 1 } } }), recordedStep("b", { response: {} })];
  const files = exported(recordedRun({ xr, steps }));
  assert.deepEqual(Object.keys(files), ["fixtures/operation.yaml", "functions.yaml", testFile]);
  const { kind, spec } = documentOf<Case>(files, testFile);
  assert.deepEqual([kind, spec.inputs["operation"]], ["OperationTest", "fixtures/operation.yaml"]);
  assert.deepEqual(spec.cases[0].expect, {
    resources: { only: [] },
    desired: { resources: {} },
    outputs: { a: { n: 1 } },
    conditions: [],
  });
  const failed = expectOf(recordedRun({ xr, steps, outcome: "failed", error: "e" }));
  assert.deepEqual(failed, { fatal: "e" }, "its conditions were not written yet");
});
