// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import { fromJson, RunFunctionRequest, RunFunctionResponse } from "@purlin/function-protocol";
import type { JsonObject } from "@purlin/kube-objects/json";
import type { KubeObject } from "@purlin/kube-objects/object";
import { Coverage, type CoverageReport, coverageText } from "./coverage.ts";

const definition = (spec: JsonObject, names: JsonObject = {}): KubeObject => ({
  apiVersion: "apiextensions.crossplane.io/v2",
  kind: "CompositeResourceDefinition",
  metadata: { name: "apps.acme.org" },
  spec: {
    group: "acme.org",
    names: { kind: "App", plural: "apps" },
    ...names,
    versions: [{ name: "v1", schema: { openAPIV3Schema: { properties: { spec } } } }],
  },
});

const app = (spec: JsonObject): KubeObject => ({
  apiVersion: "acme.org/v1",
  kind: "App",
  metadata: { name: "a" },
  spec,
});

const composition = (pipeline: JsonObject[], name = "apps"): KubeObject => ({
  apiVersion: "apiextensions.crossplane.io/v1",
  kind: "Composition",
  metadata: { name },
  spec: { pipeline },
});

const patchStep = (resources: JsonObject[], more: JsonObject = {}): JsonObject => ({
  step: "patch",
  input: { apiVersion: "pt.fn.crossplane.io/v1beta1", kind: "Resources", resources, ...more },
});

const ofXr = (spec: JsonObject, more: JsonObject = {}): JsonObject => ({
  observed: { composite: { resource: { apiVersion: "acme.org/v1", kind: "App", spec } }, ...more },
});
const chosen = { crossplane: { compositionRef: { name: "apps" } } };
const root = app({});

interface Answered {
  readonly response?: JsonObject;
  readonly of?: KubeObject;
}

function run(coverage: Coverage, step: string, request: JsonObject, { response = {}, of = root }: Answered = {}): void {
  coverage.step(step, fromJson(RunFunctionRequest, request), {
    response: fromJson(RunFunctionResponse, response),
    root: of,
  });
}

const ownerOf = (report: CoverageReport, name: string): JsonObject => {
  const found = report.owners.find((one) => one.name === name);
  assert.ok(found, `${name} is not in ${report.owners.map((one) => one.name).join(", ")}`);
  return found as unknown as JsonObject;
};

test("without anything to cover, everything is covered", () => {
  assert.deepEqual(new Coverage().report(), { percent: 100, covered: 0, total: 0, owners: [], conditions: [] });
});

test("the fields of a definition are its leaves, also those in lists, without those that Crossplane adds", () => {
  const coverage = new Coverage();
  const schema = {
    properties: {
      size: { type: "string", enum: ["s", "l"] },
      database: { properties: { name: { type: "string" }, version: { type: "integer", enum: [15, 16] } } },
      ports: { type: "array", items: { properties: { port: { type: "integer" } } } },
      zones: { type: "array", items: { type: "string", enum: ["a"] } },
      labels: { type: "object", additionalProperties: { type: "string" } },
      crossplane: { properties: { compositionRef: { type: "object" } } },
    },
  };
  coverage.expect([], [definition(schema)]);
  assert.deepEqual(ownerOf(coverage.report(), "App.acme.org"), {
    name: "App.acme.org",
    fields: {
      covered: 0,
      total: 6,
      missing: [
        "spec.size",
        "spec.database.name",
        "spec.database.version",
        "spec.ports[].port",
        "spec.zones[]",
        "spec.labels",
      ],
    },
    enumValues: {
      covered: 0,
      total: 5,
      missing: ["spec.size=s", "spec.size=l", "spec.database.version=15", "spec.database.version=16", "spec.zones[]=a"],
    },
  });
  coverage.composite(
    app({ size: "l", database: { version: 16 }, ports: [{ port: 80 }, {}], zones: ["b", "a"], labels: { team: "x" } }),
  );
  const { fields, enumValues } = ownerOf(coverage.report(), "App.acme.org") as Record<string, JsonObject>;
  assert.deepEqual(fields?.["missing"], ["spec.database.name"]);
  assert.deepEqual(enumValues?.["missing"], ["spec.size=s", "spec.database.version=15"]);
});

