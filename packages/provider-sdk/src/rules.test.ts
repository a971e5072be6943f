// SPDX-License-Identifier: Apache-2.0
// The rules of managed resources that need no API server: policies, the annotations of creation, late initialization.
import assert from "node:assert/strict";
import { suite, test } from "node:test";
import type { JsonObject } from "@purlin/kube-objects/json";
import type { KubeObject } from "@purlin/kube-objects/object";
import { lateInitialized, managementPolicyOf } from "./managed-resource.ts";
import { annotationTime, isCreateIncomplete, wasCreatedWithin } from "./references.ts";

const objectOf = (spec: object, annotations: Record<string, string> = {}): KubeObject =>
  ({ apiVersion: "example.org/v1", kind: "Thing", metadata: { name: "a", annotations }, spec }) as KubeObject;

suite("management policies", () => {
  /** Actions that each list allows: Create, Update, Delete, Late initialization; `paused` and `only` are Pause and Observe. */
  const rows: readonly { policies: string[] | undefined; allows: string; why: string }[] = [
    { policies: undefined, allows: "CUDL", why: "all unless given" },
    { policies: ["*"], allows: "CUDL", why: "everything" },
    { policies: ["Observe", "Create", "Update", "LateInitialize", "Delete"], allows: "CUDL", why: "all by name" },
    { policies: [], allows: "paused", why: "an empty list pauses" },
    { policies: ["Observe"], allows: "only", why: "read only" },
    { policies: ["Observe", "Create", "Update", "Delete"], allows: "CUD", why: "no late initialization" },
    { policies: ["Observe", "Create", "Update", "LateInitialize"], allows: "CUL", why: "no deletion" },
    { policies: ["Observe", "Create", "Update"], allows: "CU", why: "neither deletion nor late initialization" },
    { policies: ["Observe", "Create", "Delete", "LateInitialize"], allows: "CDL", why: "no update" },
    { policies: ["Observe", "Create", "LateInitialize"], allows: "CL", why: "created once" },
    { policies: ["Observe", "Create", "Delete"], allows: "CD", why: "neither update nor late initialization" },
    { policies: ["Observe", "Create"], allows: "C", why: "creation only" },
    { policies: ["Observe", "Delete"], allows: "D", why: "observed, and deleted with the object" },
    { policies: ["Observe", "Update"], allows: "U", why: "shared by several managed resources" },
    { policies: ["Observe", "LateInitialize"], allows: "L", why: "import" },
    { policies: ["Observe", "Update", "LateInitialize"], allows: "UL", why: "created elsewhere" },
  ];
  for (const { policies, allows, why } of rows) {
    test(`[${policies?.join(" ") ?? ""}] ${allows}: ${why}`, () => {
      const policy = managementPolicyOf(
        objectOf(policies === undefined ? {} : { managementPolicies: policies }),
        false,
      );
      const flags = [
        policy.isPaused && "paused",
        policy.isObserveOnly && "only",
        policy.mayCreate && "C",
        policy.mayUpdate && "U",
        policy.mayDelete && "D",
        policy.mayLateInitialize && "L",
      ];
      assert.deepEqual([policy.problem, flags.filter(Boolean).join("")], [undefined, allows]);
    });
  }
  for (const policies of [["Create"], ["Update", "Delete"], ["Observe", "*"], ["LateInitialize"]]) {
    test(`[${policies.join(" ")}] is not supported`, () => {
      const { problem } = managementPolicyOf(objectOf({ managementPolicies: policies }), false);
      const list = policies.toSorted().join(" ");
      assert.equal(
        problem,
        `\`spec.managementPolicies\` is set to a value([${list}]) which is not supported. Check docs for supported policies`,
      );
    });
  }
  const all = ["*"];
  const keep = ["Observe", "Create", "Update"];
  const remove = ["Observe", "Create", "Update", "Delete"];
  const legacy: readonly { deletionPolicy?: string; managementPolicies?: string[]; deletes: boolean; why: string }[] = [
    { deletes: true, why: "the defaults delete" },
    { deletionPolicy: "Delete", managementPolicies: all, deletes: true, why: "both defaults" },
    { deletionPolicy: "Orphan", deletes: false, why: "Orphan is not the default, so it wins" },
    { deletionPolicy: "Orphan", managementPolicies: all, deletes: false, why: "the same, written out" },
    { deletionPolicy: "Delete", managementPolicies: keep, deletes: false, why: "the list without Delete wins" },
    { deletionPolicy: "Orphan", managementPolicies: keep, deletes: false, why: "both keep it" },
    { deletionPolicy: "Orphan", managementPolicies: remove, deletes: true, why: "a list that names Delete wins" },
    { deletionPolicy: "Delete", managementPolicies: remove, deletes: true, why: "both delete it" },
  ];
  for (const { deletes, why, ...spec } of legacy) {
    test(`deletionPolicy ${spec.deletionPolicy ?? "unset"}, [${spec.managementPolicies?.join(" ") ?? ""}]: ${why}`, () => {
      assert.equal(managementPolicyOf(objectOf(spec), true).mayDelete, deletes);
    });
  }
  test("namespaced kinds have no deletion policy", () => {
    assert.ok(managementPolicyOf(objectOf({ deletionPolicy: "Orphan" }), false).mayDelete);
  });
});

