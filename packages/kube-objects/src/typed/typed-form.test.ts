// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import fc from "fast-check";
import type { JsonObject } from "../json/json-value.ts";
import { decodeProtobuf } from "../protobuf/decode-protobuf.ts";
import { canonicalQuantity, compareQuantities } from "./quantity.ts";
import { hasTypedForm, toTypedForm } from "./typed-form.ts";

const read = (path: string): unknown => JSON.parse(readFileSync(new URL(path, import.meta.url), "utf8"));

// Objects as a kube-apiserver 1.36.3 stored them.
for (const object of read("./testdata/stored.json") as readonly JsonObject[]) {
  test(`${object["kind"]} ${(object["metadata"] as JsonObject)["name"]}: what the reference stored is in typed form`, () => {
    assert.deepEqual(toTypedForm(object), { object, unknown: [] });
  });
}

for (const { protobuf } of read("../protobuf/testdata/real-server.json") as readonly { readonly protobuf: string }[]) {
  const decoded = decodeProtobuf(Buffer.from(protobuf, "base64"));
  const object = decoded.known ? decoded.object : {};
  test(`${object["kind"]}: what came as protobuf is in typed form already`, () => {
    assert.deepEqual(toTypedForm(object), { object, unknown: [] });
  });
}

const unknownInSchemas: Record<string, { reason: string; schema: JsonObject; want: string[] }> = {
  Root: { reason: "in the schema itself", schema: { type: "object", nope: 1 }, want: ["nope"] },
  Property: {
    reason: "in a property, by the name of the property",
    schema: { properties: { a: { nope: 1, properties: { b: { typ: "x" } } }, c: { nope: 1 } } },
    want: ["properties.a.nope", "properties.a.properties.b.typ", "properties.c.nope"],
  },
  AllOf: { reason: "in a list of schemas", schema: { allOf: [{}, { nope: 1 }] }, want: ["allOf[1].nope"] },
  Items: {
    reason: "not in a field that may be a schema or a list of them: nothing is reported there",
    schema: { properties: { l: { items: { nope: 1, properties: { a: { nope: 1 } } } } } },
    want: [],
  },
  ItemsList: { reason: "nor in such a list", schema: { items: [{ nope: 1 }] }, want: [] },
  Additional: { reason: "nor where a switch may stand", schema: { additionalProperties: { nope: 1 } }, want: [] },
};
for (const [name, { reason, schema, want }] of Object.entries(unknownInSchemas)) {
  test(`unknown in schemas: ${name}: ${reason}`, () => {
    const versions = [{ name: "v1", schema: { openAPIV3Schema: schema } }];
    const crd = { apiVersion: "apiextensions.k8s.io/v1", kind: "CustomResourceDefinition", spec: { versions } };
    const { object, unknown } = toTypedForm(crd);
    const at = "spec.versions[0].schema.openAPIV3Schema";
    assert.deepEqual(
      [...unknown].sort(),
      want.map((path) => `${at}.${path}`),
    );
    assert.doesNotMatch(JSON.stringify(object), /nope|typ"/, "gone they are in any case");
  });
}

test("unknown fields are dropped and reported, at every level", () => {
  const { object, unknown } = toTypedForm({
    apiVersion: "apps/v1",
    kind: "Deployment",
    metadata: { name: "d", odd: 1 },
    spec: { replicaz: 1, template: { spec: { containers: [{ name: "a", imagee: "x" }] } } },
    extra: {},
  });
  assert.deepEqual([...unknown].sort(), [
    "extra",
    "metadata.odd",
    "spec.replicaz",
    "spec.template.spec.containers[0].imagee",
  ]);
  assert.equal(JSON.stringify(object).includes("imagee"), false);
});

test("unknown fields are reported in document order", () => {
  const spec = { template: { spec: { containers: [{ b: 1, name: "a", a: 1 }], odd: 1 } }, zz: 1, replicas: 1, aa: 1 };
  const { unknown } = toTypedForm({ apiVersion: "apps/v1", kind: "Deployment", spec, metadata: { odd: 1 } });
  assert.deepEqual(unknown, [
    "spec.template.spec.containers[0].b",
    "spec.template.spec.containers[0].a",
    "spec.template.spec.odd",
    "spec.zz",
    "spec.aa",
    "metadata.odd",
  ]);
});

test("empty optional fields go, fields that are always written come", () => {
  const { object } = toTypedForm({
    apiVersion: "v1",
    kind: "ConfigMap",
    metadata: { name: "c", labels: {}, annotations: null, generateName: "" },
    data: {},
  });
  assert.deepEqual(object, { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "c" } });
});