test("an empty list covers no field of its items, a schema without properties has no fields", () => {
  const coverage = new Coverage();
  coverage.expect([], [definition({ properties: { zones: { items: { type: "string" } } } })]);
  coverage.composite(app({ zones: [] }));
  assert.deepEqual(coverage.report().percent, 0);
  const free = new Coverage();
  free.expect([], [definition({ type: "object", "x-kubernetes-preserve-unknown-fields": true })]);
  free.composite(app({ any: 1 }));
  assert.deepEqual(free.report(), {
    percent: 100,
    covered: 0,
    total: 0,
    owners: [{ name: "App.acme.org" }],
    conditions: [],
  });
});

test("a claim covers the fields of its composite resource; other groups and kinds do not", () => {
  const claims = { names: { kind: "XApp", plural: "xapps" }, claimNames: { kind: "App", plural: "apps" } };
  const coverage = new Coverage();
  coverage.expect([], [definition({ properties: { size: { type: "string" } } }, claims)]);
  coverage.composite({ apiVersion: "other.org/v1", kind: "App", metadata: {}, spec: { size: "s" } });
  coverage.composite({ apiVersion: "acme.org/v1", kind: "Database", metadata: {}, spec: { size: "s" } });
  assert.equal(coverage.report().covered, 0);
  coverage.composite(app({ size: "s" }));
  assert.deepEqual(ownerOf(coverage.report(), "XApp.acme.org")["fields"], { covered: 1, total: 1, missing: [] });
});

test("a composite resource without a spec covers nothing", () => {
  const coverage = new Coverage();
  coverage.expect([], [definition({ properties: { size: { type: "string" } } })]);
  coverage.composite({ apiVersion: "acme.org/v1", kind: "App", metadata: {} });
  assert.equal(coverage.report().covered, 0);
});

test("a step that ran is covered, in the Composition that the composite resource names", () => {
  const coverage = new Coverage();
  const steps = [{ step: "compose" }, { step: "ready" }];
  coverage.expect([composition(steps), composition(steps, "others")], []);
  run(coverage, "compose", ofXr(chosen));
  run(coverage, "ready", ofXr({ compositionRef: { name: "others" } }));
  run(coverage, "unknown", ofXr(chosen));
  run(coverage, "ready", ofXr({}));
  const report = coverage.report();
  assert.deepEqual(ownerOf(report, "Composition apps")["steps"], { covered: 1, total: 2, missing: ["ready"] });
  assert.deepEqual(ownerOf(report, "Composition others")["steps"], { covered: 1, total: 2, missing: ["compose"] });
  assert.equal(report.percent, 50);
});

test("the steps of an Operation are covered by calls without a composite resource", () => {
  const operation = { ...composition([{ step: "restart" }], "ops"), kind: "Operation" };
  const coverage = new Coverage();
  coverage.expect([operation], []);
  run(coverage, "restart", {}, { of: { ...operation, metadata: { name: "another" } } });
  assert.equal(coverage.report().covered, 0);
  run(coverage, "restart", {}, { of: operation });
  assert.deepEqual(ownerOf(coverage.report(), "Operation ops")["steps"], { covered: 1, total: 1, missing: [] });
});

test("a pipeline that several cases have is counted once, and keeps what is covered", () => {
  const coverage = new Coverage();
  coverage.expect([composition([{ step: "compose" }])], []);
  run(coverage, "compose", ofXr(chosen));
  coverage.expect([composition([{ step: "compose" }])], []);
  coverage.expect([composition([{ step: "compose" }, { step: "more" }])], []);
  assert.deepEqual(ownerOf(coverage.report(), "Composition apps")["steps"], {
    covered: 1,
    total: 2,
    missing: ["more"],
  });
});

