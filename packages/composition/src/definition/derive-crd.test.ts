// SPDX-License-Identifier: Apache-2.0

import assert from "node:assert/strict";
import { suite, test } from "node:test";
import type { JsonObject } from "@purlin/kube-objects/json";
import { type KubeObject, memberAt, objectAt } from "@purlin/kube-objects/object";
import { appDefinition, cacheDefinition, type DefinitionWish, definitionVersion } from "../../test/definitions.ts";
import { deriveClaimCrd, deriveCompositeCrd } from "./derive-crd.ts";

const flagOff = { functionRevisions: false };

function versionAt(crd: KubeObject, index = 0): JsonObject {
  return (memberAt(crd, ["spec", "versions"]) as readonly JsonObject[])[index] ?? {};
}

function rootOf(crd: KubeObject, index = 0): JsonObject {
  return objectAt(versionAt(crd, index), ["schema", "openAPIV3Schema"]);
}

function fieldsOf(crd: KubeObject, part: "spec" | "status"): JsonObject {
  return objectAt(rootOf(crd), ["properties", part, "properties"]);
}

function both(wish: DefinitionWish): readonly KubeObject[] {
  const xrd = appDefinition(wish);
  return [deriveCompositeCrd(xrd, flagOff), deriveClaimCrd(xrd)];
}

