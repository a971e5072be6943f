// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { suite, test } from "node:test";
import type { JsonObject, JsonValue } from "@purlin/kube-objects/json";
import type { KubeObject } from "@purlin/kube-objects/object";
import type { Schema } from "@purlin/kube-objects/schema";
import fc from "fast-check";
import { createCrd } from "./crd.ts";
import { mergeCrd } from "./install-crds.ts";
import { checked, column, type Fields, flag, listOf, mapOf, object, text } from "./schema.ts";

interface Wish {
  readonly fields?: Fields;
  readonly versions?: readonly { readonly name: string; readonly isStored?: boolean }[];
  readonly columns?: readonly string[];
  readonly shortNames?: readonly string[];
  readonly categories?: readonly string[];
  readonly hasStatus?: boolean;
}

function crd(wish: Wish = {}): KubeObject {
  const { fields = {}, versions = [{ name: "v1", isStored: true }], columns = [], hasStatus = false } = wish;
  return createCrd({
    group: "example.org",
    kind: "Thing",
    plural: "things",
    ...(wish.shortNames && { shortNames: wish.shortNames }),
    ...(wish.categories && { categories: wish.categories }),
    versions: versions.map((version) => ({
      ...version,
      fields,
      columns: columns.map((name) => column(name, `.spec.${name}`)),
      hasStatus,
    })),
  });
}

const specOf = (one: KubeObject): JsonObject => one["spec"] as JsonObject;
const versionsOf = (one: KubeObject): JsonObject[] => [...(specOf(one)["versions"] as readonly JsonObject[])];
const fieldsOf = (one: KubeObject): JsonObject => {
  const { schema } = versionsOf(one)[0] as {
    readonly schema: { readonly openAPIV3Schema: { readonly properties: JsonObject } };
  };
  return schema.openAPIV3Schema.properties;
};

suite("a CRD over another", () => {
  test("fields that only the other has stay, however deep; those of both are ours", () => {
    const had = crd({
      fields: {
        spec: object({
          kept: text,
          both: { ...text, description: "theirs" },
          deep: object({ theirs: flag, "shared*": text }),
        }),
        theirs: object({ whole: text }),
      },
    });
    const want = crd({ fields: { spec: object({ "both*": flag, deep: object({ shared: text, ours: text }) }) } });
    const fields = fieldsOf(mergeCrd(had, want));
    const spec = fields["spec"] as JsonObject;
    assert.deepEqual(spec["required"], ["both"]);
    assert.deepEqual(spec["properties"], {
      both: flag,
      deep: { type: "object", properties: { shared: text, ours: text, theirs: flag } },
      kept: text,
    });
    assert.deepEqual(fields["theirs"], object({ whole: text }));
  });

  test("a description of the other stays, whether or not ours has one", () => {
    const had = crd({ fields: { spec: object({ a: { ...text, description: "theirs" }, b: text }) } });
    const [a, b] = [
      { ...text, description: "ours" },
      { ...text, description: "ours" },
    ];
    const merged = fieldsOf(mergeCrd(had, crd({ fields: { spec: object({ a, b }) } })));
    const { properties } = merged["spec"] as { readonly properties: JsonObject };
    assert.deepEqual(properties, { a: { ...text, description: "theirs" }, b });
  });

  test("descriptions of the other stay where ours has none", () => {
    const had = crd({ fields: { spec: object({ a: { ...text, description: "theirs" } }) } });
    const want = crd({ fields: { spec: object({ a: text }) } });
    assert.deepEqual((fieldsOf(mergeCrd(had, want))["spec"] as JsonObject)["properties"], {
      a: { ...text, description: "theirs" },
    });
  });

  test("items of lists and values of maps are merged too; rules and list types are ours", () => {
    const item = (fields: Fields): Schema => listOf(checked(object(fields), { "self.a": "theirs" }));
    const had = crd({ fields: { list: item({ a: text, b: text }), map: mapOf(object({ b: text })) } });
    const want = crd({
      fields: { list: listOf(object({ a: flag }), { mapBy: "a" }), map: mapOf(object({ a: text })) },
    });
    const { list, map } = fieldsOf(mergeCrd(had, want));
    assert.deepEqual(list, listOf(object({ a: flag, b: text }), { mapBy: "a" }));
    assert.deepEqual(map, mapOf(object({ a: text, b: text })));
  });

  test("unknown fields that were kept are kept", () => {
    const keeping = { ...object({ a: text }), "x-kubernetes-preserve-unknown-fields": true };
    const merged = mergeCrd(crd({ fields: { spec: keeping } }), crd({ fields: { spec: object({ a: text }) } }));
    assert.equal((fieldsOf(merged)["spec"] as JsonObject)["x-kubernetes-preserve-unknown-fields"], true);
  });

  test("a map does not become fields, nor fields a map", () => {
    const [map, fields] = [crd({ fields: { spec: mapOf() } }), crd({ fields: { spec: object({ a: text }) } })];
    assert.deepEqual(fieldsOf(mergeCrd(map, fields))["spec"], object({ a: text }));
    assert.deepEqual(fieldsOf(mergeCrd(fields, map))["spec"], mapOf());
  });

  test("versions that only the other has stay; ours is stored", () => {
    const had = crd({ versions: [{ name: "v1beta1", isStored: true }] });
    const merged = mergeCrd(had, crd({ versions: [{ name: "v1", isStored: true }, { name: "v1beta1" }] }));
    assert.deepEqual(
      versionsOf(merged).map(({ name, storage }) => `${name} ${storage}`),
      ["v1beta1 false", "v1 true"],
    );
  });

  test("an unknown stored version stays the stored one: ours would prune what it holds", () => {
    const had = crd({ versions: [{ name: "v1" }, { name: "v3", isStored: true }] });
    const merged = mergeCrd(had, crd());
    assert.deepEqual(
      versionsOf(merged).map(({ name, storage }) => `${name} ${storage}`),
      ["v1 false", "v3 true"],
    );
  });

  test("columns, short names and categories of the other come after ours", () => {
    const had = crd({ columns: ["THEIRS", "BOTH"], shortNames: ["b", "t"], categories: ["c"] });
    const merged = mergeCrd(had, crd({ columns: ["BOTH", "OURS"], shortNames: ["b"], categories: ["d"] }));
    const columns = versionsOf(merged)[0]?.["additionalPrinterColumns"] as readonly JsonObject[];
    assert.deepEqual(
      columns.map(({ name }) => name),
      ["BOTH", "OURS", "THEIRS"],
    );
    const names = specOf(merged)["names"] as JsonObject;
    assert.deepEqual(names["shortNames"], ["b", "t"]);
    assert.deepEqual(names["categories"], ["d", "c"]);
  });

  test("subresources are never taken away", () => {
    const merged = mergeCrd(crd({ hasStatus: true }), crd({ hasStatus: false }));
    assert.deepEqual(versionsOf(merged)[0]?.["subresources"], { status: {} });
  });

  test("a conversion webhook that is no longer served is removed", () => {
    const had = crd();
    const webhook = { strategy: "Webhook", webhook: { conversionReviewVersions: ["v1"] } };
    const merged = mergeCrd({ ...had, spec: { ...specOf(had), conversion: webhook } }, crd());
    assert.deepEqual(specOf(merged)["conversion"], { strategy: "None" });
  });

  test("metadata is the other's", () => {
    const metadata = {
      name: "things.example.org",
      labels: { a: "b" },
      annotations: { c: "d" },
      uid: "u",
      resourceVersion: "7",
    };
    assert.deepEqual(mergeCrd({ ...crd(), metadata }, crd()).metadata, metadata);
  });
});

