// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { after, test } from "node:test";
import type { JsonObject } from "@purlin/kube-objects/json";
import type { KubeObject } from "@purlin/kube-objects/object";
import type { Manifest } from "../manifests/manifest.ts";
import { startScratchServer } from "./kind-schemas.ts";
import { patchFindings } from "./patch-findings.ts";
import { stepsOf } from "./pipeline-step.ts";

const scratch = await startScratchServer();
after(() => scratch[Symbol.asyncDispose]());

const text = { type: "string" };
const number = { type: "integer" };
const crd = (kind: string, spec: JsonObject, status: JsonObject = {}): KubeObject => ({
  ...{ apiVersion: "apiextensions.k8s.io/v1", kind: "CustomResourceDefinition" },
  metadata: { name: `${kind.toLowerCase()}s.acme.org` },
  spec: {
    group: "acme.org",
    scope: "Namespaced",
    names: { kind, plural: `${kind.toLowerCase()}s` },
    versions: [
      {
        ...{ name: "v1", served: true, storage: true },
        schema: {
          openAPIV3Schema: { type: "object", properties: { spec, status: { type: "object", properties: status } } },
        },
      },
    ],
  },
});
await scratch.define([
  crd("App", {
    type: "object",
    required: ["size", "db"],
    properties: {
      size: text,
      count: number,
      zone: { type: "string", default: "a" },
      image: text,
      db: { type: "object", required: ["name"], properties: { name: text, version: text } },
      cache: { type: "object", default: {}, properties: { size: text } },
      ports: { type: "array", items: number },
    },
  }),
  crd(
    "Box",
    {
      type: "object",
      required: ["size"],
      properties: {
        size: text,
        count: number,
        ratio: { type: "number" },
        either: { "x-kubernetes-int-or-string": true },
        list: { type: "array", items: { type: "object", properties: { port: number } } },
      },
    },
    { ip: text, n: number },
  ),
]);

const box = (spec: JsonObject = { size: "s" }): JsonObject => ({ apiVersion: "acme.org/v1", kind: "Box", spec });

interface Input {
  readonly base?: JsonObject;
  readonly more?: JsonObject;
  readonly sets?: JsonObject[];
  readonly kind?: string;
}

/** The findings of a Composition of one resource with patches: path below the input, and text. */
async function found(
  patches: JsonObject[],
  { base = box(), more = {}, sets = [], kind = "App" }: Input = {},
): Promise<string[]> {
  const resources = [{ name: "box", base, patches, ...more }];
  const input = { apiVersion: "pt.fn.crossplane.io/v1beta1", kind: "Resources", patchSets: sets, resources };
  const object: KubeObject = {
    ...{ apiVersion: "apiextensions.crossplane.io/v1", kind: "Composition", metadata: { name: "apps" } },
    spec: {
      compositeTypeRef: { apiVersion: "acme.org/v1", kind },
      pipeline: [{ step: "pt", functionRef: { name: "function-patch-and-transform" }, input }],
    },
  };
  const manifest: Manifest = { object, file: "c.yaml", at: () => "c.yaml:1:1" };
  const [step] = stepsOf(manifest);
  assert.ok(step);
  const findings = await patchFindings(step, { manifests: [manifest], packages: [], scratch });
  return findings.map(({ level, code, path, text: line }) => {
    assert.equal(code, "V10");
    return `${level} ${path.slice(4).join(".")}: ${line}`;
  });
}

test("patches whose ends exist and have the same type are right", async () => {
  assert.deepEqual(
    await found([
      { fromFieldPath: "spec.size", toFieldPath: "spec.size" },
      { type: "FromCompositeFieldPath", fromFieldPath: "spec.count" },
      { fromFieldPath: "spec.count", toFieldPath: "spec.ratio" },
      { fromFieldPath: "spec.count", toFieldPath: "spec.either" },
      { fromFieldPath: "spec.ports[0]", toFieldPath: "spec.list[0].port" },
      { fromFieldPath: "metadata.labels[team]", toFieldPath: "metadata.annotations[acme.org/team]" },
      { type: "ToCompositeFieldPath", fromFieldPath: "status.ip", toFieldPath: "metadata.annotations.ip" },
      { type: "FromEnvironmentFieldPath", fromFieldPath: "anything.at[0].all", toFieldPath: "spec.count" },
      { type: "ToEnvironmentFieldPath", fromFieldPath: "spec.count", toFieldPath: "anything" },
    ]),
    [],
  );
});