suite("what is carried over", () => {
  test("an empty schema gives a CRD of our fields alone, with a spec that must be there", () => {
    for (const crd of both({ schema: {} })) {
      assert.deepEqual(rootOf(crd)["required"], ["spec"]);
      assert.ok("compositionRef" in fieldsOf(crd, "spec"));
      assert.ok("conditions" in fieldsOf(crd, "status"));
      assert.ok(!("image" in fieldsOf(crd, "spec")));
    }
  });

  for (const { authored, want } of [
    { authored: 10, want: 10 },
    { authored: 100, want: 63 },
    { authored: undefined, want: 63 },
  ]) {
    test(`a name limit of ${authored ?? "none"} becomes ${want}`, () => {
      const name = authored === undefined ? {} : { name: { type: "string", maxLength: authored, pattern: "^a" } };
      const schema = { type: "object", properties: { metadata: { type: "object", properties: name } } };
      for (const crd of both({ schema })) {
        const wanted = { type: "object", properties: { name: { type: "string", maxLength: want } } };
        assert.deepEqual(memberAt(rootOf(crd), ["properties", "metadata"]), wanted);
      }
    });
  }

  test("our fields replace the author's of the same name", () => {
    const spec = { type: "object", properties: { compositionRef: { type: "string" } } };
    for (const crd of both({ schema: { type: "object", properties: { spec } } })) {
      assert.equal(objectAt(fieldsOf(crd, "spec"), ["compositionRef"])["type"], "object");
    }
  });

  test("descriptions, rules, required and oneOf are kept; what a CRD's root could not have goes", () => {
    const rules = [{ rule: "true", message: "m" }];
    const part = {
      type: "object",
      description: "part",
      required: ["a"],
      properties: { a: { type: "string" } },
      "x-kubernetes-validations": rules,
      oneOf: [{ required: ["a"] }],
      anyOf: [{ required: ["a"] }],
      allOf: [{ required: ["a"] }],
      not: { required: ["b"] },
      default: {},
      minProperties: 1,
      additionalProperties: false,
    };
    const schema = {
      type: "object",
      description: "root",
      required: ["status"],
      "x-kubernetes-validations": rules,
      "x-kubernetes-preserve-unknown-fields": true,
      properties: { spec: part, status: part, extra: { type: "string" } },
    };
    const kept = ["description", "oneOf", "properties", "required", "type", "x-kubernetes-validations"];
    for (const crd of both({ schema })) {
      const root = rootOf(crd);
      assert.deepEqual(Object.keys(root).sort(), [
        "description",
        "properties",
        "required",
        "type",
        "x-kubernetes-validations",
      ]);
      assert.equal(root["description"], "root");
      assert.deepEqual(root["required"], ["spec"]);
      assert.ok(!("extra" in objectAt(root, ["properties"])));
      for (const name of ["spec", "status"]) {
        const made = objectAt(root, ["properties", name]);
        assert.deepEqual(Object.keys(made).sort(), kept, name);
        assert.deepEqual(made["required"], ["a"]);
      }
    }
  });

  test("unknown fields may be preserved in spec, not in status", () => {
    const part = { type: "object", "x-kubernetes-preserve-unknown-fields": true };
    for (const crd of both({ schema: { type: "object", properties: { spec: part, status: part } } })) {
      const keyword = "x-kubernetes-preserve-unknown-fields";
      assert.equal(objectAt(rootOf(crd), ["properties", "spec"])[keyword], true);
      assert.equal(objectAt(rootOf(crd), ["properties", "status"])[keyword], undefined);
    }
  });

  test("labels of spec.metadata win over the definition's; annotations come from spec.metadata alone", () => {
    const wish = {
      metadata: { name: "xapps.platform.example.org", labels: { a: "own", b: "own" }, annotations: { c: "own" } },
      spec: { metadata: { labels: { a: "spec" }, annotations: { d: "spec" } } },
    };
    for (const { metadata } of both(wish)) {
      assert.deepEqual(metadata.labels, { a: "spec", b: "own" });
      assert.deepEqual(metadata.annotations, { d: "spec" });
    }
  });

  test("authors' categories and columns come first", () => {
    const column = { name: "IMAGE", type: "string", jsonPath: ".spec.image" };
    const names = { kind: "XApp", plural: "xapps", categories: ["mine"] };
    const claimNames = { kind: "App", plural: "apps", categories: ["ours"] };
    const [composite, claim] = both({
      spec: { names, claimNames },
      version: { additionalPrinterColumns: [column] },
    });
    assert.ok(composite && claim);
    assert.deepEqual(memberAt(composite, ["spec", "names", "categories"]), ["mine", "composite"]);
    assert.deepEqual(memberAt(claim, ["spec", "names", "categories"]), ["ours", "claim"]);
    for (const crd of [composite, claim]) {
      const columns = versionAt(crd)["additionalPrinterColumns"] as readonly JsonObject[];
      assert.deepEqual(columns[0], column);
      assert.equal(columns.at(-1)?.["name"], "AGE");
    }
  });

  test("the referenceable version is the stored one; served is as the author says", () => {
    const versions = [
      definitionVersion("v1", { version: { referenceable: false, served: false } }),
      definitionVersion("v2"),
    ];
    for (const crd of both({ spec: { versions } })) {
      const flags = (memberAt(crd, ["spec", "versions"]) as readonly JsonObject[]).map(({ name, served, storage }) => ({
        name,
        served,
        storage,
      }));
      assert.deepEqual(flags, [
        { name: "v1", served: false, storage: false },
        { name: "v2", served: true, storage: true },
      ]);
    }
  });

  test("scale is on both CRDs, beside status", () => {
    const scale = { specReplicasPath: ".spec.n", statusReplicasPath: ".status.n" };
    for (const crd of both({ version: { subresources: { scale } } })) {
      assert.deepEqual(versionAt(crd)["subresources"], { status: {}, scale });
    }
  });

  test("a deprecated version and its warning are copied", () => {
    const [crd] = both({ version: { deprecated: true, deprecationWarning: "use v2" } });
    assert.ok(crd);
    assert.equal(versionAt(crd)["deprecated"], true);
    assert.equal(versionAt(crd)["deprecationWarning"], "use v2");
  });

  test("a conversion webhook converts both kinds", () => {
    const conversion = { strategy: "Webhook", webhook: { conversionReviewVersions: ["v1"] } };
    for (const crd of both({ spec: { conversion } }))
      assert.deepEqual(memberAt(crd, ["spec", "conversion"]), conversion);
  });
});

