// SPDX-License-Identifier: Apache-2.0
// Patches, server-side apply, field ownership, schemas and OpenAPI documents.
import { finish } from "../../../packages/base/src/index.ts";
import { checkRules } from "../../../packages/cel/src/index.ts";
import { withCrdDefaults } from "../../../packages/kube-apiserver/src/crd/crd-spec.ts";
import { validateCrd } from "../../../packages/kube-apiserver/src/crd/validate-crd.ts";
import {
  applyTypeOf,
  createFieldManager,
  customResourceType,
  decodeFieldsV1,
  decodeManagers,
  encodeFieldsV1,
  fieldSetOf,
  managedFieldsOf,
} from "../../../packages/kube-objects/src/apply/index.ts";
import { isStatusError } from "../../../packages/kube-objects/src/errors/index.ts";
import {
  isJsonObject,
  type JsonObject,
  JsonSyntaxError,
  type JsonValue,
  jsonEqual,
  parseJson,
  parseJsonStrict,
} from "../../../packages/kube-objects/src/json/index.ts";
import { validateManagedFieldEntries } from "../../../packages/kube-objects/src/metadata/index.ts";
import type { ManagedFieldsEntry } from "../../../packages/kube-objects/src/object/index.ts";
import { crdToOpenAPI, inlineReferences, isOpenAPIError } from "../../../packages/kube-objects/src/openapi/index.ts";
import {
  applyingWrittenPatch,
  applyMergePatch,
  applyStrategicMergePatch,
  createMergePatch,
  decodeJsonPatch,
  decodeMergePatch,
  decodeStrategicMergePatch,
} from "../../../packages/kube-objects/src/patch/index.ts";
import { checkSchema, findUnknownFields } from "../../../packages/kube-objects/src/schema/index.ts";
import { applyDefaults, prune } from "../../../packages/kube-objects/src/structural/index.ts";
import { toTypedForm } from "../../../packages/kube-objects/src/typed/index.ts";
import { accepted, isRefusal, property, type Target } from "../engine/target.ts";

/** A refusal of the API server that does not hide an error of the language. */
const isStatus = (error: unknown): boolean =>
  isStatusError(error) &&
  (!(error.cause instanceof Error) || error.cause instanceof SyntaxError || isRefusal(error.cause));

const readJson = (input: Buffer): JsonValue | undefined =>
  accepted(
    () => parseJson(input.toString()),
    (error) => error instanceof JsonSyntaxError,
  );

/** Inputs of several documents are lists. */
function readList(input: Buffer): readonly JsonValue[] {
  const value = readJson(input);
  return Array.isArray(value) ? value : [];
}

const objectAt = (list: readonly JsonValue[], index: number): JsonObject | undefined =>
  isJsonObject(list[index]) ? list[index] : undefined;

const document: JsonObject = {
  apiVersion: "example.org/v1",
  kind: "Widget",
  metadata: { name: "a", labels: { x: "1" } },
  spec: {
    list: [1, 2, 3],
    map: { "a/b": { c: "~d" } },
    items: [
      { name: "a", value: 1 },
      { name: "b", value: 2 },
    ],
  },
};

const values = [
  '"op":"add"',
  '"op":"move"',
  '"op":"copy"',
  '"op":"test"',
  '"path":"/spec/list/-"',
  '"from":"/spec"',
  '"value":{}',
  "/0",
  "~1",
  "~0",
];

export const jsonPatch: Target = {
  covers: ["kube-objects/src/patch"],
  dictionary: [...values, "[", "]", "{", "}", ","],
  seeds: [
    '[{"op":"add","path":"/spec/list/-","value":4},{"op":"move","from":"/spec/map","path":"/spec/other"}]',
    '[{"op":"test","path":"/metadata/name","value":"a"},{"op":"copy","from":"/spec","path":"/spec/copy"},{"op":"remove","path":"/spec/list/0"}]',
    '[{"op":"replace","path":"/spec/map/a~1b/c","value":1.50},{"op":"add","path":"/__proto__/x","value":1}]',
  ],
  growth: {
    appends: (count) =>
      `[${'{"op":"add","path":"/spec/list/-","value":4},'.repeat(Math.min(count, 9000))}{"op":"test","path":"","value":1}]`,
    tests: (count) =>
      `[${'{"op":"test","path":"/spec/list/0","value":1},'.repeat(Math.min(count, 9000))}{"op":"test","path":"","value":1}]`,
  },
  run(input) {
    for (const validation of ["Ignore", "Strict"] as const) {
      const decoded = accepted(() => decodeJsonPatch(input.toString(), validation), isStatus);
      if (decoded !== undefined) accepted(() => finish(applyingWrittenPatch(document, decoded.patch)), isStatus);
    }
    property(document["kind"] === "Widget", "a patch changed the object it was applied to");
  },
};

