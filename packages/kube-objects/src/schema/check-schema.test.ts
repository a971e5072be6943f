// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import type { JsonObject } from "../json/json-value.ts";
import { builtinOpenAPI } from "../openapi/builtin-openapi.ts";
import { inlineReferences } from "../openapi/open-api-document.ts";
import { type CheckSchemaOptions, checkSchema, findingText } from "./check-schema.ts";

const texts = (value: unknown, schema: JsonObject, options?: CheckSchemaOptions): string[] =>
  checkSchema(value, schema, options).map(findingText);

const deploymentSchema = inlineReferences(
  builtinOpenAPI().document("apis/apps/v1") ?? {},
  "io.k8s.api.apps.v1.Deployment",
);
const container = { name: "main", image: "nginx:1", ports: [{ containerPort: 80 }] };
const deployment = {
  apiVersion: "apps/v1",
  kind: "Deployment",
  metadata: { name: "web", labels: { app: "web" } },
  spec: {
    replicas: 2,
    selector: { matchLabels: { app: "web" } },
    template: { metadata: { labels: { app: "web" } }, spec: { containers: [container] } },
  },
};
const withContainer = (change: object): object => ({
  ...deployment,
  spec: { ...deployment.spec, template: { spec: { containers: [{ ...container, ...change }] } } },
});
const first = "spec.template.spec.containers[0]";

test("a proper Deployment has no findings", () => {
  assert.deepEqual(texts(deployment, deploymentSchema, { unknownFields: "report" }), []);
});

const mistakes: Record<string, { reason: string; object: object; want: string[] }> = {
  Typo: {
    reason: "an unknown field is found, with what was meant",
    object: { ...deployment, spec: { ...deployment.spec, replica: 3 } },
    want: ['spec.replica: unknown field "spec.replica", did you mean "replicas"?'],
  },
  NestedTypo: {
    reason: "also inside lists",
    object: withContainer({ imagePullpolicy: "Always" }),
    want: [`${first}.imagePullpolicy: unknown field "${first}.imagePullpolicy", did you mean "imagePullPolicy"?`],
  },
  WrongType: {
    reason: "a port must be a number",
    object: withContainer({ ports: [{ containerPort: "80" }] }),
    want: [
      `${first}.ports[0].containerPort: Invalid value: "string": ${first}.ports[0].containerPort in body must be of type integer: "string"`,
    ],
  },
  Enum: {
    reason: "a policy must be one of three",
    object: withContainer({ imagePullPolicy: "always" }),
    want: [
      `${first}.imagePullPolicy: Unsupported value: "always": supported values: "Always", "IfNotPresent", "Never"`,
    ],
  },
  Missing: {
    reason: "a container needs a name",
    object: withContainer({ name: undefined }),
    want: [`${first}.name: Required value`],
  },
  Duplicate: {
    reason: "two variables of one name",
    object: withContainer({
      env: [
        { name: "A", value: "1" },
        { name: "A", value: "2" },
      ],
    }),
    want: [`${first}.env[1]: Duplicate value: {"name":"A"}`],
  },
  IntOrString: {
    reason: "finding about a oneOf says where, although the reference server has no field for it",
    object: withContainer({ readinessProbe: { httpGet: { port: true } } }),
    want: [
      `${first}.readinessProbe.httpGet.port: Invalid value: "": "${first}.readinessProbe.httpGet.port" must validate one and only one schema (oneOf). Found none valid`,
      `${first}.readinessProbe.httpGet.port: Invalid value: "boolean": ${first}.readinessProbe.httpGet.port in body must be of type integer: "boolean"`,
    ],
  },
};

for (const [name, { reason, object, want }] of Object.entries(mistakes)) {
  test(`a Deployment, ${name}: ${reason}`, () => {
    assert.deepEqual(texts(object, deploymentSchema, { unknownFields: "report" }), want);
  });
}

test("findings without a field keep the server's form apart from the place", () => {
  const [finding] = checkSchema({ spec: 5 }, { type: "object", properties: { spec: { anyOf: [{ type: "string" }] } } });
  assert.equal(finding?.field, "<nil>");
  assert.equal(finding.path, "spec");
  assert.equal(findingText({ ...finding, path: "" }), finding.body);
});

