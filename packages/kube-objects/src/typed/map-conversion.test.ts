// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import { finish } from "@purlin/base";
import type { JsonObject } from "../json/json-value.ts";
import { requireConvertible } from "./map-conversion.ts";
import { TypedFormError } from "./special-forms.ts";

const configMap = (more: JsonObject): JsonObject => ({ apiVersion: "v1", kind: "ConfigMap", metadata: {}, ...more });
const deployment = (spec: JsonObject): JsonObject => ({
  apiVersion: "apps/v1",
  kind: "Deployment",
  metadata: {},
  spec,
});
const container = (more: JsonObject): JsonObject =>
  deployment({ template: { spec: { containers: [{ name: "main", ...more }] } } });

// Answers of kube-apiserver 1.36.3 to strategic merge patches.
const refused: readonly (readonly [reason: string, object: JsonObject, message: string])[] = [
  ["an integer is not a text", configMap({ data: { c: 3 } }), "cannot convert int64 to string"],
  ["nor is a boolean", configMap({ data: { c: true } }), "unrecognized type: string"],
  ["nor a fraction, which Go has no conversion for", configMap({ data: { c: 1.5 } }), "unrecognized type: string"],
  ["nor an object", configMap({ data: { c: {} } }), "unrecognized type: string"],
  ["a list is not a map", configMap({ data: [] }), "cannot restore map from slice"],
  ["a string is not a map", configMap({ data: "x" }), "cannot restore map from string"],
  ["a string is not a struct", configMap({ metadata: "x" }), "cannot restore struct from: string"],
  ["a list is not a struct", configMap({ metadata: [] }), "cannot restore struct from: slice"],
  ["types have names of their own", configMap({ metadata: { uid: 7 } }), "cannot convert int64 to types.UID"],
  ["a string is not a number", configMap({ metadata: { generation: "x" } }), "unrecognized type: int64"],
  ["items of lists too", configMap({ metadata: { finalizers: [1] } }), "cannot convert int64 to string"],
  ["a number is not a boolean", configMap({ immutable: 1 }), "unrecognized type: bool"],
  ["bytes are written as text", configMap({ binaryData: { a: 1 } }), "cannot restore slice from int64"],
  ["a pointer is reported as the type it points to", deployment({ replicas: "x" }), "unrecognized type: int32"],
  ["a fraction is not an integer", deployment({ replicas: 1.5 }), "cannot convert float64 to int32"],
  ["an item of a merged list", container({ imagePullPolicy: 3 }), "cannot convert int64 to v1.PullPolicy"],
  [
    "a string is not a list",
    deployment({ template: { spec: { containers: "x" } } }),
    "cannot restore slice from string",
  ],
  ["an object is not a list", deployment({ template: { spec: { containers: {} } } }), "cannot restore slice from map"],
  [
    "a quantity is read by its own rules",
    container({ resources: { limits: { cpu: "x" } } }),
    "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'",
  ],
];

for (const [reason, object, message] of refused) {
  test(`conversion of a map: ${reason}`, () => {
    assert.throws(
      () => finish(requireConvertible(object)),
      (error) => {
        assert.ok(error instanceof TypedFormError);
        assert.equal(error.message, message);
        return true;
      },
    );
  });
}

test("conversion of a map: what fits, null and unknown fields pass", () => {
  finish(requireConvertible(configMap({ data: { a: "x", b: null }, immutable: true, nope: 1 })));
  finish(requireConvertible(deployment({ replicas: 2, paused: null, template: { spec: { containers: null } } })));
  finish(requireConvertible(container({ ports: [{ containerPort: 80, protocol: "TCP" }], image: "x" })));
});
