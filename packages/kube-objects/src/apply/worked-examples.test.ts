// SPDX-License-Identifier: Apache-2.0
// Worked examples of server-side apply that clients rely on, one after the other on one object.
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { findStatusError } from "../errors/status-error.ts";
import type { JsonObject, JsonValue } from "../json/json-value.ts";
import { deepFreeze } from "../object/kube-object.ts";
import { customResourceType } from "./apply-schema.ts";
import { createFieldManager, type FieldManager } from "./field-manager.ts";
import { fieldSetOfPaths } from "./field-set.ts";
import { managedFieldsOf } from "./managers.ts";

const type = customResourceType({
  type: "object",
  properties: {
    spec: {
      type: "object",
      properties: {
        replicas: { type: "integer" },
        tags: { type: "object", additionalProperties: { type: "string" } },
        args: { type: "array", items: { type: "string" } },
        zones: { type: "array", items: { type: "string" }, "x-kubernetes-list-type": "set" },
        free: { type: "object", "x-kubernetes-preserve-unknown-fields": true },
        atomicMap: {
          type: "object",
          additionalProperties: { type: "string" },
          "x-kubernetes-map-type": "atomic",
        },
        ports: {
          type: "array",
          "x-kubernetes-list-type": "map",
          "x-kubernetes-list-map-keys": ["port", "protocol"],
          items: {
            type: "object",
            properties: {
              port: { type: "integer" },
              protocol: { type: "string", default: "TCP" },
              name: { type: "string" },
            },
          },
        },
      },
    },
    status: {
      type: "object",
      properties: {
        conditions: {
          type: "array",
          "x-kubernetes-list-type": "map",
          "x-kubernetes-list-map-keys": ["type"],
          items: { type: "object", properties: { type: { type: "string" }, status: { type: "string" } } },
        },
      },
    },
  },
});

const v1 = "example.org/v1";
let second = 0;

function endpoint(subresource?: "status"): FieldManager {
  const reset = subresource ? [["metadata"], ["spec"]] : [["status"]];
  return createFieldManager({
    apiVersion: v1,
    kind: "Widget",
    versions: { typeAt: (apiVersion) => (apiVersion === v1 ? type : undefined) },
    ...(subresource ? { subresource } : {}),
    resetFields: new Map([[v1, fieldSetOfPaths(reset)]]),
    now: () => new Date(Date.UTC(2030, 0, 1, 0, 0, second++)),
  });
}

const main = endpoint();
const status = endpoint("status");

const widget = (fields: Record<string, JsonValue>): JsonObject =>
  deepFreeze({ apiVersion: v1, kind: "Widget", metadata: { name: "w", namespace: "ns" }, ...fields });

function saved(object: JsonObject): JsonObject {
  return deepFreeze({ ...object, metadata: { ...(object["metadata"] as JsonObject), uid: "u" } });
}

function apply(
  live: JsonObject | undefined,
  spec: Record<string, JsonValue>,
  options: { manager: string; force?: boolean },
): JsonObject {
  return saved(main.apply(live, widget({ spec }), { manager: options.manager, force: options.force ?? false }));
}

function owned(object: JsonObject, manager: string): JsonValue | undefined {
  return managedFieldsOf(object)?.find((entry) => entry.manager === manager)?.fieldsV1;
}

const fields = (text: string): JsonValue => JSON.parse(text) as JsonValue;