const patchSchema = {
  schema: {
    properties: {
      spec: {
        type: "object",
        properties: {
          items: {
            type: "array",
            "x-kubernetes-patch-merge-key": "name",
            "x-kubernetes-patch-strategy": "merge",
            items: { type: "object", properties: { name: { type: "string" }, value: { type: "integer" } } },
          },
          list: { type: "array", "x-kubernetes-patch-strategy": "merge", items: { type: "integer" } },
        },
      },
    },
  },
  component: () => undefined,
};

export const mergePatch: Target = {
  covers: ["kube-objects/src/patch"],
  dictionary: [
    '"$patch":"delete"',
    '"$patch":"replace"',
    '"$retainKeys":["a"]',
    '"$setElementOrder/items":[',
    '"$deleteFromPrimitiveList/list":[',
    '"items":[',
    '"name":"a"',
    "null",
    "{",
    "}",
    "[",
    "]",
    ",",
  ],
  seeds: [
    '{"metadata":{"labels":{"x":null,"y":"2"}},"spec":{"list":[9]}}',
    '{"spec":{"items":[{"name":"a","$patch":"delete"},{"name":"c"}],"$setElementOrder/items":[{"name":"c"},{"name":"b"}]}}',
    '{"spec":{"$retainKeys":["list"],"list":[4],"$deleteFromPrimitiveList/list":[1]},"__proto__":{"a":1}}',
  ],
  growth: {
    items: (count) => `{"spec":{"items":[${Array.from({ length: count }, (_, at) => `{"name":"n${at}"}`).join()}]}}`,
    order: (count) =>
      `{"spec":{"$setElementOrder/items":[${Array.from({ length: count }, (_, at) => `{"name":"n${at}"}`).join()}]}}`,
  },
  run(input) {
    const text = input.toString();
    const plain = accepted(() => decodeMergePatch(text, "Strict"), isStatus);
    if (plain !== undefined) {
      const after = applyMergePatch(document, plain.patch);
      const again = applyMergePatch(document, createMergePatch(document, after));
      property(jsonEqual(again, after), "the merge patch between two objects does not lead from one to the other");
    }
    const strategic = accepted(() => decodeStrategicMergePatch(text, "Strict"), isStatus);
    if (strategic !== undefined)
      accepted(() => applyStrategicMergePatch(document, strategic.patch, patchSchema), isStatus);
  },
};

const widgetSchema: JsonObject = {
  type: "object",
  properties: {
    spec: {
      type: "object",
      properties: {
        list: { type: "array", items: { type: "integer" }, "x-kubernetes-list-type": "set" },
        items: {
          type: "array",
          "x-kubernetes-list-type": "map",
          "x-kubernetes-list-map-keys": ["name"],
          items: {
            type: "object",
            required: ["name"],
            properties: { name: { type: "string" }, value: { type: "integer" } },
          },
        },
        map: { type: "object", additionalProperties: { type: "object", "x-kubernetes-preserve-unknown-fields": true } },
        free: { "x-kubernetes-preserve-unknown-fields": true },
      },
    },
  },
};
const widgetType = customResourceType(widgetSchema);
const manager = createFieldManager({
  apiVersion: "example.org/v1",
  kind: "Widget",
  versions: { typeAt: () => widgetType, convert: (object) => object },
  now: () => new Date(0),
});
const fields = '{"f:spec":{"f:list":{".":{},"v:1":{}},"f:items":{"k:{\\"name\\":\\"a\\"}":{".":{},"f:value":{}}}}}';
const managed = `{"manager":"m","operation":"Apply","apiVersion":"example.org/v1","time":"2026-01-01T00:00:00Z","fieldsType":"FieldsV1","fieldsV1":${fields}}`;
const applyTokens = [
  '"f:spec":{',
  '"k:{\\"name\\":\\"a\\"}":{',
  '"v:1":{}',
  '"i:0":{}',
  '".":{}',
  '"items":[',
  '"free":',
  '"list":[',
  '"managedFields":[',
  "{",
  "}",
  "[",
  "]",
  ",",
];

