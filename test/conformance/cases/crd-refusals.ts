// SPDX-License-Identifier: Apache-2.0
import { type Case, scenario } from "../harness/case.ts";
import { crds, ownGroup } from "../harness/fixtures.ts";
import type { Loose } from "../harness/loose.ts";
import { smallCrd } from "../harness/small-crd.ts";

const schemas: Readonly<Record<string, Loose>> = {
  "no type": { properties: { spec: {} } },
  "root is not an object": { type: "string" },
  $ref: { type: "object", properties: { a: { $ref: "#/x" } } },
  "array without items": { type: "object", properties: { a: { type: "array" } } },
  "properties and additional": {
    type: "object",
    properties: {
      a: { type: "object", properties: { b: { type: "string" } }, additionalProperties: { type: "string" } },
    },
  },
  "unique items": {
    type: "object",
    properties: { a: { type: "array", uniqueItems: true, items: { type: "string" } } },
  },
  "type in not": { type: "object", properties: { a: { type: "string", not: { type: "string" } } } },
  "default in not": { type: "object", properties: { a: { type: "string", not: { default: "x" } } } },
  "property only in anyOf": { type: "object", anyOf: [{ properties: { a: { minimum: 1 } } }] },
  "map without its key": {
    type: "object",
    properties: {
      a: {
        type: "array",
        "x-kubernetes-list-type": "map",
        "x-kubernetes-list-map-keys": ["k"],
        items: { type: "object", properties: { k: { type: "string" } } },
      },
    },
  },
  "map without keys": {
    type: "object",
    properties: { a: { type: "array", "x-kubernetes-list-type": "map", items: { type: "object" } } },
  },
  "keys without map": {
    type: "object",
    properties: { a: { type: "array", "x-kubernetes-list-map-keys": ["k"], items: { type: "object" } } },
  },
  "set of objects": {
    type: "object",
    properties: {
      a: {
        type: "array",
        "x-kubernetes-list-type": "set",
        items: { type: "object", properties: { k: { type: "string" } } },
      },
    },
  },
  "unknown list type": {
    type: "object",
    properties: { a: { type: "array", "x-kubernetes-list-type": "nope", items: { type: "string" } } },
  },
  "unknown map type": { type: "object", properties: { a: { type: "object", "x-kubernetes-map-type": "nope" } } },
  "bad default": { type: "object", properties: { a: { type: "string", default: 7 } } },
  "unpruned default": {
    type: "object",
    properties: { a: { type: "object", properties: { b: { type: "string" } }, default: { c: 1 } } },
  },
  "bad pattern": { type: "object", properties: { a: { type: "string", pattern: "(" } } },
  "unknown type": { type: "object", properties: { a: { type: "nope" } } },
  "metadata with rules": {
    type: "object",
    properties: { metadata: { type: "object", properties: { labels: { type: "object" } } } },
  },
  "metadata with name": {
    type: "object",
    properties: { metadata: { type: "object", properties: { name: { type: "string", maxLength: 5 } } } },
  },
  "embedded without content": {
    type: "object",
    properties: { a: { type: "object", "x-kubernetes-embedded-resource": true } },
  },
  "nullable root": { type: "object", nullable: true },
  "int-or-string with type": {
    type: "object",
    properties: { a: { type: "string", "x-kubernetes-int-or-string": true } },
  },
  "int-or-string with anyOf": {
    type: "object",
    properties: { a: { "x-kubernetes-int-or-string": true, anyOf: [{ type: "integer" }, { type: "string" }] } },
  },
  "preserve false": { type: "object", "x-kubernetes-preserve-unknown-fields": false },
  "rule that does not parse": {
    type: "object",
    properties: { spec: { type: "object", "x-kubernetes-validations": [{ rule: "self.x ==" }] } },
  },
  "rule of the wrong type": {
    type: "object",
    properties: {
      spec: {
        type: "object",
        properties: { a: { type: "integer" } },
        "x-kubernetes-validations": [{ rule: "self.a + 1" }],
      },
    },
  },
  "rule about an unknown field": {
    type: "object",
    properties: {
      spec: {
        type: "object",
        properties: { a: { type: "integer" } },
        "x-kubernetes-validations": [{ rule: "self.b == 1" }],
      },
    },
  },
  "empty rule": {
    type: "object",
    properties: { spec: { type: "object", "x-kubernetes-validations": [{ rule: " " }] } },
  },
  "message of two lines": {
    type: "object",
    properties: { spec: { type: "object", "x-kubernetes-validations": [{ rule: "true", message: "a\nb" }] } },
  },
  "bad reason and path": {
    type: "object",
    properties: {
      spec: {
        type: "object",
        properties: { a: { type: "string" } },
        "x-kubernetes-validations": [{ rule: "true", reason: "Nope", fieldPath: ".nope" }],
      },
    },
  },
  "rule that costs too much": {
    type: "object",
    properties: {
      spec: {
        type: "object",
        properties: { a: { type: "array", items: { type: "array", items: { type: "string" } } } },
        "x-kubernetes-validations": [{ rule: "self.a.all(x, x.all(y, y.contains('z')))" }],
      },
    },
  },
  "a schema of its own": { type: "object", properties: { a: { type: "string", $schema: "x" } } },
  "unknown format": { type: "object", properties: { a: { type: "string", format: "nope" } } },
  "enum of the wrong type": { type: "object", properties: { a: { type: "integer", enum: ["x"] } } },
};