describe("worked examples", () => {
  const a = apply(
    undefined,
    {
      replicas: 2,
      tags: { a: "1", b: "2" },
      args: ["x", "y"],
      zones: ["z1", "z2"],
      ports: [{ port: 80, name: "web" }],
    },
    { manager: "A" },
  );
  const b = apply(
    a,
    { tags: { c: "3" }, zones: ["z2", "z3"], ports: [{ port: 53, protocol: "UDP" }] },
    { manager: "B" },
  );
  const d = apply(b, { replicas: 5, tags: { c: "3" } }, { manager: "B", force: true });
  const onlyA = { tags: { a: "1" }, args: ["x", "y"], zones: ["z1"] };
  const e = apply(d, onlyA, { manager: "A" });

  test("a: an applier owns leaves and items; the item's key shows a default that is not there", () => {
    assert.deepEqual(
      owned(a, "A"),
      fields(
        '{"f:spec":{"f:args":{},"f:ports":{"k:{\\"port\\":80,\\"protocol\\":\\"TCP\\"}":{".":{},"f:name":{},"f:port":{}}},"f:replicas":{},"f:tags":{"f:a":{},"f:b":{}},"f:zones":{"v:\\"z1\\"":{},"v:\\"z2\\"":{}}}}',
      ),
    );
    assert.deepEqual(
      managedFieldsOf(a)?.map(({ fieldsV1: _fields, ...entry }) => entry),
      [{ manager: "A", operation: "Apply", apiVersion: v1, time: "2030-01-01T00:00:00Z", fieldsType: "FieldsV1" }],
    );
  });

  test("b: a second applier adds a key, a set item and a keyed item without conflict", () => {
    assert.deepEqual((b["spec"] as JsonObject)["zones"], ["z1", "z2", "z3"]);
    assert.deepEqual(
      owned(b, "B"),
      fields(
        '{"f:spec":{"f:ports":{"k:{\\"port\\":53,\\"protocol\\":\\"UDP\\"}":{".":{},"f:port":{},"f:protocol":{}}},"f:tags":{"f:c":{}},"f:zones":{"v:\\"z2\\"":{},"v:\\"z3\\"":{}}}}',
      ),
    );
    assert.deepEqual(owned(b, "A"), owned(a, "A"));
  });

  test("c: changing what another applier owns is a conflict for each field", () => {
    const attempt = (): unknown =>
      apply(b, { replicas: 5, args: ["q"], ports: [{ port: 80, name: "zzz" }] }, { manager: "B" });
    assert.throws(attempt, (error: unknown) => {
      const answer = findStatusError(error)?.status;
      assert.equal(answer?.code, 409);
      assert.equal(answer?.reason, "Conflict");
      assert.equal(
        answer?.message,
        'Apply failed with 3 conflicts: conflicts with "A":\n- .spec.args\n- .spec.replicas\n- .spec.ports[port=80,protocol="TCP"].name',
      );
      assert.deepEqual(answer?.details?.causes, [
        { reason: "FieldManagerConflict", message: 'conflict with "A"', field: ".spec.args" },
        { reason: "FieldManagerConflict", message: 'conflict with "A"', field: ".spec.replicas" },
        {
          reason: "FieldManagerConflict",
          message: 'conflict with "A"',
          field: '.spec.ports[port=80,protocol="TCP"].name',
        },
      ]);
      assert.deepEqual(Object.keys(answer?.details ?? {}), ["causes"]);
      return true;
    });
  });

  test("d: force moves ownership; fields that the applier drops and no other manager owns are removed", () => {
    const spec = d["spec"] as JsonObject;
    assert.equal(spec["replicas"], 5);
    assert.deepEqual(spec["zones"], ["z1", "z2"], "z3 was B's alone, z2 is A's too");
    assert.deepEqual(spec["ports"], [{ port: 80, name: "web" }]);
    assert.deepEqual(owned(d, "B"), fields('{"f:spec":{"f:replicas":{},"f:tags":{"f:c":{}}}}'));
    assert.ok(!("f:replicas" in ((owned(d, "A") as JsonObject)["f:spec"] as JsonObject)));
  });

  test("e: applying less removes what only this applier had; repeating it is a no-op to the very object", () => {
    assert.deepEqual(e["spec"], { replicas: 5, tags: { a: "1", c: "3" }, args: ["x", "y"], zones: ["z1"] });
    assert.equal(main.apply(e, widget({ spec: onlyA }), { manager: "A", force: false }), e);
  });

  test("f: an update takes what it changes, and owns what it adds together with its containers", () => {
    const next = {
      ...e,
      spec: { ...(e["spec"] as JsonObject), tags: { a: "9", c: "3" }, free: { deep: { l: [1, 2], s: "t" } } },
    };
    const { object, problem } = main.update(e, deepFreeze(next), "C");
    assert.equal(problem, undefined);
    assert.deepEqual(
      owned(object, "C"),
      fields('{"f:spec":{"f:free":{".":{},"f:deep":{".":{},"f:l":{},"f:s":{}}},"f:tags":{"f:a":{}}}}'),
    );
    assert.deepEqual(owned(object, "A"), fields('{"f:spec":{"f:args":{},"f:zones":{"v:\\"z1\\"":{}}}}'));
  });

  test("g: a create owns everything, containers included", () => {
    const created = widget({
      spec: {
        replicas: 1,
        tags: { a: "1" },
        args: ["x"],
        zones: ["z1"],
        ports: [{ port: 80, protocol: "TCP" }],
        atomicMap: { k: "v" },
      },
    });
    assert.deepEqual(
      owned(main.update(undefined, created, "C").object, "C"),
      fields(
        '{"f:spec":{".":{},"f:args":{},"f:atomicMap":{},"f:ports":{".":{},"k:{\\"port\\":80,\\"protocol\\":\\"TCP\\"}":{".":{},"f:port":{},"f:protocol":{}}},"f:replicas":{},"f:tags":{".":{},"f:a":{}},"f:zones":{".":{},"v:\\"z1\\"":{}}}}',
      ),
    );
  });

  test("h: the main endpoint and /status have entries of their own", () => {
    const conditions = (...types: string[]): JsonObject =>
      widget({ status: { conditions: types.map((name) => ({ type: name, status: "True" })) } });
    const spec = apply(undefined, { replicas: 1 }, { manager: "M" });
    const both = saved(status.apply(spec, conditions("Ready", "Synced"), { manager: "M", force: true }));
    assert.deepEqual(
      managedFieldsOf(both)?.map(({ manager, subresource }) => ({ manager, subresource })),
      [
        { manager: "M", subresource: undefined },
        { manager: "M", subresource: "status" },
      ],
    );
    const foreign = saved(status.apply(both, conditions("Other"), { manager: "N", force: true }));
    const fewer = status.apply(foreign, conditions("Ready"), { manager: "M", force: true });
    assert.deepEqual((fewer["status"] as JsonObject)["conditions"], [
      { type: "Ready", status: "True" },
      { type: "Other", status: "True" },
    ]);
    assert.deepEqual(managedFieldsOf(fewer)?.[0], managedFieldsOf(spec)?.[0], "ownership of spec is untouched");
  });

  test("i: reset managedFields, apply, drop before-first-apply, and the applier is sole owner", () => {
    const base = apply(undefined, { replicas: 1, tags: { a: "1" } }, { manager: "old" });
    const metadata = base["metadata"] as JsonObject;
    const reset = main.update(base, { ...base, metadata: { ...metadata, managedFields: [{}] } }, "migrator").object;
    assert.equal(managedFieldsOf(reset), undefined);
    const untracked = main.update(
      saved(reset),
      { ...saved(reset), spec: { replicas: 2, tags: { a: "1" } } },
      "x",
    ).object;
    assert.equal(managedFieldsOf(untracked), undefined, "an update records nothing before the first apply");
    const applied = apply(saved(reset), { replicas: 1, tags: { a: "1" } }, { manager: "new" });
    assert.deepEqual(
      managedFieldsOf(applied)?.map(({ manager, operation }) => `${manager} ${operation}`),
      ["new Apply", "before-first-apply Update"],
    );
    const without = (managedFieldsOf(applied) ?? []).filter(({ manager }) => manager === "new");
    const dropped = main.update(
      applied,
      {
        ...applied,
        metadata: { ...(applied["metadata"] as JsonObject), managedFields: without },
      },
      "migrator",
    ).object;
    const last = apply(saved(dropped), { replicas: 1 }, { manager: "new" });
    assert.deepEqual(last["spec"], { replicas: 1 });
  });
});