// Schemas of every shape that CRDs of ours have.
const { schema: anySchema } = fc.letrec<{ readonly schema: Schema }>((tie) => ({
  schema: fc.oneof(
    { depthSize: "small" },
    fc.constantFrom<Schema>(text, flag, { type: "integer" }, { ...text, description: "d" }),
    fc
      .dictionary(fc.constantFrom("a", "b", "c", "d*"), tie("schema"), { maxKeys: 3 })
      .map((fields) => object(fields as Fields)),
    tie("schema").map((items) => listOf(items)),
    tie("schema").map((values) => mapOf(values)),
  ),
}));

suite("for any two CRDs", () => {
  const any = fc.dictionary(fc.constantFrom("spec", "status", "data"), anySchema, { maxKeys: 3 });

  test("merging once more changes nothing", () => {
    fc.assert(
      fc.property(any, any, (theirs, ours) => {
        const want = crd({ fields: ours });
        const merged = mergeCrd(crd({ fields: theirs }), want);
        assert.deepEqual(mergeCrd(merged, want), merged);
      }),
    );
  });

  test("every field of ours is there, and every field of theirs that does not contradict ours", () => {
    fc.assert(
      fc.property(any, any, (theirs, ours) => {
        const merged = fieldsOf(mergeCrd(crd({ fields: theirs }), crd({ fields: ours })));
        for (const name of [...Object.keys(ours), ...Object.keys(theirs)]) assert.ok(name in merged, name);
        for (const [name, schema] of Object.entries(ours)) assertHas(merged[name] as JsonObject, schema);
      }),
    );
  });
});

/** Whether a schema says all that another says. */
function assertHas(schema: JsonObject, wanted: JsonObject): void {
  for (const [key, value] of Object.entries(wanted)) {
    if (key === "properties") {
      const properties = schema[key] as JsonObject;
      for (const [name, field] of Object.entries(value as JsonObject))
        assertHas(properties[name] as JsonObject, field as JsonObject);
    } else if (key === "items" || key === "additionalProperties") {
      assertHas(schema[key] as JsonObject, value as JsonObject);
    } else {
      assert.deepEqual(schema[key] as JsonValue, value, key);
    }
  }
}
