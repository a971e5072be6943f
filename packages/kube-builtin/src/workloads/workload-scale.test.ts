// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import { testKind, testKinds } from "../../test/index.ts";

test("workloads with replicas have a Scale, other kinds have none", () => {
  const scaled = testKinds.filter(({ type }) => type.subresources.some(({ name }) => name === "scale"));
  assert.deepEqual(
    scaled.map(({ type }) => type.kind),
    ["ReplicationController", "Deployment", "ReplicaSet", "StatefulSet"],
  );
  assert.deepEqual(
    testKinds.filter(({ rules }) => rules?.scale !== undefined),
    scaled,
  );
});

test("the Scale of a Deployment shows desired and current replicas and the selector", () => {
  const paths = testKind("apps/v1", "Deployment").rules?.scale ?? assert.fail("no Scale");
  const selector = {
    matchLabels: { app: "a" },
    matchExpressions: [{ key: "tier", operator: "In", values: ["x", "y"] }],
  };
  assert.deepEqual(paths.read({ spec: { replicas: 3, selector }, status: { replicas: 2 } }), {
    wanted: 3,
    current: 2,
    selector: "app=a,tier in (x,y)",
  });
  assert.deepEqual([...paths.byVersion], [["apps/v1", ["spec", "replicas"]]]);
});