test("conflicts with several managers are grouped, sorted, and say how each manager came to own the field", () => {
  const first = apply(undefined, { replicas: 1, tags: { a: "1" } }, { manager: "zed" });
  const updated = saved(
    main.update(first, { ...first, spec: { replicas: 1, tags: { a: "1", b: "2" }, args: ["x"] } }, "kubectl-edit")
      .object,
  );
  const third = apply(updated, { zones: ["z"], atomicMap: { k: "v" } }, { manager: "amy" });
  const config = { replicas: 2, tags: { a: "2", b: "3" }, args: ["y"], atomicMap: { k: "w" } };
  assert.throws(() => apply(third, config, { manager: "me" }), {
    message: [
      "Apply failed with 5 conflicts: ",
      'conflicts with "amy":\n- .spec.atomicMap\n',
      'conflicts with "kubectl-edit" using example.org/v1:\n- .spec.args\n- .spec.tags.b\n',
      'conflicts with "zed":\n- .spec.replicas\n- .spec.tags.a',
    ].join(""),
  });
  assert.throws(() => apply(third, { replicas: 3 }, { manager: "me" }), {
    message: 'Apply failed with 1 conflict: conflict with "zed": .spec.replicas',
  });
  assert.throws(() => apply(third, { args: ["q"] }, { manager: "me" }), {
    message: 'Apply failed with 1 conflict: conflict with "kubectl-edit" using example.org/v1: .spec.args',
  });
});

test("a conflict with a manager of a subresource names it", () => {
  const withStatus = createFieldManager({
    apiVersion: v1,
    kind: "Widget",
    versions: { typeAt: () => type },
    subresource: "status",
    now: () => new Date(0),
  });
  const condition = (value: string): JsonObject =>
    widget({ status: { conditions: [{ type: "Ready", status: value }] } });
  const live = saved(withStatus.apply(widget({}), condition("True"), { manager: "one", force: false }));
  assert.throws(() => withStatus.apply(live, condition("False"), { manager: "two", force: false }), {
    message:
      'Apply failed with 1 conflict: conflict with "one" with subresource "status": .status.conditions[type="Ready"].status',
  });
});
