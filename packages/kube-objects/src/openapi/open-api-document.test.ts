// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import type { JsonObject } from "../json/json-value.ts";
import {
  isOpenAPIError,
  mergeOpenAPI,
  type OpenAPIDocument,
  OpenAPIError,
  openAPIPathKey,
  parseOpenAPIPathKey,
} from "./open-api-document.ts";

test("group-versions and their keys", () => {
  for (const [group, version, key] of [
    ["", "v1", "api/v1"],
    ["apps", "v1", "apis/apps/v1"],
    ["example.org", "v1alpha1", "apis/example.org/v1alpha1"],
  ] as const) {
    assert.equal(openAPIPathKey({ group, version }), key);
    assert.deepEqual(parseOpenAPIPathKey(key), { group, version });
  }
});

test("keys of other documents are not group-versions", () => {
  for (const key of [
    "",
    "api",
    "apis",
    "version",
    "apis/apps",
    "api/v1/x",
    "apis/a/b/c",
    "logs/x/y",
    "api/",
    "apis//v1",
  ]) {
    assert.equal(parseOpenAPIPathKey(key), undefined, key);
  }
});

const documentOf = (title: string, schemas: Record<string, JsonObject>, paths: JsonObject = {}): OpenAPIDocument => ({
  openapi: "3.0.0",
  info: { title, version: "v1" },
  paths,
  components: { schemas },
});

test("the first definition of a component or path stays, all come out sorted", () => {
  const first = documentOf("first", { b: { title: "1" }, c: {} }, { "/x": { a: 1 } });
  const second = documentOf("second", { a: {}, b: { title: "2" } }, { "/x": { a: 2 }, "/a": {} });
  const merged = mergeOpenAPI(first, second);
  assert.equal(merged.info.title, "first");
  assert.deepEqual(Object.entries(merged.components.schemas), [
    ["a", {}],
    ["b", { title: "1" }],
    ["c", {}],
  ]);
  assert.deepEqual(Object.entries(merged.paths), [
    ["/a", {}],
    ["/x", { a: 1 }],
  ]);
});

test("one document is itself, and none is changed", () => {
  const only = documentOf("only", { b: {}, a: {} });
  assert.equal(mergeOpenAPI(only), only);
  mergeOpenAPI(only, documentOf("x", { c: {} }));
  assert.deepEqual(Object.keys(only.components.schemas), ["b", "a"]);
});

test("a component with a special name does no harm", () => {
  const odd = documentOf("odd", JSON.parse('{"__proto__":{"type":"string"}}'));
  const merged = mergeOpenAPI(documentOf("first", {}), odd);
  assert.ok(Object.hasOwn(merged.components.schemas, "__proto__"));
  assert.equal(Object.getPrototypeOf(merged.components.schemas), Object.prototype);
});

test("an OpenAPIError is known by its brand, also from another copy of the package", () => {
  const cause = new Error("inner");
  const error = new OpenAPIError("outer", { cause });
  assert.ok(isOpenAPIError(error));
  assert.equal(error.cause, cause);
  assert.equal(error.name, "OpenAPIError");
  const foreign = Object.defineProperty(new Error("x"), Symbol.for("purlin.dev/kube-objects/OpenAPIError"), {
    value: true,
  });
  assert.ok(isOpenAPIError(foreign));
  for (const other of [new Error("x"), undefined, null, "x", {}]) assert.ok(!isOpenAPIError(other));
});
