// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { rmSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { type TempFolder, tempFolder } from "@purlin/base/testing/temp-folder";
import { crossplaneLines } from "@purlin/function-runner";
import type { JsonObject, JsonValue } from "@purlin/kube-objects/json";
import type { KubeObject } from "@purlin/kube-objects/object";
import { testCase } from "../../test/case-state.ts";
import { TestIo } from "../../test/test-io.ts";
import { CaseOutputs } from "./case-outputs.ts";
import {
  type CaseInputs,
  defines,
  InputReader,
  patched,
  permissiveClaimDefinition,
  permissiveCrd,
  permissiveDefinition,
} from "./inputs.ts";
import type { TestCase } from "./test-file.ts";

const xr: JsonObject = { apiVersion: "acme.org/v1", kind: "App", metadata: { name: "shop" }, spec: { size: "s" } };
const named = (kind: string, name: string, apiVersion = "v1"): JsonObject => ({ apiVersion, kind, metadata: { name } });

const read = (inputs: JsonObject, more: Partial<TestCase> = {}, io = new TestIo()): Promise<CaseInputs> =>
  new InputReader(io, new CaseOutputs()).read(testCase({ inputs, ...more }));
const names = (objects: readonly KubeObject[]): unknown[] => objects.map(({ metadata }) => metadata.name);
const refused = (inputs: JsonObject, text: string, more: Partial<TestCase> = {}): Promise<void> =>
  assert.rejects(read(inputs, more), { message: `app.test.yaml:6:5: case "small": ${text}`, exitCode: 2 });

test("inputs are objects, files, folders and lists of these, from the folder of the test file", async () => {
  using folder = tempFolder({
    "tests/xr.yaml": "apiVersion: acme.org/v1\nkind: App\nmetadata: {name: shop}\n",
    "functions/a.yaml": "apiVersion: pkg.crossplane.io/v1\nkind: Function\nmetadata: {name: a}\n",
    "functions/b.yaml": "apiVersion: pkg.crossplane.io/v1\nkind: Function\nmetadata: {name: b}\n",
  });
  const inline = named("Function", "c", "pkg.crossplane.io/v1");
  const found = await read(
    { xr: "xr.yaml", functions: ["../functions", inline], required: [[named("Pod", "p")]] },
    { file: "tests/app.test.yaml" },
    new TestIo({ cwd: folder.path }),
  );
  assert.equal(found.root.metadata.name, "shop");
  assert.deepEqual(names(found.functions), ["a", "b", "c"]);
  assert.deepEqual(names(found.others), ["p"]);
  assert.deepEqual([found.definitions, found.crds, found.compositions, found.observed], [[], [], [], []]);
  assert.deepEqual([found.context, found.asCrossplane], [{}, undefined]);
});

test("what only a server sets is left out; an inline object may lack metadata", async () => {
  const server = { uid: "u", resourceVersion: "1", generation: 3, creationTimestamp: "t", managedFields: [] };
  const { root } = await read({ xr: { ...xr, metadata: { name: "shop", labels: { a: "b" }, ...server } } });
  assert.deepEqual(root.metadata, { name: "shop", labels: { a: "b" } });
  const bare = await read({ xr: { apiVersion: "acme.org/v1", kind: "App" } });
  assert.deepEqual(bare.root, { apiVersion: "acme.org/v1", kind: "App", metadata: {} });
});

test("definitions and CRDs come from xrd, crds and schemas, each name once", async () => {
  const definition = named("CompositeResourceDefinition", "apps.acme.org", "apiextensions.crossplane.io/v2");
  const crd = named("CustomResourceDefinition", "x.acme.org", "apiextensions.k8s.io/v1");
  const found = await read({
    xr,
    xrd: definition,
    crds: [crd],
    schemas: [definition, crd, { ...crd, metadata: { name: "y" } }],
  });
  assert.deepEqual(names(found.definitions), ["apps.acme.org"]);
  assert.deepEqual(names(found.crds), ["x.acme.org", "y"]);
});

test("required objects and credentials exist; secrets of a recorded run do not", async () => {
  const found = await read({
    ...{ xr, composition: named("Composition", "c"), observed: [named("Pod", "o")] },
    ...{ required: named("Pod", "r"), credentials: named("Secret", "k"), secrets: named("Secret", "recorded") },
  });
  assert.deepEqual([names(found.others), names(found.observed), names(found.compositions)], [["r", "k"], ["o"], ["c"]]);
});

