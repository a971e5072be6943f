// SPDX-License-Identifier: Apache-2.0
// Patches of all three kinds with the results, or the errors, observed from the reference (evanphx/json-patch v4 and
// apimachinery's strategicpatch over the types of k8s.io/api).
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { findStatusError } from "../errors/status-error.ts";
import type { JsonObject, JsonValue } from "../json/json-value.ts";
import { deepFreeze } from "../object/kube-object.ts";
import { builtinOpenAPI } from "../openapi/builtin-openapi.ts";
import { applyJsonPatch } from "./json-patch.ts";
import { applyMergePatch } from "./merge-patch.ts";
import { applyStrategicMergePatch } from "./strategic-merge.ts";

interface Row {
  readonly type: "json" | "merge" | "strategic";
  readonly kind?: string;
  readonly doc: JsonObject;
  readonly patch: JsonValue;
  readonly result?: JsonValue;
  readonly error?: string;
}

const rows = readFileSync(new URL("./testdata/patches.jsonl", import.meta.url), "utf8")
  .split("\n")
  .filter((line) => line !== "")
  .map((line) => JSON.parse(line) as Row);

const components: Readonly<Record<string, readonly [string, string]>> = {
  Deployment: ["apis/apps/v1", "io.k8s.api.apps.v1.Deployment"],
  Pod: ["api/v1", "io.k8s.api.core.v1.Pod"],
  Service: ["api/v1", "io.k8s.api.core.v1.Service"],
  ServiceAccount: ["api/v1", "io.k8s.api.core.v1.ServiceAccount"],
  ConfigMap: ["api/v1", "io.k8s.api.core.v1.ConfigMap"],
  CustomResourceDefinition: [
    "apis/apiextensions.k8s.io/v1",
    "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.CustomResourceDefinition",
  ],
};

function strategic(kind: string, doc: JsonObject, patch: JsonObject): JsonObject {
  const [document = "", name = ""] = components[kind] ?? [];
  const schemas = builtinOpenAPI().document(document)?.components.schemas ?? {};
  const schema = schemas[name];
  assert.ok(schema, `no schema of ${kind}`);
  return applyStrategicMergePatch(doc, patch, { schema, component: (key) => schemas[key] });
}

function patched({ type, kind = "", doc, patch }: Row): JsonValue {
  if (type === "json") return applyJsonPatch(doc, patch as JsonObject[]);
  if (type === "merge") return applyMergePatch(doc, patch as JsonObject);
  return strategic(kind, doc, patch as JsonObject);
}

for (const [number, row] of rows.entries()) {
  test(`patch ${number}: ${row.type} ${row.kind ?? ""} ${JSON.stringify(row.patch).slice(0, 80)}`, () => {
    deepFreeze(row);
    if (row.error === undefined) {
      assert.deepEqual(JSON.parse(JSON.stringify(patched(row))), row.result);
      return;
    }
    assert.throws(
      () => patched(row),
      (error: unknown) => {
        const status = findStatusError(error)?.status;
        if (row.type === "json") assert.equal(status?.code, 422);
        else if (status?.code !== 422) assert.equal(status?.message, row.error);
        return true;
      },
      row.error,
    );
  });
}