test("resources are those that patch-and-transform names, and are covered when a function desires them", () => {
  const coverage = new Coverage();
  const other = {
    step: "template",
    input: { apiVersion: "gotemplating.fn.crossplane.io/v1beta1", kind: "GoTemplate" },
  };
  coverage.expect([composition([patchStep([{ name: "web" }, { name: "db" }]), other])], []);
  run(coverage, "patch", ofXr(chosen), { response: { desired: { resources: { web: {}, "of-a-template": {} } } } });
  assert.deepEqual(ownerOf(coverage.report(), "Composition apps")["resources"], {
    covered: 1,
    total: 2,
    missing: ["db"],
  });
});

/** Which patches of a resource are covered by one step. */
function coveredPatches(patches: JsonObject[], request: JsonObject, more: JsonObject = {}): string[] {
  const coverage = new Coverage();
  coverage.expect([composition([patchStep([{ name: "web", patches }], more)])], []);
  const all = ownerOf(coverage.report(), "Composition apps")["patches"] as JsonObject;
  run(coverage, "patch", request);
  const { missing } = ownerOf(coverage.report(), "Composition apps")["patches"] as JsonObject;
  return (all["missing"] as string[]).filter((one) => !(missing as string[]).includes(one));
}

test("a patch is covered when the object that it reads has the field", () => {
  const web = { resources: { web: { resource: { status: { ip: "10.0.0.1" } } } } };
  const environment = { context: { "apiextensions.crossplane.io/environment": { region: "eu" } } };
  const cases: readonly (readonly [name: string, patch: JsonObject, request: JsonObject, covered: string[]])[] = [
    [
      "from the composite",
      { fromFieldPath: "spec.size" },
      ofXr({ ...chosen, size: "s" }),
      ["web: spec.size -> spec.size"],
    ],
    ["a field that is absent", { fromFieldPath: "spec.size" }, ofXr(chosen), []],
    [
      "a field that is null",
      { fromFieldPath: "spec.size" },
      ofXr({ ...chosen, size: null }),
      ["web: spec.size -> spec.size"],
    ],
    [
      "an item of a list",
      { type: "FromCompositeFieldPath", fromFieldPath: "spec.zones[1]", toFieldPath: "spec.zone" },
      ofXr({ ...chosen, zones: ["a", "b"] }),
      ["web: spec.zones[1] -> spec.zone"],
    ],
    ["an item beyond the list", { fromFieldPath: "spec.zones[1]" }, ofXr({ ...chosen, zones: ["a"] }), []],
    [
      "to the composite, of the observed resource",
      { type: "ToCompositeFieldPath", fromFieldPath: "status.ip", toFieldPath: "status.address" },
      ofXr(chosen, web),
      ["web: status.ip -> status.address"],
    ],
    [
      "to the composite, nothing observed",
      { type: "ToCompositeFieldPath", fromFieldPath: "spec.size" },
      ofXr({ ...chosen, size: "s" }),
      [],
    ],
    [
      "from the environment",
      { type: "FromEnvironmentFieldPath", fromFieldPath: "region", toFieldPath: "spec.region" },
      { ...ofXr(chosen), ...environment },
      ["web: region -> spec.region"],
    ],
    [
      "from an environment that is not there",
      { type: "FromEnvironmentFieldPath", fromFieldPath: "region" },
      ofXr(chosen),
      [],
    ],
    [
      "to the environment, of the observed resource",
      { type: "ToEnvironmentFieldPath", fromFieldPath: "status.ip", toFieldPath: "ip" },
      { ...ofXr(chosen, web), ...environment },
      ["web: status.ip -> ip"],
    ],
    [
      "combined, all variables",
      {
        type: "CombineFromComposite",
        combine: { variables: [{ fromFieldPath: "spec.a" }, { fromFieldPath: "spec.b" }] },
        toFieldPath: "x",
      },
      ofXr({ ...chosen, a: 1, b: 2 }),
      ["web: spec.a, spec.b -> x"],
    ],
    [
      "combined, one variable is absent",
      {
        type: "CombineFromComposite",
        combine: { variables: [{ fromFieldPath: "spec.a" }, { fromFieldPath: "spec.b" }] },
        toFieldPath: "x",
      },
      ofXr({ ...chosen, a: 1 }),
      [],
    ],
  ];
  for (const [name, patch, request, covered] of cases)
    assert.deepEqual(coveredPatches([patch], request), covered, name);
});