test("a field that an end does not have is named, with the closest one", async () => {
  assert.deepEqual(
    await found([
      { fromFieldPath: "spec.sise", toFieldPath: "spec.size" },
      { fromFieldPath: "spec.size", toFieldPath: "spec.siz" },
      { fromFieldPath: "spec.image" },
      { type: "ToCompositeFieldPath", fromFieldPath: "status.ipp", toFieldPath: "spec.unlikely" },
    ]),
    [
      'error resources.0.patches.0.fromFieldPath: step "pt": spec.sise: App has no field sise: did you mean size?',
      'error resources.0.patches.1.toFieldPath: step "pt": spec.siz: Box has no field siz: did you mean size?',
      'error resources.0.patches.2.fromFieldPath: step "pt": spec.image: Box has no field image',
      'error resources.0.patches.3.fromFieldPath: step "pt": status.ipp: Box has no field ipp: did you mean ip?',
      'error resources.0.patches.3.toFieldPath: step "pt": spec.unlikely: App has no field unlikely',
    ],
  );
});

test("values of another type need a transform, and its result counts", async () => {
  const patch = { fromFieldPath: "spec.count", toFieldPath: "spec.size" };
  assert.deepEqual(await found([patch]), [
    'error resources.0.patches.0.transforms: step "pt": spec.count is an integer here, and spec.size of Box is a string: add a transform of type convert',
  ]);
  const convert = (toType: string): JsonObject => ({
    ...patch,
    transforms: [{ type: "convert", convert: { toType } }],
  });
  assert.deepEqual(await found([convert("string")]), []);
  assert.deepEqual(await found([convert("bool")]), [
    'error resources.0.patches.0.transforms: step "pt": spec.count is a boolean here, and spec.size of Box is a string: add a transform of type convert',
  ]);
  assert.deepEqual(
    await found([{ ...patch, transforms: [{ type: "map", map: {} }] }]),
    [],
    "what a map gives is not known",
  );
});

test("combined patches: every variable exists, and the result is a string", async () => {
  const combine = (...fields: string[]): JsonObject => ({
    type: "CombineFromComposite",
    combine: {
      strategy: "string",
      variables: fields.map((fromFieldPath) => ({ fromFieldPath })),
      string: { fmt: "%s" },
    },
    toFieldPath: "spec.count",
  });
  assert.deepEqual(await found([combine("spec.size", "spec.nope")]), [
    'error resources.0.patches.0.combine.variables.1.fromFieldPath: step "pt": spec.nope: App has no field nope',
  ]);
  assert.deepEqual(await found([combine("spec.count", "spec.size")]), [
    'error resources.0.patches.0.transforms: step "pt": spec.count is a string here, and spec.count of Box is an integer: add a transform of type convert',
  ]);
});

test("kinds without a schema are not checked", async () => {
  const base = { apiVersion: "other.org/v1", kind: "Thing" };
  assert.deepEqual(await found([{ fromFieldPath: "spec.size", toFieldPath: "spec.any" }], { base }), []);
  assert.deepEqual(await found([{ fromFieldPath: "spec.any", toFieldPath: "spec.size" }], { kind: "Unknown" }), []);
});

test("patch sets: each exists, refers to no other, and its faults are reported once", async () => {
  const use = (patchSetName: string): JsonObject => ({ type: "PatchSet", patchSetName });
  const sets = [
    { name: "common", patches: [{ fromFieldPath: "spec.nope", toFieldPath: "spec.size" }] },
    { name: "outer", patches: [use("common")] },
  ];
  assert.deepEqual(await found([use("common"), use("common"), use("outer"), use("missing")], { sets }), [
    'error patchSets.1.patches.0.type: step "pt": a patch set cannot refer to another patch set',
    'error resources.0.patches.3.patchSetName: step "pt": no patch set "missing"; defined: common, outer',
    'error patchSets.0.patches.0.fromFieldPath: step "pt": spec.nope: App has no field nope',
  ]);
  assert.deepEqual(await found([use("a")]), [
    'error resources.0.patches.0.patchSetName: step "pt": no patch set "a"; defined: none',
  ]);
  assert.deepEqual(await found([{ type: "PatchSet" }]), [
    'error resources.0.patches.0: step "pt": a patch of type PatchSet needs patchSetName',
  ]);
});