test("unknown fields are ignored unless asked for", () => {
  const object = { ...deployment, spec: { ...deployment.spec, replica: 3 } };
  assert.deepEqual(texts(object, deploymentSchema), []);
  assert.deepEqual(texts(object, deploymentSchema, { unknownFields: "ignore" }), []);
});

const widget: JsonObject = {
  type: "object",
  required: ["spec"],
  properties: {
    spec: {
      type: "object",
      required: ["size"],
      properties: {
        size: { type: "integer" },
        color: { type: "string" },
        shade: { type: "string" },
        note: { type: "string", nullable: true },
      },
      oneOf: [{ required: ["color"] }, { required: ["shade"] }],
      not: { required: ["color", "note"] },
    },
  },
};

const partials: Record<string, { reason: string; object: object; whole: number; partial: number }> = {
  Nothing: { reason: "nothing is required of a part", object: {}, whole: 1, partial: 0 },
  Inside: { reason: "nor inside it", object: { spec: { color: "red" } }, whole: 1, partial: 0 },
  Undecided: { reason: "alternatives may still be open", object: { spec: { size: 1 } }, whole: 2, partial: 0 },
  BothAlternatives: {
    reason: "but not both taken",
    object: { spec: { size: 1, color: "r", shade: "d" } },
    whole: 1,
    partial: 1,
  },
  Excluded: {
    reason: "what is excluded is excluded",
    object: { spec: { size: 1, color: "r", note: "n" } },
    whole: 1,
    partial: 1,
  },
  NotExcludedYet: {
    reason: "what is not there fulfils no exclusion",
    object: { spec: { note: "n" } },
    whole: 3,
    partial: 0,
  },
  WrongType: { reason: "types are checked", object: { spec: { size: "1", color: "r" } }, whole: 1, partial: 1 },
};

for (const [name, { reason, object, whole, partial }] of Object.entries(partials)) {
  test(`partial objects, ${name}: ${reason}`, () => {
    assert.equal(texts(object, widget).length, whole, texts(object, widget).join("\n"));
    assert.equal(
      texts(object, widget, { partial: true }).length,
      partial,
      texts(object, widget, { partial: true }).join("\n"),
    );
  });
}

test("a part of an embedded resource need not say what it is", () => {
  const schema: JsonObject = { type: "object", "x-kubernetes-embedded-resource": true };
  assert.equal(texts({}, schema).length, 2);
  assert.deepEqual(texts({}, schema, { partial: true }), []);
});

test("null counts as absent when asked for, unless the schema allows it", () => {
  const object = { spec: { size: null, color: "r", shade: null, note: null } };
  assert.match(texts(object, widget).join("\n"), /spec\.size.*"null"(?:.|\n)*spec\.shade/);
  const options = { nulls: "absent" } as const;
  // size is missing now, and note is there, so the exclusion of color with note holds.
  assert.deepEqual(texts(object, widget, options), [
    'spec: Invalid value: "": "spec" must not validate the schema (not)',
    "spec.size: Required value",
  ]);
  const [items] = texts({ l: [null] }, { type: "object", properties: { l: { items: { type: "string" } } } }, options);
  assert.match(items ?? "", /^l\[0\].*must be of type string: "null"/);
  assert.deepEqual(
    texts({ metadata: { creationTimestamp: null } }, deploymentSchema, { ...options, partial: true }),
    [],
  );
});

test("undefined members are absent, undefined items are null", () => {
  const schema: JsonObject = {
    type: "object",
    required: ["a"],
    maxProperties: 1,
    properties: { a: { type: "string" }, l: { items: { type: "string" } } },
  };
  assert.deepEqual(texts({ a: "x", b: undefined }, schema), []);
  assert.deepEqual(texts({ a: undefined }, schema), ["a: Required value"]);
  assert.match(texts({ a: "x", l: [undefined] }, { ...schema, maxProperties: 2 }).join(), /l\[0\].*"null"/);
});