test("the patches of a patch set belong to each resource that uses it", () => {
  const sets = {
    patchSets: [{ name: "common", patches: [{ fromFieldPath: "spec.team", toFieldPath: "metadata.labels.team" }] }],
  };
  const uses = [
    { type: "PatchSet", patchSetName: "common" },
    { type: "PatchSet", patchSetName: "missing" },
  ];
  assert.deepEqual(coveredPatches(uses, ofXr({ ...chosen, team: "x" }), sets), [
    "web: spec.team -> metadata.labels.team",
  ]);
});

test("two patches between the same fields in both directions are two patches", () => {
  const coverage = new Coverage();
  const both = ["FromCompositeFieldPath", "ToCompositeFieldPath"].map((type) => ({ type, fromFieldPath: "spec.size" }));
  coverage.expect([composition([patchStep([{ name: "web", patches: both }])])], []);
  run(coverage, "patch", ofXr({ ...chosen, size: "s" }));
  assert.deepEqual(ownerOf(coverage.report(), "Composition apps")["patches"], {
    covered: 1,
    total: 2,
    missing: ["web: spec.size -> spec.size (ToCompositeFieldPath)"],
  });
});

test("conditions of functions are reported once, sorted, with their status in words", () => {
  const coverage = new Coverage();
  const conditions = [
    { type: "Ready", status: "STATUS_CONDITION_TRUE", reason: "Done" },
    { type: "Database", status: "STATUS_CONDITION_FALSE", reason: "Missing" },
    { type: "Cache", reason: "Unset" },
    { type: "Cache", status: "STATUS_CONDITION_UNKNOWN", reason: "Unset" },
  ];
  run(coverage, "compose", ofXr(chosen), { response: { conditions } });
  run(coverage, "compose", ofXr(chosen), { response: { conditions: conditions.slice(0, 1) } });
  assert.deepEqual(coverage.report().conditions, ["Cache=Unknown Unset", "Database=False Missing", "Ready=True Done"]);
});

test("the percentage is cut after one digit, so that 100 % means everything", () => {
  const coverage = new Coverage();
  const steps = Array.from({ length: 3000 }, (_, index) => ({ step: `s${index}` }));
  coverage.expect([composition(steps)], []);
  for (const { step } of steps.slice(1)) run(coverage, step, ofXr(chosen));
  assert.deepEqual([coverage.report().percent, coverage.report().covered], [99.9, 2999]);
});

test("the report in words has a line for each owner, what is missing, and the conditions", () => {
  const report: CoverageReport = {
    percent: 62.5,
    covered: 5,
    total: 8,
    owners: [
      {
        name: "Composition apps",
        steps: { covered: 1, total: 1, missing: [] },
        patches: { covered: 1, total: 3, missing: ["a", "b"] },
      },
      { name: "Empty.acme.org" },
      { name: "App.acme.org", enumValues: { covered: 3, total: 4, missing: ["spec.size=l"] } },
    ],
    conditions: ["A=True B", "C=False D"],
  };
  assert.equal(
    coverageText(report),
    `Coverage: 62.5 % (5 of 8)
  Composition apps: 1 of 1 steps, 1 of 3 patches
    patches without a case: a, b
  App.acme.org: 3 of 4 enum values
    enum values without a case: spec.size=l
  conditions of functions: A=True B, C=False D
`,
  );
});

test("ten missing names are shown in full, of more the number", () => {
  const names = Array.from({ length: 12 }, (_, index) => `n${index}`);
  const line = (missing: string[]): string | undefined =>
    coverageText({
      ...{ percent: 0, covered: 0, total: missing.length, conditions: [] },
      owners: [{ name: "x", fields: { covered: 0, total: missing.length, missing } }],
    }).split("\n")[2];
  const ten = names.slice(0, 10).join(", ");
  assert.equal(line(names.slice(0, 10)), `    fields without a case: ${ten}`);
  assert.equal(line(names.slice(0, 11)), `    fields without a case: ${ten}, and 1 more`);
  assert.equal(line(names), `    fields without a case: ${ten}, and 2 more`);
});
