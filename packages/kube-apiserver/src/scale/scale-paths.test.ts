// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import type { JsonObject } from "@purlin/kube-objects/json";
import type { ScaleState } from "../strategy/kind-rules.ts";
import { customScalePaths } from "./scale-object.ts";

const scale = {
  specReplicasPath: ".spec.size",
  statusReplicasPath: ".status.size",
  labelSelectorPath: ".status.selector",
};
const crd: JsonObject = {
  spec: {
    group: "example.org",
    versions: [
      { name: "v1", subresources: { scale } },
      {
        name: "v2",
        subresources: { scale: { ...scale, specReplicasPath: ".spec.deep.count", labelSelectorPath: "" } },
      },
      { name: "v3" },
    ],
  },
};

const states: Record<string, { reason: string; version: string; object: JsonObject; want: ScaleState }> = {
  Full: {
    reason: "what it wants, has and selects",
    version: "v1",
    object: { spec: { size: 3 }, status: { size: 2, selector: "app=a" } },
    want: { wanted: 3, current: 2, selector: "app=a" },
  },
  Nothing: {
    reason: "it is empty",
    version: "v1",
    object: {},
    want: { wanted: undefined, current: 0, selector: "" },
  },
  Big: {
    reason: "a large number",
    version: "v1",
    object: { spec: { size: 9007199254740993n } },
    want: { wanted: 9007199254740992, current: 0, selector: "" },
  },
  Deep: {
    reason: "deeper down, without a selector",
    version: "v2",
    object: { spec: { deep: { count: 5 } } },
    want: { wanted: 5, current: 0, selector: "" },
  },
};

for (const [name, { reason, version, object, want }] of Object.entries(states)) {
  test(`the Scale of a custom object: ${name}`, () => {
    assert.deepEqual(customScalePaths(crd, version)?.read(object), want, reason);
  });
}

const refused: Record<string, { object: JsonObject; problem: RegExp }> = {
  Text: {
    object: { spec: { size: "3" } },
    problem: /\.spec\.size accessor error: 3 is of the type string, expected int64/,
  },
  Fraction: {
    object: { spec: { size: 1.5 } },
    problem: /\.spec\.size accessor error: 1\.5 is of the type float64, expected int64/,
  },
  NoMap: {
    object: { spec: 5 },
    problem: /\.spec\.size accessor error: 5 is of the type int64, expected map\[string\]interface\{\}/,
  },
  Selector: {
    object: { status: { selector: 5 } },
    problem: /\.status\.selector accessor error: 5 is of the type int64, expected string/,
  },
};

for (const [name, { object, problem }] of Object.entries(refused)) {
  test(`an object whose Scale cannot be shown: ${name}`, () => {
    assert.throws(() => customScalePaths(crd, "v1")?.read(object), problem);
  });
}

test("each version keeps its replicas where it says; one without a Scale has no paths", () => {
  assert.deepEqual(
    [...(customScalePaths(crd, "v1")?.byVersion ?? [])],
    [
      ["example.org/v1", ["spec", "size"]],
      ["example.org/v2", ["spec", "deep", "count"]],
      ["example.org/v3", null],
    ],
  );
  assert.equal(customScalePaths(crd, "v3"), undefined);
  assert.equal(customScalePaths(crd, "v9"), undefined);
});
