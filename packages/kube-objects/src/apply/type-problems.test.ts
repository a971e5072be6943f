// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import { findStatusError } from "../errors/status-error.ts";
import type { JsonObject } from "../json/json-value.ts";
import { deepFreeze } from "../object/kube-object.ts";
import { applyTypeOf } from "./apply-schema.ts";
import { untypedAtomic } from "./apply-type.ts";
import { createFieldManager } from "./field-manager.ts";
import { managedFieldsOf } from "./managers.ts";
// Observed from the reference, one apply each.
import observed from "./testdata/type-problems.json" with { type: "json" };
import { widgetVersions } from "./testdata/widget.ts";
import { typeProblem } from "./typed-validate.ts";

interface Row {
  readonly reason: string;
  readonly config: JsonObject;
  readonly fields?: JsonObject;
  readonly error?: string;
  readonly code?: number;
}

const manager = createFieldManager({
  apiVersion: "example.org/v1",
  kind: "Widget",
  versions: widgetVersions,
  now: () => new Date(0),
});

// Errors of one map come in random order there; the lines are the same.
const lines = (text: string): string[] => text.split("\n").sort();

for (const row of observed as unknown as readonly Row[]) {
  test(`applying ${row.reason}`, () => {
    const run = (): JsonObject => manager.apply(undefined, deepFreeze(row.config), { manager: "m", force: false });
    if (row.error === undefined) {
      assert.deepEqual(managedFieldsOf(run())?.[0]?.fieldsV1 ?? {}, row.fields);
      return;
    }
    assert.throws(run, (error: unknown) => {
      const status = findStatusError(error)?.status;
      assert.deepEqual(lines(status?.message ?? String(error)), lines(row.error ?? ""));
      assert.equal(status?.code, row.code);
      return true;
    });
  });
}

test("the order of several errors does not change between two tries", () => {
  const config = { apiVersion: "example.org/v1", kind: "Widget", spec: { on: "x", name: 1, replicas: "y" } };
  const text = (from: JsonObject): string => {
    const type = widgetVersions.typeAt("example.org/v1");
    assert.ok(type);
    return typeProblem(type, from, { allowDuplicates: false }) ?? "";
  };
  const reversed = { ...config, spec: { replicas: "y", name: 1, on: "x" } };
  assert.equal(text(config), text(reversed));
  assert.match(text(config), /^errors:\n {2}\.spec\.name: .*\n {2}\.spec\.on: .*\n {2}\.spec\.replicas: /);
});

test("stored objects may hold duplicates", () => {
  const type = applyTypeOf({ type: "array", items: { type: "string" }, "x-kubernetes-list-type": "set" });
  assert.equal(typeProblem(type, ["a", "a"], { allowDuplicates: true }), undefined);
  assert.match(typeProblem(type, ["a", "a"], { allowDuplicates: false }) ?? "", /duplicate entries/);
  assert.equal(typeProblem(untypedAtomic, [{ a: [1] }, null], { allowDuplicates: false }), undefined);
});