test("a pattern is decided that a backtracking engine could not decide before the end of the universe", () => {
  const schema: JsonObject = { type: "object", properties: { a: { type: "string", pattern: "(a+)+$" } } };
  assert.equal(checkSchema({ a: `${"a".repeat(100_000)}b` }, schema).length, 1);
});

test("neither values nor schemas can overflow the stack", () => {
  let value: unknown = {};
  let schema: JsonObject = { type: "object" };
  for (let i = 0; i < 20_000; i++) {
    value = { a: value };
    schema = { type: "object", properties: { a: schema }, allOf: [{ properties: { a: {} } }] };
  }
  assert.match(texts(value, schema, { unknownFields: "report" }).join(), /nested deeper than 1000 levels/);
  let list: unknown = [];
  for (let i = 0; i < 50_000; i++) list = [list];
  const unique: JsonObject = { uniqueItems: true, enum: [[]], "x-kubernetes-list-type": "set" };
  assert.ok(texts([list, list], unique).length >= 2);
  let composed: JsonObject = { type: "string" };
  for (let i = 0; i < 20_000; i++) composed = { anyOf: [composed] };
  assert.match(texts(5, composed).join(), /nested deeper/);
});

test("a value that contains itself is checked", () => {
  const value: { self?: unknown; name: number } = { name: 5 };
  value.self = value;
  const schema: JsonObject = { type: "object", properties: { name: { type: "string" }, self: { enum: ["x"] } } };
  assert.equal(texts(value, schema, { unknownFields: "report" }).length, 2);
});

const keyword = fc.constantFrom(
  ...[
    "type",
    "nullable",
    "format",
    "enum",
    "pattern",
    "minimum",
    "maximum",
    "multipleOf",
    "minLength",
    "maxLength",
    "items",
    "properties",
  ],
  ...[
    "minItems",
    "maxItems",
    "uniqueItems",
    "minProperties",
    "maxProperties",
    "required",
    "additionalProperties",
    "allOf",
    "anyOf",
    "oneOf",
  ],
  ...["not", "x-kubernetes-int-or-string", "x-kubernetes-preserve-unknown-fields", "x-kubernetes-embedded-resource"],
  ...["x-kubernetes-list-type", "x-kubernetes-list-map-keys"],
);
const word = fc.constantFrom(
  "string",
  "integer",
  "object",
  "array",
  "set",
  "map",
  "date-time",
  "(",
  "a*",
  true,
  0,
  -1,
  1e300,
  null,
);
const { odd } = fc.letrec<{ odd: unknown }>((tie) => ({
  odd: fc.oneof(
    { maxDepth: 4 },
    word,
    fc.jsonValue(),
    fc.array(tie("odd"), { maxLength: 3 }),
    fc.dictionary(fc.oneof(keyword, fc.constantFrom("a", "__proto__", "constructor")), tie("odd"), { maxKeys: 5 }),
  ),
}));

test("any value against any schema: no exception, and findings that can be read", () => {
  const options = fc.record({
    partial: fc.boolean(),
    nulls: fc.constantFrom("reject" as const, "absent" as const),
    unknownFields: fc.constantFrom("report" as const, "ignore" as const),
  });
  const schemas = fc.dictionary(keyword, odd, { maxKeys: 8 });
  fc.assert(
    fc.property(fc.oneof(odd, fc.anything({ withBigInt: true })), schemas, options, (value, schema, how) => {
      for (const finding of checkSchema(value, schema as JsonObject, how)) {
        assert.ok(finding.type !== undefined && finding.body !== "" && typeof finding.field === "string");
        assert.ok(typeof findingText(finding) === "string");
      }
    }),
    { numRuns: 2_000 },
  );
});

test("a value is always accepted by a schema that lists it", () => {
  fc.assert(
    fc.property(
      fc.jsonValue().filter((value) => value !== null),
      (value) => {
        assert.deepEqual(texts(value, { enum: [value as JsonObject] }), []);
      },
    ),
  );
});

test("checking changes neither the value nor the schema", () => {
  const before = JSON.stringify([deployment, deploymentSchema]);
  checkSchema(deployment, deploymentSchema, { unknownFields: "report", nulls: "absent", partial: true });
  assert.equal(JSON.stringify([deployment, deploymentSchema]), before);
});
