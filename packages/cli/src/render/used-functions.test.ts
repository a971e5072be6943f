// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import type { JsonObject } from "@purlin/kube-objects/json";
import type { KubeObject } from "@purlin/kube-objects/object";
import type { Manifest } from "../manifests/manifest.ts";
import { isRevisionOf, revisionsIn, selectionOf, stepsOf, usedFunctions } from "./used-functions.ts";

const manifest = (object: JsonObject, file = "f.yaml"): Manifest => ({
  object: object as KubeObject,
  file,
  at: (path = []) => `${file}(${path.join("/")})`,
});
const fn = (name: string, annotations: Record<string, string> = {}, metadata: JsonObject = {}): Manifest =>
  manifest(
    { apiVersion: "pkg.crossplane.io/v1", kind: "Function", metadata: { name, annotations, ...metadata } },
    "functions.yaml",
  );
const revision = (name: string, labels: Record<string, string>, digest?: string): Manifest =>
  manifest({
    ...{ apiVersion: "pkg.crossplane.io/v1", kind: "FunctionRevision", metadata: { name, labels } },
    ...(digest && { spec: { digest } }),
  });
const composition = (...steps: JsonObject[]): Manifest =>
  manifest(
    { apiVersion: "apiextensions.crossplane.io/v1", kind: "Composition", metadata: {}, spec: { pipeline: steps } },
    "composition.yaml",
  );
const step = (name: string, functionName: string): JsonObject => ({ step: name, functionRef: { name: functionName } });
const served = { "render.crossplane.io/runtime": "Development" };
const ofPackage = (name: string): Record<string, string> => ({ "pkg.crossplane.io/package": name });

const used = (
  steps: readonly JsonObject[],
  files: { functions?: readonly Manifest[]; revisions?: readonly Manifest[]; annotations?: Record<string, string> },
) => usedFunctions({ composition: composition(...steps), functions: [], revisions: [], annotations: {}, ...files });

test("each Function of the pipeline is used once, in the order of its first step", () => {
  const functions = [fn("a", served), fn("b", served), fn("unused", served)];
  const found = used([step("1", "b"), step("2", "a"), step("3", "b")], { functions });
  assert.deepEqual(
    found.map(({ name }) => name),
    ["b", "a"],
  );
  assert.equal(found[0]?.development?.kind, "target");
});

test("a Function that is missing is an error at its step", () => {
  assert.throws(() => used([step("1", "a"), step("compose", "b")], { functions: [fn("a", served)] }), {
    message:
      'composition.yaml(spec/pipeline/1/functionRef/name): step "compose" uses function "b", which is not among FUNCTIONS: add it there',
  });
});

test("revisions will do without their Function, and a Function without an endpoint will do with revisions", () => {
  const revisions = [revision("a-1", ofPackage("a"))];
  assert.deepEqual(used([step("1", "a")], { revisions }), []);
  assert.deepEqual(
    used([step("1", "a")], { revisions, functions: [fn("a")] }).map(({ name, development }) => [name, development]),
    [["a", undefined]],
  );
  assert.throws(
    () => used([step("1", "a")], { functions: [fn("a")] }),
    /^UserError: functions\.yaml\(metadata\): Function "a" has no endpoint that render can call: /,
  );
});

test("annotations of the command line win over those of the file", () => {
  const target = "render.crossplane.io/runtime-development-target";
  const [one] = used([step("1", "a")], {
    functions: [fn("a", { ...served, [target]: "localhost:1" })],
    annotations: { [target]: "localhost:2" },
  });
  assert.deepEqual(one?.development?.kind === "target" && one.development.endpoint, "localhost:2");
});

test("an endpoint that is not one is an error at its annotation", () => {
  const target = "render.crossplane.io/runtime-development-target";
  assert.throws(() => used([step("1", "a")], { functions: [fn("a", { ...served, [target]: "not an address" })] }), {
    message: `functions.yaml(metadata/annotations/${target}): ${target}: expected host:port, such as localhost:9443, or unix:path, not "not an address"`,
  });
});

test("steps without a function, and what is not a pipeline, use nothing", () => {
  assert.deepEqual(used([{ step: "1" }, { step: "2", functionRef: {} }], {}), []);
  assert.deepEqual(stepsOf(manifest({ spec: { pipeline: "x" } })), []);
  assert.deepEqual(stepsOf(manifest({})), []);
  assert.deepEqual(
    stepsOf(composition(step("1", "a"))).map((one) => one.step),
    ["1"],
  );
});

test("a step chooses its revision by name, by labels or by image, in this order", () => {
  const of = (selection: object) => selectionOf(selection as Parameters<typeof selectionOf>[0]);
  assert.equal(of({}), undefined);
  assert.equal(of({ function: "x" }), "function");
  assert.equal(of({ function: "x", functionRevisionSelector: {} }), "functionRevisionSelector");
  assert.equal(of({ functionRevisionSelector: {}, functionRevisionRef: { name: "a" } }), "functionRevisionRef");
});

test("revisions in files are found by name, labels and digest", async () => {
  const files = [
    revision("a-1", { ...ofPackage("a"), channel: "stable" }, "sha256:1"),
    revision("a-2", ofPackage("a"), "sha256:2"),
    revision("b-1", ofPackage("b")),
  ];
  const revisions = revisionsIn(files);
  const { signal } = new AbortController();
  const names = (objects: readonly object[]): unknown[] => objects.map((one) => (one as KubeObject).metadata.name);
  assert.deepEqual((await revisions.get("a-2", signal)) ?? "none", files[1]?.object);
  assert.equal(await revisions.get("none", signal), undefined);
  assert.deepEqual(names(await revisions.list(new Map([["pkg.crossplane.io/package", "a"]]), signal)), ["a-1", "a-2"]);
  assert.deepEqual(
    names(
      await revisions.list(
        new Map([
          ["channel", "stable"],
          ["pkg.crossplane.io/package", "b"],
        ]),
        signal,
      ),
    ),
    [],
  );
  assert.deepEqual(names(await revisions.withDigest("sha256:2", signal)), ["a-2"]);
  assert.deepEqual(files.map(isRevisionOf("a")), [true, true, false]);
});