suite("what is injected", () => {
  test("references of namespaced composite resources have no namespace", () => {
    const path = ["resourceRefs", "items", "properties"];
    const modern = (scope: "Namespaced" | "Cluster"): JsonObject =>
      objectAt(fieldsOf(deriveCompositeCrd(cacheDefinition(scope), flagOff), "spec"), [
        "crossplane",
        "properties",
        ...path,
      ]);
    assert.ok(!("namespace" in modern("Namespaced")));
    assert.ok("namespace" in modern("Cluster"));
    const [legacy] = both({});
    assert.ok(legacy && "namespace" in objectAt(fieldsOf(legacy, "spec"), path));
  });

  test("what only legacy composite resources have", () => {
    for (const scope of ["Namespaced", "Cluster"] as const) {
      const crd = deriveCompositeCrd(cacheDefinition(scope), flagOff);
      const crossplaneFields = objectAt(fieldsOf(crd, "spec"), ["crossplane", "properties"]);
      assert.deepEqual(Object.keys(fieldsOf(crd, "spec")).sort(), ["crossplane", "image"]);
      for (const name of ["claimRef", "writeConnectionSecretToRef"]) assert.ok(!(name in crossplaneFields), name);
      assert.deepEqual(Object.keys(fieldsOf(crd, "status")).sort(), ["conditions", "lastHandledReconcileAt", "url"]);
    }
    const [composite, claim] = both({});
    assert.ok(composite && claim);
    const legacy = [
      "claimConditionTypes",
      "claimConditions",
      "conditions",
      "connectionDetails",
      "lastHandledReconcileAt",
    ];
    assert.deepEqual(Object.keys(fieldsOf(composite, "status")).sort(), [...legacy, "url"]);
    assert.deepEqual(Object.keys(fieldsOf(claim, "status")).sort(), [
      "claimConditionTypes",
      "conditions",
      "connectionDetails",
      "url",
    ]);
  });

  test("ours give way to what the author has under the same name, whatever its type", () => {
    const authored = {
      claimConditions: { type: "string" },
      lastHandledReconcileAt: { type: "integer" },
      crossplane: { type: "array", items: { type: "string" } },
      conditions: { type: "string" },
    };
    const schema = { type: "object", properties: { status: { type: "object", properties: authored } } };
    const crd = deriveCompositeCrd(appDefinition({ schema }), { functionRevisions: true });
    const { conditions, ...kept } = authored;
    assert.notDeepEqual(objectAt(fieldsOf(crd, "status"), ["conditions"]), conditions, "shipped fields win");
    for (const [name, field] of Object.entries(kept)) assert.deepEqual(fieldsOf(crd, "status")[name], field);
  });

  test("which function revisions ran is there when the switch is on, in every scope, never on claims", () => {
    const on = { functionRevisions: true };
    const xrds = [appDefinition(), cacheDefinition("Namespaced"), cacheDefinition("Cluster")];
    for (const xrd of xrds) {
      const field = objectAt(fieldsOf(deriveCompositeCrd(xrd, on), "status"), ["crossplane", "properties"]);
      assert.equal(objectAt(field, ["functionRevisions"])["x-kubernetes-list-type"], "map");
      assert.ok(!("crossplane" in fieldsOf(deriveCompositeCrd(xrd, flagOff), "status")));
    }
    assert.ok(!("crossplane" in fieldsOf(deriveClaimCrd(appDefinition()), "status")));
  });

  test("without a default policy in the definition the CRDs have none", () => {
    const [composite, claim] = both({});
    assert.ok(composite && claim);
    assert.ok(!("default" in objectAt(fieldsOf(composite, "spec"), ["compositionUpdatePolicy"])));
    assert.ok(!("default" in objectAt(fieldsOf(claim, "spec"), ["compositeDeletePolicy"])));
    const [set, offered] = both({
      spec: { defaultCompositionUpdatePolicy: "Manual", defaultCompositeDeletePolicy: "Foreground" },
    });
    assert.ok(set && offered);
    assert.equal(objectAt(fieldsOf(set, "spec"), ["compositionUpdatePolicy"])["default"], "Manual");
    assert.equal(objectAt(fieldsOf(offered, "spec"), ["compositeDeletePolicy"])["default"], "Foreground");
    assert.ok(!("default" in objectAt(fieldsOf(offered, "spec"), ["compositionUpdatePolicy"])));
  });
});