suite("the annotations of a creation", () => {
  const key = (name: string): string => `crossplane.io/external-create-${name}`;
  const [early, late] = ["2026-01-01T00:00:00Z", "2026-01-01T00:00:10Z"];
  const rows: readonly { has: Record<string, string>; incomplete: boolean; why: string }[] = [
    { has: {}, incomplete: false, why: "never created" },
    { has: { pending: early }, incomplete: true, why: "the process ended during the creation" },
    { has: { pending: early, succeeded: late }, incomplete: false, why: "it succeeded" },
    { has: { pending: early, failed: late }, incomplete: false, why: "it failed" },
    { has: { pending: late, succeeded: early }, incomplete: true, why: "a second creation was begun" },
    { has: { pending: late, failed: early }, incomplete: true, why: "a repeated creation was begun" },
    {
      has: { pending: late, failed: early, succeeded: late },
      incomplete: false,
      why: "the same second counts as ended",
    },
    { has: { pending: "yesterday" }, incomplete: false, why: "a malformed time counts as none" },
  ];
  for (const { has, incomplete, why } of rows) {
    test(`${Object.keys(has).join(", ") || "none"}: ${why}`, () => {
      const annotations = Object.fromEntries(Object.entries(has).map(([name, value]) => [key(name), value]));
      assert.equal(isCreateIncomplete(objectOf({}, annotations)), incomplete);
    });
  }
  test("a resource was created within a period, or before it, or never", () => {
    const now = Date.parse(late);
    const created = objectOf({}, { [key("succeeded")]: early });
    assert.deepEqual(
      [
        wasCreatedWithin(created, 30_000, now),
        wasCreatedWithin(created, 10_000, now),
        wasCreatedWithin(objectOf({}), 1, now),
      ],
      [true, false, false],
    );
    assert.equal(annotationTime(Date.parse("2026-01-01T00:00:00.987Z")), early);
  });
});

suite("late initialization", () => {
  const rows: readonly { fields: JsonObject; values: JsonObject; wanted: JsonObject; why: string }[] = [
    { fields: {}, values: { a: 1 }, wanted: { a: 1 }, why: "an open field is filled" },
    { fields: { a: 2 }, values: { a: 1 }, wanted: { a: 2 }, why: "the user's value stays" },
    {
      fields: { a: false, b: 0, c: "" },
      values: { a: true, b: 1, c: "x" },
      wanted: { a: false, b: 0, c: "" },
      why: "zero values are values",
    },
    {
      fields: { o: { a: 1 } },
      values: { o: { a: 2, b: 3 } },
      wanted: { o: { a: 1, b: 3 } },
      why: "objects are merged",
    },
    { fields: { l: [1] }, values: { l: [1, 2] }, wanted: { l: [1] }, why: "lists are not" },
    { fields: { a: 1 }, values: { b: null }, wanted: { a: 1 }, why: "null does not count" },
  ];
  for (const { fields, values, wanted, why } of rows) {
    test(why, () => assert.deepEqual(lateInitialized(fields, values), wanted));
  }
  test("nothing to fill in is the same object, so nothing is written", () => {
    const fields = { a: 1, o: { b: 2 } };
    assert.equal(lateInitialized(fields, { a: 2, o: { b: 3 } }), fields);
  });
});
