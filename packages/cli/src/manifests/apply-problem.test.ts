// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import { badRequest, conflict, invalid, invalidValue, notFound, requiredValue } from "@purlin/kube-objects/errors";
import type { JsonObject } from "@purlin/kube-objects/json";
import type { KubeObject } from "@purlin/kube-objects/object";
import {
  applyProblems,
  definitionProblems,
  nameOf,
  objectProblems,
  pathText,
  unknownFields,
  valueAt,
} from "./apply-problem.ts";
import type { Manifest } from "./manifest.ts";

const manifest = (object: JsonObject = {}, metadata: KubeObject["metadata"] = {}): Manifest => ({
  object: { apiVersion: "acme.org/v1", kind: "App", metadata: { name: "shop", ...metadata }, ...object },
  file: "app.yaml",
  at: (path = []) => `app.yaml(${path.join("/")})`,
});
const problems = (error: unknown, of = manifest()): string[] =>
  objectProblems(of, error).map(({ path, text }) => `${path.join("/")} | ${text}`);

test("each cause of a refusal is a problem at its field", () => {
  const error = invalid({ group: "acme.org", kind: "App" }, "shop", [
    requiredValue("spec.size"),
    invalidValue("spec.ports[0].number", 0, "must be positive"),
    invalidValue("metadata.annotations[a.b/c]", "x", "no"),
  ]);
  assert.deepEqual(problems(error), [
    "spec/size | spec.size: Required value",
    "spec/ports/0/number | spec.ports[0].number: Invalid value: 0: must be positive",
    'metadata/annotations/a.b/c | metadata.annotations[a.b/c]: Invalid value: "x": no',
  ]);
});

test("a refusal without fields is a problem of the object", () => {
  const error = invalid({ group: "acme.org", kind: "App" }, "shop", [requiredValue("<nil>")]);
  assert.deepEqual(problems(error), [` | App shop: ${error.message}`]);
  assert.deepEqual(problems(new Error("connection reset")), [" | App shop: connection reset"]);
  assert.deepEqual(problems("text", manifest({}, { namespace: "team" })), [" | App team/shop: text"]);
});

test("unknown fields of strict decoding and of server-side apply are found, each once", () => {
  const strict = badRequest('strict decoding error: unknown field "spec.siz", unknown field "spec.ports[1].nr"');
  assert.deepEqual(problems(strict), [
    "spec/siz | spec.siz: unknown field: check its name and indentation",
    "spec/ports/1/nr | spec.ports[1].nr: unknown field: check its name and indentation",
  ]);
  const object = { spec: { ports: [{ name: "a" }, { name: "b", nr: 1 }] } };
  const typed = badRequest(
    'failed to create typed patch object: errors:\n  .spec.ports[name="b"].nr: field not declared in schema\n  .spec.siz: field not declared in schema',
  );
  assert.deepEqual(problems(typed, manifest(object)), [
    'spec/ports/1/nr | .spec.ports[name="b"].nr: unknown field: check its name and indentation',
    "spec/siz | .spec.siz: unknown field: check its name and indentation",
  ]);
  assert.deepEqual(unknownFields("nothing of the kind"), []);
});

test("items of a list that share a key name the first one", () => {
  const object = { spec: { pipeline: [{ step: "a" }, { step: "b" }, { step: "a" }, { step: "a" }] } };
  const error = badRequest('failed to create typed patch object: .spec.pipeline: duplicate entries for key [step="a"]');
  assert.deepEqual(problems(error, manifest(object)), [
    'spec/pipeline/2/step | spec.pipeline[2].step: duplicate value "a", also used by spec.pipeline[0]: make it unique',
    'spec/pipeline/3/step | spec.pipeline[3].step: duplicate value "a", also used by spec.pipeline[0]: make it unique',
  ]);
});

test("keys of several fields are compared by all of them", () => {
  const ports = [
    { port: 80, protocol: "TCP" },
    { port: 80, protocol: "UDP" },
    { port: 80, protocol: "TCP" },
  ];
  const error = badRequest('.spec.ports: duplicate entries for key [port=80,protocol="TCP"]');
  assert.deepEqual(problems(error, manifest({ spec: { ports } })), [
    'spec/ports/2/port | spec.ports[2].port: duplicate value 80,protocol="TCP", also used by spec.ports[0]: make it unique',
  ]);
});