export const crdRefusalCases: readonly Case[] = [
  scenario("schemas that are refused", async (s) => {
    for (const [what, openAPIV3Schema] of Object.entries(schemas)) {
      const crd = smallCrd(s);
      crd.spec.versions[0].schema = { openAPIV3Schema };
      await s.post(`${crds}?dryRun=All`, crd, {
        title: `POST a CRD with ${what}`,
        part: (body) => (body.kind === "Status" ? body : body.spec.versions[0].schema),
      });
    }
  }),

  scenario("roots of schemas beside a status", async (s) => {
    const roots: readonly Loose[] = [
      { type: "object", maxProperties: 3 },
      { type: "object", anyOf: [{ required: ["a"] }], properties: { a: { type: "string" } } },
      {
        type: "object",
        "x-kubernetes-preserve-unknown-fields": true,
        title: "x",
        description: "y",
        required: ["spec"],
      },
      { type: "object", properties: { a: { type: "integer", minimum: 1, default: 2, enum: [1, 2] } }, not: {} },
      {
        type: "object",
        properties: { a: { type: "array", items: { type: "object" } } },
        "x-kubernetes-map-type": "atomic",
      },
      {
        type: "object",
        properties: { a: { type: "object", additionalProperties: { type: "string" } } },
        nullable: true,
      },
      { type: "object", "x-kubernetes-validations": [{ rule: "true", reason: "FieldValueInvalid" }], oneOf: [{}] },
      { type: "object", default: { b: 1, a: 2 } },
      { type: "string" },
    ];
    for (const openAPIV3Schema of roots) {
      const crd = smallCrd(s);
      Object.assign(crd.spec.versions[0], { schema: { openAPIV3Schema }, subresources: { status: {} } });
      await s.post(`${crds}?dryRun=All`, crd, {
        title: `POST a CRD with ${JSON.stringify(openAPIV3Schema)}`,
        part: (body) => (body.kind === "Status" ? body : "accepted"),
      });
    }
    const twice = smallCrd(s);
    const schema = { openAPIV3Schema: { type: "object", properties: { a: { type: "string" } } } };
    twice.spec.versions.push({ name: "v1", served: true, storage: false, schema });
    await s.post(`${crds}?dryRun=All`, twice, { title: "POST a CRD with a version twice, of other schemas" });
  }),

  scenario("definitions that are refused", async (s) => {
    const change = async (what: string, edit: (crd: Loose) => void): Promise<void> => {
      const crd = smallCrd(s);
      edit(crd);
      await s.post(`${crds}?dryRun=All`, crd, {
        title: `POST a CRD with ${what}`,
        part: (body) => (body.kind === "Status" ? body : "accepted"),
      });
    };
    const version = (name: string, more: Loose = {}): Loose => ({
      name,
      served: true,
      storage: false,
      schema: { openAPIV3Schema: { type: "object" } },
      ...more,
    });
    await change("no schema", (crd) => delete crd.spec.versions[0].schema);
    await change("an empty schema", (crd) => (crd.spec.versions[0].schema = {}));
    await change("no versions", (crd) => (crd.spec.versions = []));
    await change("versions absent", (crd) => delete crd.spec.versions);
    await change("two storage versions", (crd) => crd.spec.versions.push(version("v2", { storage: true })));
    await change("no storage version", (crd) => (crd.spec.versions[0].storage = false));
    await change("a version twice", (crd) => crd.spec.versions.push(version("v1")));
    await change("an invalid version name", (crd) => crd.spec.versions.push(version("V_2")));
    await change("another name", (crd) => (crd.metadata.name = `x.${ownGroup(s)}`));
    await change("no group", (crd) => delete crd.spec.group);
    await change("a group of one word", (crd) => Object.assign(crd.spec, { group: "word" }));
    await change("no scope", (crd) => delete crd.spec.scope);
    await change("an unknown scope", (crd) => (crd.spec.scope = "Galaxy"));
    await change("no kind", (crd) => delete crd.spec.names.kind);
    await change("no plural", (crd) => delete crd.spec.names.plural);
    await change("kind and list kind the same", (crd) => (crd.spec.names.listKind = "Widget"));
    await change("a bad short name", (crd) => (crd.spec.names.shortNames = ["A_b"]));
    await change("a bad category", (crd) => (crd.spec.names.categories = ["A_b"]));
    await change("preserveUnknownFields", (crd) => (crd.spec.preserveUnknownFields = true));
    await change(
      "a bad column",
      (crd) => (crd.spec.versions[0].additionalPrinterColumns = [{ name: "", type: "nope", jsonPath: "x" }]),
    );
    await change(
      "a bad scale",
      (crd) =>
        (crd.spec.versions[0].subresources = {
          scale: { specReplicasPath: ".status.x", statusReplicasPath: ".spec.x" },
        }),
    );
    await change(
      "nine selectable fields",
      (crd) =>
        (crd.spec.versions[0].selectableFields = Array.from({ length: 9 }, (_, n) => ({ jsonPath: `.spec.f${n}` }))),
    );
    await change(
      "a selectable field that is not there",
      (crd) => (crd.spec.versions[0].selectableFields = [{ jsonPath: ".spec.nope" }]),
    );
    await change("conversion without a webhook", (crd) => (crd.spec.conversion = { strategy: "Webhook" }));
    await change("an unknown conversion", (crd) => (crd.spec.conversion = { strategy: "Nope" }));
    await change("a protected group", (crd) =>
      Object.assign(crd, { metadata: { name: "widgets.x.k8s.io" }, spec: { ...crd.spec, group: "x.k8s.io" } }),
    );
    await change(
      "a deprecation warning of a version that is not",
      (crd) => (crd.spec.versions[0].deprecationWarning = "x"),
    );
    await change("an unknown field", (crd) => (crd.spec.nope = 1));
  }),
];