const mistakes: Record<string, { readonly object: JsonObject; readonly says: string }> = {
  "string for a number": {
    object: { apiVersion: "apps/v1", kind: "Deployment", spec: { replicas: "3" } },
    says: "json: cannot unmarshal string into Go struct field DeploymentSpec.spec.replicas of type int32",
  },
  "fraction for a whole number": {
    object: { apiVersion: "apps/v1", kind: "Deployment", spec: { replicas: 1.5 } },
    says: "json: cannot unmarshal number 1.5 into Go struct field DeploymentSpec.spec.replicas of type int32",
  },
  "number too large": {
    object: { apiVersion: "apps/v1", kind: "Deployment", spec: { replicas: 4294967296 } },
    says: "json: cannot unmarshal number 4294967296 into Go struct field DeploymentSpec.spec.replicas of type int32",
  },
  "number for a label": {
    object: { apiVersion: "v1", kind: "ConfigMap", metadata: { labels: { a: 1 } } },
    says: "json: cannot unmarshal number into Go struct field ObjectMeta.metadata.labels of type string",
  },
  "list for an object": {
    object: { apiVersion: "v1", kind: "Pod", spec: [] },
    says: "json: cannot unmarshal array into Go struct field Pod.spec of type v1.PodSpec",
  },
  "object for a list": {
    object: { apiVersion: "v1", kind: "Pod", spec: { containers: {} } },
    says: "json: cannot unmarshal object into Go struct field PodSpec.spec.containers of type []v1.Container",
  },
  "no time": {
    object: { apiVersion: "v1", kind: "Event", firstTimestamp: "yesterday" },
    says: 'parsing time "yesterday" as "2006-01-02T15:04:05Z07:00": cannot parse "yesterday" as "2006"',
  },
};
for (const [name, { object, says }] of Object.entries(mistakes)) {
  test(`a value that does not fit: ${name}`, () => {
    assert.throws(() => toTypedForm(object), { name: "TypedFormError", message: says });
  });
}

const quantities: Record<string, string | undefined> = {
  "0": "0",
  "0m": "0",
  "0.1": "100m",
  "1000m": "1",
  "1.5": "1500m",
  "1500": "1500",
  "1000": "1k",
  "1024": "1024",
  "1Ki": "1Ki",
  "1024Mi": "1Gi",
  "1.5Gi": "1536Mi",
  "0.5Ki": "512",
  "1e3": "1e3",
  "12e6": "12e6",
  "1E": "1E",
  "100n": "100n",
  "0.0000000001": "1n",
  "-1500m": "-1500m",
  "+5": "5",
  ".5": "500m",
  "5.": "5",
  "": undefined,
  ".": undefined,
  "1x": undefined,
  "1 Gi": undefined,
  "1e9999": undefined,
};
for (const [text, canonical] of Object.entries(quantities)) {
  test(`quantity ${JSON.stringify(text)} is ${canonical}`, () => assert.equal(canonicalQuantity(text), canonical));
}

test("a canonical quantity has the same amount, and stays as it is once no binary suffix is lost", () => {
  const texts = fc.tuple(fc.nat(1e9), fc.nat(999), fc.constantFrom("", "m", "k", "M", "Ki", "Gi", "u", "e3"));
  fc.assert(
    fc.property(texts, ([whole, fraction, suffix]) => {
      const text = `${whole}.${fraction}${suffix}`;
      const canonical = canonicalQuantity(text) ?? "";
      assert.equal(compareQuantities(canonical, text), 0);
      // A binary amount that 1024 does not divide is written without a suffix, and is a decimal amount from then on.
      const again = canonicalQuantity(canonical) ?? "";
      assert.equal(canonicalQuantity(again), again);
    }),
  );
});

test("any JSON ends in an object or an error about a field", () => {
  fc.assert(
    fc.property(fc.object(), (random) => {
      try {
        toTypedForm({ apiVersion: "v1", kind: "Pod", spec: random as JsonObject });
      } catch (error) {
        assert.equal((error as Error).name, "TypedFormError");
      }
    }),
  );
});

test("kinds without known fields are reported", () => {
  assert.ok(hasTypedForm("v1", "Pod"));
  assert.ok(!hasTypedForm("example.org/v1", "Widget"));
});

test("maps are written in the order of their keys", () => {
  const data = { b: "1", a: "2", "\u{1F600}": "3", "\uFF5E": "4" };
  const { object } = toTypedForm({ apiVersion: "v1", kind: "ConfigMap", metadata: { name: "x", labels: data }, data });
  const order = ["a", "b", "\uFF5E", "\u{1F600}"];
  assert.deepEqual(Object.keys(object["data"] as object), order, "by their bytes");
  assert.deepEqual(Object.keys((object["metadata"] as { labels: object }).labels), order);
});

test("all of very many unknown fields are reported, the first hundred in document order", () => {
  const names = Array.from({ length: 500 }, (_, i) => `x${i}`);
  const fields = Object.fromEntries(names.map((name) => [name, 1]));
  const { unknown } = toTypedForm({ zzz: 1, ...fields, apiVersion: "v1", kind: "ConfigMap", metadata: { ...fields } });
  assert.deepEqual(unknown.slice(0, 100), ["zzz", ...names.slice(0, 99)]);
  assert.equal(new Set(unknown).size, 1001);
  assert.equal(unknown.length, 1001);
});