export const serverSideApply: Target = {
  covers: ["kube-objects/src/apply"],
  dictionary: applyTokens,
  seeds: [
    JSON.stringify([document, document]),
    `[{"apiVersion":"example.org/v1","kind":"Widget","metadata":{"managedFields":[${managed}]},"spec":{"list":[1],"items":[{"name":"a"}]}},{"apiVersion":"example.org/v1","kind":"Widget","spec":{"free":{"a":[{}]}}}]`,
  ],
  growth: {
    set: (count) =>
      `[null,{"apiVersion":"example.org/v1","kind":"Widget","spec":{"list":[${Array.from({ length: count }, (_, at) => at).join()}]}}]`,
    map: (count) =>
      `[null,{"apiVersion":"example.org/v1","kind":"Widget","spec":{"items":[${Array.from({ length: count }, (_, at) => `{"name":"n${at}"}`).join()}]}}]`,
  },
  run(input) {
    const list = readList(input);
    const [live, config] = [objectAt(list, 0), objectAt(list, 1)];
    if (config === undefined) return;
    for (const force of [false, true]) {
      const applied = accepted(() => manager.apply(live, config, { manager: "fuzz", force }), isStatus);
      if (applied !== undefined) accepted(() => manager.apply(applied, config, { manager: "fuzz", force }), isStatus);
    }
    manager.update(live, config, "fuzz");
  },
};

export const managedFields: Target = {
  covers: ["kube-objects/src/apply", "kube-objects/src/metadata/validate-metadata.ts"],
  dictionary: applyTokens,
  seeds: [
    fields,
    `[${managed}]`,
    '{"f:a":{"f:__proto__":{}},"v:\\"x\\"":{},"k:{}":{}}',
    '{"k:{\\"a\\":[1,{\\"b\\":null}]}":{}}',
  ],
  growth: { fields: (count) => `{${Array.from({ length: count }, (_, at) => `"f:k${at}":{}`).join()}}` },
  run(input) {
    const value = readJson(input);
    if (isJsonObject(value)) {
      const set = accepted(() => decodeFieldsV1(value), isRefusal);
      if (set === undefined) return;
      const written = encodeFieldsV1(set);
      property(jsonEqual(encodeFieldsV1(decodeFieldsV1(written)), written), "a field set changes in a round trip");
    }
    if (!Array.isArray(value)) return;
    const entries = accepted(() => managedFieldsOf({ metadata: { managedFields: value } }), isRefusal);
    if (entries === undefined) return;
    for (const from of ["client", "live"] as const) accepted(() => decodeManagers(entries, from), isRefusal);
    accepted(() => validateManagedFieldEntries(entries as ManagedFieldsEntry[], "metadata.managedFields"), isRefusal);
  },
};

const crd = (schema: string): string =>
  `{"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition","metadata":{"name":"ws.e.org"},"spec":{"group":"e.org","scope":"Cluster","names":{"plural":"ws","kind":"W","singular":"w","listKind":"WList"},"versions":[{"name":"v1","served":true,"storage":true,"additionalPrinterColumns":[{"name":"a","type":"string","jsonPath":".spec.a"}],"schema":{"openAPIV3Schema":${schema}}}]}}`;
const schemaText =
  '{"type":"object","properties":{"spec":{"type":"object","required":["a"],"properties":{"a":{"type":"string","pattern":"^a+$","default":"x","enum":["x"],"maxLength":5},"l":{"type":"array","items":{"type":"integer","minimum":1},"x-kubernetes-list-type":"set"},"m":{"type":"object","additionalProperties":{"type":"string"}},"o":{"x-kubernetes-int-or-string":true,"anyOf":[{"type":"integer"},{"type":"string"}]},"e":{"type":"object","x-kubernetes-embedded-resource":true,"x-kubernetes-preserve-unknown-fields":true}},"x-kubernetes-validations":[{"rule":"self.a.size() > 0","message":"m"}]}}}';
const schemaTokens = [
  '"type":"object"',
  '"properties":{',
  '"items":{',
  '"additionalProperties":',
  '"default":',
  '"enum":[',
  '"pattern":"',
  '"x-kubernetes-list-type":"map"',
  '"x-kubernetes-validations":[{"rule":"',
  '"oneOf":[',
  '"not":{',
  '"$ref":"',
  '"nullable":true',
  '"format":"date-time"',
  "{",
  "}",
  "[",
  "]",
  ",",
];

const definitionType = { apiVersion: "apiextensions.k8s.io/v1", kind: "CustomResourceDefinition" };

