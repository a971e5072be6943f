// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import type { JsonObject } from "@purlin/kube-objects/json";
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

for (const [apiVersion, kind, selectorOf] of [
  ["apps/v1", "Deployment", (labels: JsonObject) => ({ matchLabels: labels })],
  ["v1", "ReplicationController", (labels: JsonObject) => labels],
] as const) {
  test(`the selector of a ${kind} becomes text once, however often its Scale is read`, () => {
    const { read } = testKind(apiVersion, kind).rules?.scale ?? assert.fail("no Scale");
    let looks = 0;
    const labels = new Proxy({ b: "2", a: "1" } as JsonObject, {
      ownKeys(target) {
        looks += 1;
        return Reflect.ownKeys(target);
      },
    });
    const selector = selectorOf(labels);
    assert.equal(read({ spec: { replicas: 1, selector } }).selector, "a=1,b=2");
    const before = looks;
    assert.equal(read({ spec: { replicas: 2, selector } }).selector, "a=1,b=2");
    assert.equal(looks, before);
    assert.equal(read({ spec: { selector: selectorOf({ c: "3" }) } }).selector, "c=3");
  });
}