suite("what cannot become a CRD", () => {
  const refused: Record<string, { reason: string; wish: DefinitionWish; claim?: boolean; want: RegExp }> = {
    NoSchema: {
      reason: "a version without a schema",
      wish: { spec: { versions: [{ name: "v1", served: true, referenceable: true }] } },
      want: /^cannot generate CRD for "Composite Resource" "xapps\.platform\.example\.org": spec\.versions\[0\]\.schema: custom resource validation cannot be nil$/,
    },
    EmptySchema: {
      reason: "a schema with nothing in it",
      wish: { version: { schema: {} } },
      want: /spec\.versions\[0\]\.schema\.openAPIV3Schema: it is missing$/,
    },
    PropertiesList: {
      reason: "properties are by name",
      wish: { schema: { type: "object", properties: [] } },
      want: /cannot parse validation schema: cannot parse validation schema: spec\.versions\[0\]\.schema\.openAPIV3Schema\.properties: must be an object of schemas by field name$/,
    },
    DeepType: {
      reason: "the place is named however deep it is",
      wish: {
        schema: { properties: { spec: { properties: { sizes: { type: "array", items: { type: ["string"] } } } } } },
      },
      want: /openAPIV3Schema\.properties\.spec\.properties\.sizes\.items\.type: must be a string$/,
    },
    RequiredNumber: {
      reason: "required names fields",
      wish: { schema: { properties: { spec: { required: ["a", 1] } } } },
      want: /openAPIV3Schema\.properties\.spec\.required\[1\]: must be a string$/,
    },
    MaxLengthText: {
      reason: "limits are numbers",
      wish: { schema: { properties: { metadata: { properties: { name: { maxLength: "9" } } } } } },
      want: /name\.maxLength: must be an integer$/,
    },
    NoClaimNames: {
      reason: "claims need names",
      wish: { spec: { claimNames: undefined as unknown as JsonObject } },
      claim: true,
      want: /^cannot generate CRD for "Composite Resource Claim" .*: invalid resource claim names: missing names$/,
    },
    SameKind: {
      reason: "a claim's kind is not its composite resource's",
      wish: { spec: { claimNames: { kind: "XApp", plural: "apps" } } },
      claim: true,
      want: /: invalid resource claim names: "XApp" conflicts with composite resource name$/,
    },
    SamePlural: {
      reason: "nor its plural",
      wish: { spec: { claimNames: { kind: "App", plural: "xapps" } } },
      claim: true,
      want: /: "xapps" conflicts with composite resource name$/,
    },
    SameSingular: {
      reason: "nor its singular",
      wish: {
        spec: {
          names: { kind: "XApp", plural: "xapps", singular: "app" },
          claimNames: { kind: "App", plural: "apps", singular: "app" },
        },
      },
      claim: true,
      want: /: "app" conflicts with composite resource name$/,
    },
    SameListKind: {
      reason: "nor its list kind",
      wish: {
        spec: {
          names: { kind: "XApp", plural: "xapps", listKind: "Apps" },
          claimNames: { kind: "App", plural: "apps", listKind: "Apps" },
        },
      },
      claim: true,
      want: /: "Apps" conflicts with composite resource name$/,
    },
  };

  for (const [name, { reason, wish, claim, want }] of Object.entries(refused)) {
    test(`${name}: ${reason}`, () => {
      const xrd = appDefinition(wish);
      assert.throws(() => (claim ? deriveClaimCrd(xrd) : deriveCompositeCrd(xrd, flagOff)), { message: want });
    });
  }

  test("an empty singular or list kind never conflicts", () => {
    const names = { kind: "XApp", plural: "xapps", singular: "", listKind: "" };
    const claimNames = { kind: "App", plural: "apps", singular: "", listKind: "" };
    assert.doesNotThrow(() => deriveClaimCrd(appDefinition({ spec: { names, claimNames } })));
  });

  test("null members of a schema are as absent", () => {
    const schema = { type: "object", properties: { spec: { type: "object", description: null, properties: null } } };
    assert.doesNotThrow(() => deriveCompositeCrd(appDefinition({ schema }), flagOff));
  });
});
