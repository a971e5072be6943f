// SPDX-License-Identifier: Apache-2.0

import assert from "node:assert/strict";
import { test } from "node:test";
import { fieldErrorText, isStatusError } from "@purlin/kube-objects/errors";
import type { JsonObject, JsonValue } from "@purlin/kube-objects/json";
import { deepFreeze } from "@purlin/kube-objects/object";
import type { ScalePaths } from "../strategy/kind-rules.ts";
import {
  customScalePaths,
  noReplicas,
  replicasOf,
  scaleSpecProblems,
  scaleStatusProblems,
  toManagedScale,
  toScale,
  withScale,
} from "./scale-object.ts";

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

const fields = { specReplicas: ".spec.replicas", statusReplicas: ".status.replicas", selector: ".status.selector" };
const spec = (replicas: JsonValue): JsonObject => ({ spec: { replicas } });

const specCases: Readonly<Record<string, { object: JsonObject; want?: string; reason: string }>> = {
  Absent: { object: { spec: {} }, reason: "missing replicas are valid" },
  NoSpec: { object: {}, reason: "nor is an object without a spec" },
  NullSpec: { object: { spec: null }, reason: "null is as good as absent on the way" },
  Zero: { object: spec(0), reason: "zero is a count" },
  Largest: { object: spec(2147483647), reason: "the largest count a Scale can hold" },
  TooLarge: {
    object: spec(2147483648),
    want: "2147483648: should be less than or equal to 2147483647",
    reason: "a Scale cannot hold it",
  },
  Huge: {
    object: spec(9007199254740993n),
    want: "9007199254740993: should be less than or equal to 2147483647",
    reason: "beyond doubles too",
  },
  Negative: { object: spec(-1), want: "-1: should be a non-negative integer", reason: "a count is not negative" },
  Text: {
    object: spec("x"),
    want: "0: .spec.replicas accessor error: x is of the type string, expected int64",
    reason: "the path finds something else",
  },
  Fraction: {
    object: spec(1.5),
    want: "0: .spec.replicas accessor error: 1.5 is of the type float64, expected int64",
    reason: "not an integer",
  },
  Null: {
    object: spec(null),
    want: "0: .spec.replicas accessor error: <nil> is of the type <nil>, expected int64",
    reason: "at the end of the path null is a value",
  },
  Object: {
    object: spec({ b: [1, "x"], a: true }),
    want: "0: .spec.replicas accessor error: map[a:true b:[1 x]] is of the type map[string]interface {}, expected int64",
    reason: "printed as Go prints it",
  },
  NoWay: {
    object: { spec: "x" },
    want: "0: .spec.replicas accessor error: x is of the type string, expected map[string]interface{}",
    reason: "the path goes through what holds nothing",
  },
};

for (const [name, { object, want, reason }] of Object.entries(specCases)) {
  test(`replicas of a spec: ${name}`, () => {
    const texts = scaleSpecProblems(object, fields).map(fieldErrorText);
    assert.deepEqual(texts, want === undefined ? [] : [`.spec.replicas: Invalid value: ${want}`], reason);
  });
}

test("a status may have replicas and a selector, each of its type", () => {
  const problems = (status: JsonValue): string[] => scaleStatusProblems({ status }, fields).map(fieldErrorText);
  assert.deepEqual(problems({ replicas: 1, selector: "anything at all" }), []);
  assert.deepEqual(problems({}), []);
  assert.deepEqual(problems({ replicas: -1, selector: 7 }), [
    ".status.replicas: Invalid value: -1: should be a non-negative integer",
    '.status.selector: Invalid value: "": .status.selector accessor error: 7 is of the type int64, expected string',
  ]);
});

test("a kind without a selector has none to be wrong", () => {
  assert.deepEqual(scaleStatusProblems({ status: { selector: 7 } }, { ...fields, selector: undefined }), []);
});
