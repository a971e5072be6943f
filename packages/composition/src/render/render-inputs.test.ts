// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import { createResourceFetcher, noSchemas, objectsReader } from "@purlin/function-runner";
import type { JsonObject } from "@purlin/kube-objects/json";
import type { KubeObject } from "@purlin/kube-objects/object";
import { createTestFunctions, respond } from "../../test/test-doubles.ts";
import { type Rendered, renderComposite } from "./render-composite.ts";
import { RenderError } from "./render-inputs.ts";

const schema: JsonObject = {
  type: "object",
  properties: {
    spec: {
      type: "object",
      properties: { size: { type: "integer" }, tier: { type: "string", default: "gold" } },
    },
  },
};

function definition(spec: JsonObject = {}, version = "v2"): KubeObject {
  return {
    apiVersion: `apiextensions.crossplane.io/${version}`,
    kind: "CompositeResourceDefinition",
    metadata: { name: "apps.bench.example.org" },
    spec: {
      group: "bench.example.org",
      names: { kind: "App", plural: "apps" },
      versions: [{ name: "v1", served: true, referenceable: true, schema: { openAPIV3Schema: schema } }],
      ...spec,
    },
  };
}

const type = { apiVersion: "bench.example.org/v1", kind: "App" };
const composition: KubeObject = {
  apiVersion: "apiextensions.crossplane.io/v1",
  kind: "Composition",
  metadata: { name: "comp" },
  spec: { compositeTypeRef: type, pipeline: [{ step: "t", functionRef: { name: "fn" } }] },
};

/** Renders an App with a function that composes one ConfigMap; returns the spec that the function got. */
async function render(xrd: KubeObject, spec?: JsonObject): Promise<{ rendered: Rendered; seen: JsonObject }> {
  let seen: JsonObject = {};
  const fetchers = {
    resources: createResourceFetcher(objectsReader([], { unknownKinds: "empty" })),
    schema: noSchemas,
  };
  const functions = createTestFunctions(fetchers);
  functions.set("fn", (request) => {
    seen = request.observed?.composite?.resource?.value["spec"] as JsonObject;
    const a = { apiVersion: "v1", kind: "ConfigMap", metadata: { namespace: "ns1" } };
    return respond(request, { resources: { a } });
  });
  const xr: KubeObject = { ...type, metadata: { name: "one", namespace: "ns1" }, ...(spec ? { spec } : {}) };
  const inputs = { xr, composition, definition: xrd };
  return { rendered: await renderComposite(inputs, { runStep: functions.runStep, fetchers }), seen };
}

const defaults: Readonly<Record<string, { reason: string; spec?: JsonObject; want: JsonObject }>> = {
  Absent: { reason: "a default is filled in", spec: { size: 3 }, want: { size: 3, tier: "gold" } },
  Present: { reason: "what is written stays", spec: { tier: "silver" }, want: { tier: "silver" } },
  NoSpec: { reason: "an XR without spec has an empty one", want: { tier: "gold" } },
};

for (const [name, { reason, spec, want }] of Object.entries(defaults)) {
  test(`defaults of the definition's schema, ${name}: ${reason}`, async () => {
    const { rendered, seen } = await render(definition(), spec);
    const { crossplane: _, ...own } = seen;
    assert.deepEqual(own, want, "what the function saw");
    const { crossplane, ...full } = rendered.xr.full["spec"] as JsonObject;
    assert.deepEqual(full, want, "what the full XR shows");
    assert.deepEqual(rendered.xr.short["spec"], { crossplane }, "what the short one shows");
  });
}

test("a definition of v2 without a scope is namespaced, one of v1 legacy", async () => {
  const membersOf = async (version: string): Promise<string[]> => {
    const { rendered } = await render(definition({}, version));
    return Object.keys(rendered.xr.short["spec"] as JsonObject);
  };
  assert.deepEqual(await membersOf("v2"), ["crossplane"]);
  assert.deepEqual(await membersOf("v1"), ["resourceRefs"]);
});

const unusable: Readonly<Record<string, { versions: JsonObject[]; want: RegExp; field: string }>> = {
  OtherVersion: {
    versions: [{ name: "v2", schema: { openAPIV3Schema: schema } }],
    want: /^definition "apps\.bench\.example\.org" has no version of apiVersion bench\.example\.org\/v1$/,
    field: "spec.versions",
  },
  NoSchema: {
    versions: [{ name: "v1" }],
    want: /spec\.versions\[0\]\.schema: custom resource validation cannot be nil$/,
    field: "spec",
  },
};

for (const [name, { versions, want, field }] of Object.entries(unusable)) {
  test(`a definition that does not fit is reported with its path, ${name}`, async () => {
    const error = await render(definition({ versions })).then(
      () => assert.fail("it was rendered"),
      (problem: unknown) => problem,
    );
    assert.ok(error instanceof RenderError, String(error));
    assert.match(error.message, want);
    assert.deepEqual([error.input, error.field.join(".")], ["definition", field]);
  });
}