export const structuralSchema: Target = {
  covers: [
    "kube-apiserver/src/crd",
    "kube-objects/src/schema",
    "kube-objects/src/structural",
    "kube-objects/src/openapi",
  ],
  dictionary: schemaTokens,
  maxBytes: 8192,
  seeds: [crd(schemaText), crd('{"type":"object","x-kubernetes-preserve-unknown-fields":true}')],
  growth: {
    properties: (count) =>
      crd(
        `{"type":"object","properties":{${Array.from({ length: count }, (_, at) => `"k${at}":{"type":"string"}`).join()}}}`,
      ),
    enum: (count) =>
      crd(
        `{"type":"object","properties":{"a":{"type":"string","enum":[${Array.from({ length: count }, (_, at) => `"k${at}"`).join()}]}}}`,
      ),
  },
  run(input) {
    const value = readJson(input);
    if (!isJsonObject(value)) return;
    const { fractions } = parseJsonStrict(input.toString());
    // As the server does: what does not fit the types of a definition is refused before it is validated.
    const definition = accepted(() => toTypedForm({ ...value, ...definitionType }, fractions).object, isRefusal);
    if (definition !== undefined) {
      accepted(
        () => validateCrd(withCrdDefaults(definition), checkRules as Parameters<typeof validateCrd>[1]),
        isRefusal,
      );
    }
    accepted(
      () => crdToOpenAPI(value),
      (error) => isOpenAPIError(error),
    );
  },
};

const schemaObject: JsonObject = {
  apiVersion: "e.org/v1",
  kind: "W",
  metadata: { name: "a" },
  spec: { a: "b", l: [1, 1], m: { a: 1 }, e: { kind: 5 } },
};

export const schemaValue: Target = {
  covers: ["kube-objects/src/schema", "kube-objects/src/structural"],
  dictionary: [...schemaTokens, '"spec":{', '"a":"b"', '"l":[1]'],
  seeds: [
    `[${schemaText},${JSON.stringify(schemaObject)}]`,
    '[{"type":"array","items":{"type":"string","enum":["a"]}},["b"]]',
    '[{"oneOf":[{"type":"string"},{"not":{}}]},1]',
  ],
  growth: {
    "enum and list": (count) =>
      `[{"type":"array","items":{"enum":[${Array.from({ length: count }, (_, at) => `"k${at}"`).join()}]}},[${Array.from({ length: count }, (_, at) => `"x${at}"`).join()}]]`,
    set: (count) =>
      `[{"type":"array","x-kubernetes-list-type":"set","items":{"type":"object"}},[${Array.from({ length: count }, (_, at) => `{"a":${at}}`).join()}]]`,
    unknown: (count) =>
      `[{"type":"object","properties":{"a":{}}},{${Array.from({ length: count }, (_, at) => `"k${at}":1`).join()}}]`,
  },
  run(input) {
    const list = readList(input);
    const schema = objectAt(list, 0);
    const value = list[1];
    if (schema === undefined || value === undefined) return;
    accepted(() => checkSchema(value, schema), isRefusal);
    if (!isJsonObject(value)) return;
    accepted(() => findUnknownFields(value, schema), isRefusal);
    const pruned = accepted(() => prune(value, schema), isRefusal);
    if (pruned !== undefined)
      property(jsonEqual(prune(pruned.object, schema).object, pruned.object), "pruning twice removes more");
    accepted(() => applyDefaults(value, schema), isRefusal);
    const type = accepted(() => applyTypeOf(schema), isRefusal);
    if (type !== undefined) accepted(() => fieldSetOf(type, value), isRefusal);
  },
};

export const openApi: Target = {
  covers: ["kube-objects/src/openapi"],
  dictionary: [...schemaTokens, '"$ref":"#/components/schemas/A"', '"allOf":[', '"components":{"schemas":{'],
  seeds: [
    '{"openapi":"3.0.0","components":{"schemas":{"A":{"properties":{"b":{"$ref":"#/components/schemas/B"}}},"B":{"items":{"$ref":"#/components/schemas/A"}}}}}',
    '{"components":{"schemas":{"A":{"allOf":[{"$ref":"#/components/schemas/B"}],"default":{}},"B":{"type":"string"}}}}',
  ],
  run(input) {
    const value = readJson(input);
    if (!isJsonObject(value)) return;
    accepted(
      () => inlineReferences(value as Parameters<typeof inlineReferences>[0], "A"),
      (error) => isOpenAPIError(error),
    );
  },
};
