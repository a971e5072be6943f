// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import { isStatusError } from "@purlin/kube-objects/errors";
import type { JsonObject } from "@purlin/kube-objects/json";
import { deepFreeze } from "@purlin/kube-objects/object";
import type { ScalePaths } from "../strategy/kind-rules.ts";
import { customScalePaths, noReplicas, replicasOf, toManagedScale, toScale, withScale } from "./scale-object.ts";

const scaleOf = (paths: JsonObject): JsonObject => ({ subresources: { scale: paths } });
const crd: JsonObject = deepFreeze({
  spec: {
    group: "example.org",
    versions: [
      {
        name: "v1",
        ...scaleOf({
          specReplicasPath: ".spec.replicas",
          statusReplicasPath: ".status.replicas",
          labelSelectorPath: ".status.selector",
        }),
      },
      { name: "v2", ...scaleOf({ specReplicasPath: ".spec.size.count", statusReplicasPath: ".status.count" }) },
      { name: "v3" },
    ],
  },
});

function pathsOf(version: string): ScalePaths {
  const paths = customScalePaths(crd, version);
  assert.ok(paths, `${version} has a scale`);
  return paths;
}

const metadata = {
  name: "a",
  namespace: "b",
  uid: "u",
  resourceVersion: "7",
  creationTimestamp: "2030-01-01T00:00:00Z",
};
const widget = (more: JsonObject = {}): JsonObject =>
  deepFreeze({
    apiVersion: "example.org/v1",
    kind: "Widget",
    metadata: { ...metadata, labels: { x: "y" } },
    spec: { replicas: 3, other: true },
    status: { replicas: 2, selector: "app=a" },
    ...more,
  });

test("a Scale has the identity of its object, its counts and its selector", () => {
  assert.deepEqual(toScale(widget(), pathsOf("v1")), {
    kind: "Scale",
    apiVersion: "autoscaling/v1",
    metadata,
    spec: { replicas: 3 },
    status: { replicas: 2, selector: "app=a" },
  });
});

test("members that the object does not have are left out; the count of its status is 0", () => {
  const object = widget({ metadata: { name: "a" }, spec: { replicas: 0 }, status: {} });
  const { metadata: meta, spec, status } = toScale(object, pathsOf("v1"));
  assert.deepEqual([meta, spec, status], [{ name: "a" }, {}, { replicas: 0 }]);
});

test("a version without a path for the selector shows none", () => {
  const object = widget({ spec: { size: { count: 4 } }, status: { count: 1, selector: "app=a" } });
  const { spec, status } = toScale(object, pathsOf("v2"));
  assert.deepEqual([spec, status], [{ replicas: 4 }, { replicas: 1 }]);
});

test("a writer sees the smallest number where the object has no count", () => {
  assert.equal(noReplicas, -2147483648);
  assert.equal(replicasOf(toManagedScale(widget({ spec: {} }), pathsOf("v1"))), -2147483648);
  assert.equal(replicasOf(toManagedScale(widget({ spec: { replicas: 0 } }), pathsOf("v1"))), 0);
  assert.equal(replicasOf(toManagedScale(widget(), pathsOf("v1"))), 3);
});

test("a Scale without a count asks for 0", () => {
  assert.equal(replicasOf({}), 0);
  assert.equal(replicasOf({ spec: { replicas: 5 } }), 5);
});

const entry = (manager: string, fields: JsonObject): JsonObject => ({
  manager,
  operation: "Update",
  apiVersion: "example.org/v1",
  fieldsType: "FieldsV1",
  fieldsV1: fields,
});

test("a Scale has the managers of the count, under the path of a Scale", () => {
  const owned = { "f:spec": { "f:replicas": {}, "f:other": {} } };
  const object = widget({
    metadata: { ...metadata, managedFields: [entry("m", owned), entry("n", { "f:spec": { "f:other": {} } })] },
  });
  const { managedFields } = toManagedScale(object, pathsOf("v1"))["metadata"] as JsonObject;
  assert.deepEqual(managedFields, [
    { ...entry("m", { "f:spec": { "f:replicas": {} } }), apiVersion: "autoscaling/v1" },
  ]);
});

test("without managers a Scale has no managedFields", () => {
  const meta = toManagedScale(widget(), pathsOf("v1"))["metadata"] as JsonObject;
  assert.deepEqual(meta, metadata);
});

test("the count of a Scale becomes that of the object, which is not changed otherwise", () => {
  const object = widget();
  const scaled = withScale(
    object,
    { metadata: { uid: "u", resourceVersion: "7" }, spec: { replicas: 5 } },
    pathsOf("v1"),
  );
  assert.deepEqual(scaled["spec"], { replicas: 5, other: true });
  assert.deepEqual(scaled["status"], object["status"]);
  assert.deepEqual(scaled["metadata"], object["metadata"]);
});

test("objects on the path of the count are made where they are missing or of another type", () => {
  const scale = { metadata: {}, spec: { replicas: 5 } };
  for (const [spec, want] of [
    [undefined, { size: { count: 5 } }],
    [
      { size: "large", x: 1 },
      { size: { count: 5 }, x: 1 },
    ],
    [{ size: { unit: "k" } }, { size: { unit: "k", count: 5 } }],
  ] as const) {
    const { spec: _, ...rest } = widget();
    const object = spec === undefined ? rest : { ...rest, spec };
    assert.deepEqual(withScale(object, scale, pathsOf("v2"))["spec"], want);
  }
});

test("the version and the uid of the Scale are preconditions: none is any version and the same object", () => {
  const scaled = (meta: JsonObject): JsonObject =>
    withScale(widget(), { metadata: meta, spec: { replicas: 1 } }, pathsOf("v1"))["metadata"] as JsonObject;
  const [none, other] = [scaled({}), scaled({ uid: "w", resourceVersion: "9" })];
  assert.deepEqual([none["resourceVersion"] ?? "", none["uid"]], ["", "u"]);
  assert.deepEqual([other["resourceVersion"], other["uid"]], ["9", "w"]);
});

test("paths are those of the version; each version is known to managers", () => {
  assert.deepEqual(pathsOf("v2").replicas, ["spec", "size", "count"]);
  assert.deepEqual(
    [...pathsOf("v1").byVersion],
    [
      ["example.org/v1", ["spec", "replicas"]],
      ["example.org/v2", ["spec", "size", "count"]],
      ["example.org/v3", null],
    ],
  );
});

test("a version without a scale, and one that does not exist, have no paths", () => {
  assert.equal(customScalePaths(crd, "v3"), undefined);
  assert.equal(customScalePaths(crd, "v9"), undefined);
  assert.equal(customScalePaths({}, "v1"), undefined);
});

test("a count or a selector of another type is an error without a class", () => {
  for (const object of [widget({ spec: { replicas: "3" } }), widget({ status: { selector: 1 } })]) {
    assert.throws(
      () => toScale(object, pathsOf("v1")),
      (error) => isStatusError(error) && error.status.code === 500 && error.status.reason === undefined,
    );
  }
});