test("the shape of patches is reported at its place; a type that every object inherits is unknown", async () => {
  const [line, ...others] = await found([{ type: "constructor", fromFieldPath: "a" }]);
  assert.deepEqual(others, []);
  assert.match(
    line ?? "",
    /^error resources\.0\.patches\.0\.type: step "pt": unknown patch type constructor: expected one of /,
  );
});

const sized = "spec.size: Required value";
const optional = `${sized}, and only an optional patch sets it: set policy.fromFieldPath to Required, or make the field of the composite resource required`;

test("a required field of a base: missing, or set by a patch that every composite resource has a value for", async () => {
  const empty = { base: box({}) };
  const patch = (fromFieldPath: string, more: JsonObject = {}): JsonObject => ({
    fromFieldPath,
    toFieldPath: "spec.size",
    ...more,
  });
  const cases: readonly (readonly [name: string, patches: JsonObject[], findings: string[]])[] = [
    ["no patch", [], [`error resources.0.base.spec.size: ${sized}`]],
    ["a required field", [patch("spec.size")], []],
    ["a field with a default", [patch("spec.zone")], []],
    ["required all the way", [patch("spec.db.name")], []],
    ["metadata", [patch("metadata.name")], []],
    ["an optional field", [patch("spec.image")], [`warning resources.0.base.spec.size: ${optional}`]],
    [
      "an optional field below a required one",
      [patch("spec.db.version")],
      [`warning resources.0.base.spec.size: ${optional}`],
    ],
    [
      "an optional field below one with a default",
      [patch("spec.cache.size")],
      [`warning resources.0.base.spec.size: ${optional}`],
    ],
    ["with a policy", [patch("spec.image", { policy: { fromFieldPath: "Required" } })], []],
    ["two patches, one of them sure", [patch("spec.image"), patch("spec.size")], []],
    [
      "of the environment",
      [patch("region", { type: "FromEnvironmentFieldPath" })],
      [`warning resources.0.base.spec.size: ${optional}`],
    ],
    [
      "of the environment, with a policy",
      [patch("region", { type: "FromEnvironmentFieldPath", policy: { fromFieldPath: "Required" } })],
      [],
    ],
  ];
  for (const [name, patches, findings] of cases) {
    const lines = (await found(patches, empty)).map((line) => line.replace('step "pt": ', ""));
    assert.deepEqual(lines, findings, name);
  }
});

test("other faults of a base are reported where the base is", async () => {
  const [wrong, ...others] = await found([], { base: box({ size: "s", count: "many" }) });
  assert.deepEqual(others, []);
  assert.match(
    wrong ?? "",
    /^error resources\.0\.base\.spec\.count: .*Invalid value: "string": .*must be of type integer: "string"$/,
  );
  const [unknown] = await found([], { base: box({ size: "s", cuont: 1 }) });
  assert.equal(unknown, "error resources.0.base.spec.cuont: spec.cuont: unknown field: did you mean count?");
});

test("readiness checks need their fields", async () => {
  const checks = async (...readinessChecks: JsonObject[]): Promise<string[]> =>
    (await found([], { more: { readinessChecks } })).map((line) =>
      line.replace(/^error resources\.0\.(.*): step "pt": /, "$1 "),
    );
  assert.deepEqual(
    await checks(
      { type: "NonEmpty", fieldPath: "status.ip" },
      { type: "MatchString", fieldPath: "status.ip", matchString: "x" },
      { type: "MatchInteger", fieldPath: "status.n", matchInteger: 1 },
      { type: "MatchTrue", fieldPath: "status.ok" },
      { type: "MatchCondition", matchCondition: { type: "Ready", status: "True" } },
      { type: "None" },
    ),
    [],
  );
  assert.deepEqual(
    await checks({ type: "MatchString" }, { type: "MatchFalse" }, { type: "MatchCondition" }, { type: "toString" }),
    [
      "readinessChecks.0 readiness check MatchString needs fieldPath",
      "readinessChecks.0 readiness check MatchString needs matchString",
      "readinessChecks.1 readiness check MatchFalse needs fieldPath",
      "readinessChecks.2 readiness check MatchCondition needs matchCondition",
    ],
  );
});
