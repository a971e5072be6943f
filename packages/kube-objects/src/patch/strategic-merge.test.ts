// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import { findStatusError } from "../errors/status-error.ts";
import type { JsonObject, JsonValue } from "../json/json-value.ts";
import { deepFreeze } from "../object/kube-object.ts";
import { builtinOpenAPI } from "../openapi/builtin-openapi.ts";
import { applyStrategicMergePatch } from "./strategic-merge.ts";

const schemas = builtinOpenAPI().document("apis/apps/v1")?.components.schemas ?? {};
const schema = schemas["io.k8s.api.apps.v1.Deployment"];
assert.ok(schema);
const deploymentSchema: JsonObject = schema;

const deployment: JsonObject = deepFreeze({
  apiVersion: "apps/v1",
  kind: "Deployment",
  metadata: {
    name: "d",
    labels: { app: "web" },
    finalizers: ["x/a", "x/b"],
    ownerReferences: [{ apiVersion: "v1", kind: "K", name: "o", uid: "1" }],
  },
  spec: {
    strategy: { type: "RollingUpdate", rollingUpdate: { maxSurge: 1 } },
    template: {
      spec: {
        containers: [
          { name: "one", image: "one:1", args: ["a", "b"], env: [{ name: "A", value: "1" }] },
          { name: "two", image: "two:1", ports: [{ containerPort: 80, name: "web" }] },
        ],
        volumes: [{ name: "v", emptyDir: {} }],
      },
    },
  },
  status: { conditions: [{ type: "Available", status: "True" }] },
});

const patch = (change: Record<string, JsonValue>): JsonObject =>
  applyStrategicMergePatch(deployment, deepFreeze(change), {
    schema: deploymentSchema,
    component: (name) => schemas[name],
  });

const podSpec = (change: Record<string, JsonValue>): JsonObject => {
  const result = patch({ spec: { template: { spec: change } } });
  return ((result["spec"] as JsonObject)["template"] as JsonObject)["spec"] as JsonObject;
};

const names = (list: JsonValue | undefined): JsonValue[] =>
  (list as readonly JsonObject[]).map((item) => item["name"] ?? null);

test("containers merge by name, their environment too, ports by number, arguments are replaced", () => {
  const { containers } = podSpec({
    containers: [
      { name: "one", args: ["c"], env: [{ name: "B", value: "2" }] },
      { name: "two", ports: [{ containerPort: 80, protocol: "TCP" }, { containerPort: 81 }] },
    ],
  });
  assert.deepEqual(containers, [
    {
      name: "one",
      image: "one:1",
      args: ["c"],
      env: [
        { name: "B", value: "2" },
        { name: "A", value: "1" },
      ],
    },
    {
      name: "two",
      image: "two:1",
      ports: [{ containerPort: 80, name: "web", protocol: "TCP" }, { containerPort: 81 }],
    },
  ]);
});

test("items are deleted, the list is replaced, and its order set by directives", () => {
  assert.deepEqual(names(podSpec({ containers: [{ name: "one", $patch: "delete" }] })["containers"]), ["two"]);
  assert.deepEqual(podSpec({ containers: [{ $patch: "replace" }, { name: "new" }] })["containers"], [{ name: "new" }]);
  const ordered = podSpec({
    "$setElementOrder/containers": [{ name: "two" }, { name: "new" }, { name: "one" }],
    containers: [{ name: "new", image: "n" }],
  });
  assert.deepEqual(names(ordered["containers"]), ["two", "new", "one"]);
});

test("primitive lists are sets; items are taken out by a list beside them", () => {
  const finalizers = (change: Record<string, JsonValue>): JsonValue =>
    (patch({ metadata: change })["metadata"] as JsonObject)["finalizers"] ?? null;
  assert.deepEqual(finalizers({ finalizers: ["x/c", "x/a"] }), ["x/c", "x/a", "x/b"]);
  assert.deepEqual(finalizers({ "$deleteFromPrimitiveList/finalizers": ["x/a"] }), ["x/b"]);
  assert.deepEqual(finalizers({ finalizers: null }), null);
});

test("$retainKeys keeps only what is named, $patch replaces or empties a map", () => {
  const strategy = (change: JsonObject): JsonValue =>
    (patch({ spec: { strategy: change } })["spec"] as JsonObject)["strategy"] ?? null;
  assert.deepEqual(strategy({ $retainKeys: ["type"], type: "Recreate" }), { type: "Recreate" });
  assert.deepEqual(strategy({ $patch: "replace", type: "Recreate" }), { type: "Recreate" });
  assert.deepEqual(strategy({ $patch: "delete" }), {});
  assert.deepEqual(strategy({ type: null }), { rollingUpdate: { maxSurge: 1 } });
});

