// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import type { JsonObject } from "@purlin/kube-objects/json";
import { builtinOpenAPI, crdToOpenAPI } from "@purlin/kube-objects/openapi";
import { builtinV2Schema, customV2Schema } from "./v2-document.ts";

/** CRDs with all kinds of schemas, and the definitions kube-apiserver 1.36.3 made of them, its own words left out. */
const recorded = JSON.parse(readFileSync(new URL("testdata/v2-definitions.json", import.meta.url), "utf8")) as {
  readonly crds: readonly JsonObject[];
  readonly definitions: Readonly<Record<string, JsonObject>>;
};

for (const crd of recorded.crds) {
  const document = crdToOpenAPI(crd).get("apis/v2.example.org/v1");
  const own = Object.entries(document?.components.schemas ?? {}).filter(([name]) => name.startsWith("org.example"));
  for (const [name, schema] of own) {
    test(`${name} as the reference publishes it in v2`, () => {
      assert.deepEqual(customV2Schema(schema), recorded.definitions[name]);
    });
  }
}

const builtin = (name: string): JsonObject => {
  const schemas = builtinOpenAPI().document("apis/apps/v1")?.components.schemas ?? {};
  return builtinV2Schema(schemas[name] ?? {});
};

test("what may be text or a number is text", () => {
  assert.deepEqual(builtin("io.k8s.apimachinery.pkg.api.resource.Quantity"), { type: "string" });
  assert.deepEqual(builtin("io.k8s.apimachinery.pkg.util.intstr.IntOrString"), {
    type: "string",
    format: "int-or-string",
  });
});

test("references stand alone, without defaults", () => {
  const { spec } = (builtin("io.k8s.api.apps.v1.Deployment")["properties"] ?? {}) as Record<string, JsonObject>;
  assert.deepEqual(spec, { $ref: "#/definitions/io.k8s.api.apps.v1.DeploymentSpec" });
});