test("an item without its key says which field to add", () => {
  const error = badRequest(
    'failed to create typed patch object: .spec.pipeline: element 1: associative list with keys has an element that omits key field "step" (and doesn\'t have default value)',
  );
  assert.deepEqual(problems(error, manifest({ spec: { pipeline: [{ step: "a" }, {}] } })), [
    "spec/pipeline/1/step | spec.pipeline[1].step: required field is missing: give it a unique value",
  ]);
});

test("values of another type are reported without words of Go", () => {
  const error = badRequest(
    "failed to create typed patch object (apps): errors:\n  .spec.size: expected string, got &value.valueUnstructured{Value:5}\n  .spec.on: expected boolean, got map",
  );
  assert.deepEqual(problems(error), [
    "spec/size | spec.size: expected string, got 5",
    "spec/on | spec.on: expected boolean, got map",
  ]);
});

test("a namespace that does not exist is a problem of metadata.namespace", () => {
  const namespaces = { group: "", resource: "namespaces" };
  const inTeam = manifest({}, { namespace: "team" });
  assert.deepEqual(problems(notFound(namespaces, "team"), inTeam), [
    'metadata/namespace | App team/shop: namespace "team" does not exist: create it, or correct metadata.namespace',
  ]);
  assert.deepEqual(problems(notFound(namespaces, "other"), inTeam), [' | App team/shop: namespaces "other" not found']);
  assert.deepEqual(problems(notFound({ group: "acme.org", resource: "apps" }, "team"), inTeam), [
    ' | App team/shop: apps.acme.org "team" not found',
  ]);
});

test("a file that was saved from a server may mean another object", () => {
  const error = conflict({ group: "acme.org", resource: "apps" }, "shop", "uid mismatch");
  const text =
    "App shop: the stored object has another uid or resourceVersion: remove metadata.uid and metadata.resourceVersion from the file";
  assert.deepEqual(problems(error, manifest({}, { uid: "u" })), [`metadata/uid | ${text}`]);
  assert.deepEqual(problems(error, manifest({}, { resourceVersion: "5" })), [`metadata/resourceVersion | ${text}`]);
  assert.deepEqual(problems(error), [` | App shop: ${error.message}`]);
});

test("lines have the place of the field in the file", () => {
  const error = invalid({ group: "acme.org", kind: "App" }, "shop", [requiredValue("spec.size")]);
  assert.deepEqual(applyProblems(manifest(), error), ["app.yaml(spec/size): spec.size: Required value"]);
});

test("values and texts of paths", () => {
  const value = { a: [{ b: 1 }], "c.d": null };
  assert.equal(valueAt(value, ["a", 0, "b"]), 1);
  assert.equal(valueAt(value, ["c.d"]), null);
  for (const path of [["a", 1], ["a", "b"], ["a", 0, "b", "c"], ["x"], [0]])
    assert.equal(valueAt(value, path), undefined);
  assert.deepEqual(valueAt(value, []), value);
  assert.equal(valueAt(undefined, ["a"]), undefined);
  assert.deepEqual([pathText(["a", 0, "b"]), pathText([]), pathText([0])], ["a[0].b", "", "[0]"]);
  assert.equal(nameOf(manifest({}, { namespace: "team" })), "App team/shop");
});

test("misspelled keywords in the schemas of a definition are found in every version", () => {
  const version = (schema: JsonObject): JsonObject => ({ name: "v1", schema: { openAPIV3Schema: schema } });
  const definition = manifest({
    spec: {
      versions: [
        version({ type: "object", properties: { spec: { type: "object", requird: ["a"] } } }),
        version({ type: "object", completelyUnknownWord: 1 }),
        { name: "v3" },
        "not a version",
      ],
    },
  });
  const at = "spec/versions/0/schema/openAPIV3Schema/properties/spec/requird";
  assert.deepEqual(definitionProblems(definition), [
    `app.yaml(${at}): spec.versions[0].schema.openAPIV3Schema.properties.spec.requird: unknown schema keyword: did you mean required?`,
    "app.yaml(spec/versions/1/schema/openAPIV3Schema/completelyUnknownWord): spec.versions[1].schema.openAPIV3Schema.completelyUnknownWord: unknown schema keyword: check its name and indentation",
  ]);
  assert.deepEqual(definitionProblems(manifest()), []);
});