test("the patches of a case apply to the root in order", async () => {
  const patches: JsonValue[] = [
    { spec: { size: "l", zone: "a" } },
    [{ op: "remove", path: "/spec/zone" }],
    { metadata: { name: "b" } },
  ];
  const { root } = await read({ xr }, { patches });
  assert.deepEqual(root, { ...xr, metadata: { name: "b" }, spec: { size: "l" } });
  assert.deepEqual(xr["spec"], { size: "s" }, "the input does not change");
});

test("an Operation may come from a template, for an object that is watched and a time", async () => {
  const cron = {
    ...named("CronOperation", "nightly", "ops.crossplane.io/v1alpha1"),
    spec: { operationTemplate: { metadata: { labels: { a: "b" } }, spec: { mode: "Pipeline", pipeline: [] } } },
  };
  const scheduledTime = "2026-01-02T02:30:00Z";
  const { root } = await read({ operation: cron, scheduledTime }, { kind: "OperationTest" });
  assert.deepEqual(root, {
    ...{ apiVersion: "ops.crossplane.io/v1alpha1", kind: "Operation" },
    metadata: { name: "nightly", labels: { a: "b" }, annotations: { "purlin.dev/scheduled-time": scheduledTime } },
    spec: { mode: "Pipeline", pipeline: [] },
  });
  const watched = await read({ operation: cron, watched: named("Pod", "p") }, { kind: "OperationTest" });
  assert.deepEqual(names(watched.others), ["p"]);
});

test("what a case is about must be one object", async () => {
  const pod = named("Pod", "p");
  await refused({}, "inputs: name either xr or claim");
  await refused({ xr, claim: xr }, "inputs: name either xr or claim");
  await refused({ xr: [] }, "inputs.xr: expected one object");
  await refused({ xr: [xr, xr] }, "inputs.xr: expected one object");
  await refused({ claim: [xr, xr] }, "inputs.claim: expected one object");
  await refused({}, "inputs: name the operation", { kind: "OperationTest" });
  await refused({ operation: pod }, "inputs: not an operation type: Pod/v1", { kind: "OperationTest" });
  await refused({ operation: pod, watched: [] }, "inputs.watched: expected one object", { kind: "OperationTest" });
});

test("values that are not objects are refused with what is expected", async () => {
  await refused({ xr: 5 }, "inputs.xr: expected a file, a folder, an object or a list of these");
  await refused({ xr, required: [true] }, "inputs.required: expected a file, a folder, an object or a list of these");
  await refused({ xr, context: "text" }, "inputs.context: expected an object");
  await refused({ xr }, "patch: expected an object or a list of JSON patch operations", { patches: ["size"] });
  const lines = crossplaneLines.join(", ");
  await refused({ xr, asCrossplane: "v0.1" }, `inputs.asCrossplane: expected one of ${lines}, not "v0.1"`);
  const [line = ""] = crossplaneLines;
  assert.equal((await read({ xr, asCrossplane: line })).asCrossplane, line);
});

test("a file that cannot be read is an error of the case", async () => {
  using folder = tempFolder();
  const io = new TestIo({ cwd: folder.path });
  await assert.rejects(read({ xr: "none.yaml" }, {}, io), {
    message: /^app\.test\.yaml:6:5: case "small": .*none\.yaml.*/,
    exitCode: 2,
  });
});

test("a file is read once, however many cases name it", async () => {
  using folder: TempFolder = tempFolder({ "xr.yaml": "apiVersion: acme.org/v1\nkind: App\nmetadata: {name: shop}\n" });
  const reader = new InputReader(new TestIo({ cwd: folder.path }), new CaseOutputs());
  const first = await reader.read(testCase({ inputs: { xr: "xr.yaml" } }));
  rmSync(join(folder.path, "xr.yaml"));
  const second = await reader.read(testCase({ inputs: { xr: "./xr.yaml" } }));
  assert.deepEqual(second.root, first.root);
});

test("packages among schemas are noted once for each test file", async () => {
  const io = new TestIo();
  const reader = new InputReader(io, new CaseOutputs());
  const schemas = ["Provider", "Provider", "Configuration"].map((kind) =>
    named(kind, "p", "meta.pkg.crossplane.io/v1"),
  );
  await reader.read(testCase({ inputs: { xr, schemas } }));
  await reader.read(testCase({ inputs: { xr, schemas } }));
  await reader.read(testCase({ inputs: { xr }, file: "b.test.yaml" }));
  assert.equal(
    io.stderr.text,
    "note: app.test.yaml: schemas of packages are not fetched, and resources of their kinds are not validated: Provider p, Configuration p\n",
  );
});