test("conditions merge by type, owners by uid, maps by key", () => {
  const result = patch({
    metadata: { labels: { tier: "a" }, ownerReferences: [{ uid: "1", name: "p" }] },
    status: { conditions: [{ type: "Available", status: "False" }] },
  });
  const metadata = result["metadata"] as JsonObject;
  assert.deepEqual(metadata["labels"], { app: "web", tier: "a" });
  assert.deepEqual(metadata["ownerReferences"], [{ apiVersion: "v1", kind: "K", name: "p", uid: "1" }]);
  assert.deepEqual(result["status"], { conditions: [{ type: "Available", status: "False" }] });
});

test("bad directives have the answer of the reference", () => {
  const rows: ReadonlyArray<readonly [Record<string, JsonValue>, number, RegExp]> = [
    [{ containers: [{ image: "x" }] }, 500, /^map: map\[image:x\] does not contain declared merge key: name$/],
    [{ containers: ["x"] }, 500, /^list element types are not identical: \[\[map\[/],
    [{ containers: [["x"]] }, 500, /^list element types are not identical/],
    [
      { volumes: [{ name: "v", $patch: "bogus" }] },
      500,
      /^unknown patch type: bogus in map: map\[\$patch:bogus name:v\]$/,
    ],
    [{ volumes: [{ name: "v", $patch: "merge" }] }, 500, /^merging lists cannot yet be specified in the patch$/],
    [{ "$setElementOrder/containers": "x" }, 500, /^expected a \[\]interface \{\}, but received a string$/],
    [
      { "$setElementOrder/containers": [{ name: "x" }], containers: [{ name: "y" }] },
      500,
      /^The order in patch list:\n\[map\[name:y\]\]\n doesn't match \$setElementOrder list:\n\[map\[name:x\]\]\n$/,
    ],
    [{ $retainKeys: "x" }, 400, /^invalid patch format of retainKeys$/],
    [{ $retainKeys: ["a"], containers: [] }, 400, /^invalid patch format of retainKeys$/],
    [{ "$deleteFromPrimitiveListX/y": [] }, 400, /^invalid patch format of primitive list$/],
    [{ "$setElementOrderX/y": [] }, 400, /^invalid patch format of setElementOrder list$/],
    [{ $patch: "merge" }, 500, /^unknown patch type: merge in map: map\[\$patch:merge\]$/],
  ];
  for (const [change, code, message] of rows) {
    assert.throws(
      () => podSpec(change),
      (error: unknown) => {
        const status = findStatusError(error)?.status;
        assert.match(status?.message ?? String(error), message);
        assert.equal(status?.code, code);
        return true;
      },
      JSON.stringify(change),
    );
  }
});

test("large lists merge without comparing every item with every other", () => {
  const env = (count: number, value: string): JsonValue[] =>
    Array.from({ length: count }, (_, i) => ({ name: `E${i}`, value }));
  const big = { ...deployment, spec: { template: { spec: { containers: [{ name: "one", env: env(20_000, "1") }] } } } };
  const change = { spec: { template: { spec: { containers: [{ name: "one", env: env(20_000, "2") }] } } } };
  const result = applyStrategicMergePatch(big, change, {
    schema: deploymentSchema,
    component: (name) => schemas[name],
  });
  assert.deepEqual(result, { ...deployment, ...change });
});

test("what has no fields cannot be merged into, as in the reference", () => {
  const attempt = (object: JsonObject, change: JsonObject, of: JsonObject): unknown =>
    applyStrategicMergePatch(object, change, { schema: of, component: () => undefined });
  const map = { type: "object", additionalProperties: { type: "object" } };
  assert.throws(() => attempt({ a: { b: 1 } }, { a: { b: 2 } }, map), {
    message: "merging an object in json but data type is not struct, instead is: map",
  });
  assert.throws(() => attempt({ a: { b: 1 } }, { a: { b: 2 } }, { type: "object", properties: {} }), {
    message: 'unable to find api field in struct  for the json field "a"',
  });
  const merged = { type: "array", items: { type: "object" }, "x-kubernetes-patch-strategy": "merge" };
  const list = { type: "object", properties: { l: merged, broken: { $ref: "#/components/schemas/x.Missing" } } };
  assert.throws(() => attempt({ l: [{ a: 1 }] }, { l: [{ a: 1 }] }, list), {
    message: "cannot merge lists without merge key for struct",
  });
  assert.throws(() => attempt({ l: [] }, { l: [[1]] }, list), { message: /^the server rejected our request/ });
  assert.throws(() => attempt({ broken: {} }, { broken: {} }, list), { message: /no type found matching: x\.Missing/ });
});