test("a case of xprin takes outputs of cases above, and its context from files", async () => {
  using folder = tempFolder({ "env.json": '{"region": "eu"}', "empty.yaml": "" });
  const outputs = new CaseOutputs();
  const xprin = { id: "first", isValidated: false, hooks: undefined, contextFiles: {} };
  const first = testCase({ xprin: { ...xprin, outputOf: () => undefined } });
  outputs.expect(first);
  outputs.ended(first, [xr as KubeObject]);
  const second = testCase({
    inputs: { xr: "(first)", context: { a: 1 } },
    xprin: {
      ...xprin,
      contextFiles: { env: "env.json", none: "empty.yaml" },
      outputOf: (text) => (text === "(first)" ? { test: "first", what: "xr" } : undefined),
    },
  });
  const found = await new InputReader(new TestIo({ cwd: folder.path }), outputs).read(second);
  assert.deepEqual(found.root, xr);
  assert.deepEqual(found.context, { a: 1, env: { region: "eu" }, none: null });
});

test("members that are null stay in what xprin renders as it is, and nowhere else", async () => {
  using folder = tempFolder({
    "xr.yaml": "apiVersion: acme.org/v1\nkind: App\nmetadata: {name: a}\nspec: {size: null}\n",
  });
  const io = new TestIo({ cwd: folder.path });
  const xprin = { id: undefined, isValidated: false, hooks: undefined, contextFiles: {}, outputOf: () => undefined };
  const inputs = { xr: "xr.yaml", required: "xr.yaml" };
  const found = await read(inputs, { xprin }, io);
  assert.deepEqual([found.root["spec"], found.others[0]?.["spec"]], [{ size: null }, {}]);
  assert.deepEqual((await read(inputs, {}, io)).root["spec"], {});
});

test("a JSON patch that does not apply is an error of the case", () => {
  assert.throws(() => patched(xr as KubeObject, [{ op: "remove", path: "/spec/none" }], testCase()), {
    message: /^app\.test\.yaml:6:5: case "small": patch: /,
  });
});

test("a kind that no file defines is served with any field, in the scope of the case", () => {
  const { metadata, spec } = permissiveCrd({ apiVersion: "db.acme.org/v1beta1", kind: "Bucket" }, true);
  const { versions, ...others } = spec as JsonObject;
  assert.equal(metadata.name, "buckets.db.acme.org");
  assert.deepEqual(others, {
    group: "db.acme.org",
    scope: "Namespaced",
    names: { kind: "Bucket", plural: "buckets", singular: "bucket", listKind: "BucketList" },
  });
  assert.equal((versions as JsonObject[])[0]?.["name"], "v1beta1");
  assert.equal((permissiveCrd({ apiVersion: "a/v1", kind: "B" }, false)["spec"] as JsonObject)["scope"], "Cluster");
});

test("a definition that is missing has the scope and version that the composite resource shows", () => {
  const scopes = (object: JsonObject): unknown[] => {
    const { apiVersion, spec } = permissiveDefinition(object as KubeObject);
    return [apiVersion, (spec as JsonObject)["scope"]];
  };
  const v1 = "apiextensions.crossplane.io/v1";
  const v2 = "apiextensions.crossplane.io/v2";
  assert.deepEqual(scopes(xr), [v1, "LegacyCluster"]);
  assert.deepEqual(scopes({ ...xr, metadata: { name: "a", namespace: "n" } }), [v2, "Namespaced"]);
  assert.deepEqual(scopes({ ...xr, spec: { crossplane: {} } }), [v2, "Cluster"]);
  assert.deepEqual(scopes({ ...named("App", "a", "acme.org/v1") }), [v1, "LegacyCluster"]);
});

test("a definition for a claim is of the composite kind, and has the claim's names", () => {
  const claim = { ...xr, metadata: { name: "shop", namespace: "a" } } as KubeObject;
  const definition = permissiveClaimDefinition(claim, "XApp");
  const { names: composite, claimNames, scope } = definition["spec"] as JsonObject;
  assert.deepEqual(
    [definition.metadata.name, composite, claimNames, scope],
    ["xapps.acme.org", { kind: "XApp", plural: "xapps" }, { kind: "App", plural: "apps" }, "LegacyCluster"],
  );
  assert.ok(defines(definition, { apiVersion: "acme.org/v2", kind: "XApp" }), "any version of the group");
  assert.ok(defines(definition, { apiVersion: "acme.org/v1", kind: "App" }));
  assert.ok(!defines(definition, { apiVersion: "acme.org/v1", kind: "Database" }));
  assert.ok(!defines(definition, { apiVersion: "other.org/v1", kind: "App" }));
});
