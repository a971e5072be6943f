// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import { finish } from "@purlin/base";
import { type FieldError, fieldErrorText } from "@purlin/kube-objects/errors";
import type { JsonObject } from "@purlin/kube-objects/json";
import { mutatingPolicyErrors, validatingPolicyErrors } from "./policy-rules.ts";

const texts = (errors: readonly FieldError[]): string[] => errors.map(fieldErrorText);
const rule = { operations: ["CREATE"], apiGroups: [""], apiVersions: ["v1"], resources: ["pods"] };
const base = { failurePolicy: "Fail", matchConstraints: { resourceRules: [rule] } };
const validations = [{ expression: "true" }];
const validating = (spec: JsonObject): string[] =>
  texts(
    finish(validatingPolicyErrors({ metadata: { name: "p.example.org" }, spec: { ...base, validations, ...spec } })),
  );

type Row = readonly [name: string, spec: JsonObject, expected: readonly string[]];

function rows(title: string, errorsOf: (spec: JsonObject) => string[], table: readonly Row[]): void {
  for (const [name, spec, expected] of table) {
    test(`${title}: ${name}`, () => {
      assert.deepEqual(errorsOf(spec), expected);
    });
  }
}

const subdomain =
  "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')";
const label =
  "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for validation is '[a-z]([-a-z0-9]*[a-z0-9])?')";

rows("a policy", validating, [
  ["a complete one", {}, []],
  [
    "no failure policy",
    { failurePolicy: "" },
    ['spec.failurePolicy: Unsupported value: "": supported values: "Fail", "Ignore"'],
  ],
  ["no constraints", { matchConstraints: null }, ["spec.matchConstraints: Required value"]],
  ["no rules", { matchConstraints: {} }, ["spec.matchConstraints.resourceRules: Required value"]],
  [
    "nothing to evaluate",
    { validations: [] },
    [
      "spec.validations: Required value: validations or auditAnnotations must contain at least one item",
      "spec.auditAnnotations: Required value: validations or auditAnnotations must contain at least one item",
    ],
  ],
  ["annotations alone", { validations: [], auditAnnotations: [{ key: "a", valueExpression: "'x'" }] }, []],
  [
    "a condition without a name",
    { matchConditions: [{ expression: "true" }] },
    ["spec.matchConditions[0].name: Required value"],
  ],
]);

rows("the kind of parameters", (paramKind) => validating({ paramKind }), [
  ["of the core group", { apiVersion: "v1", kind: "ConfigMap" }, []],
  ["of another group", { apiVersion: "example.org/v1", kind: "Rule" }, []],
  ["nothing", {}, ["spec.paramKind.apiVersion: Required value", "spec.paramKind.kind: Required value"]],
  [
    "three parts",
    { apiVersion: "a/b/c", kind: "Rule" },
    ['spec.paramKind.apiVersion: Invalid value: "a/b/c": unexpected GroupVersion string: a/b/c'],
  ],
  [
    "no version",
    { apiVersion: "a/", kind: "Rule" },
    ['spec.paramKind.apiVersion: Invalid value: "a/": version must be specified'],
  ],
  [
    "a slash",
    { apiVersion: "/", kind: "Rule" },
    ['spec.paramKind.apiVersion: Invalid value: "/": version must be specified'],
  ],
  [
    "bad names",
    { apiVersion: "A/1", kind: "R_" },
    [
      `spec.paramKind.apiVersion: Invalid value: "A": ${subdomain}`,
      `spec.paramKind.apiVersion: Invalid value: "1": ${label}`,
      `spec.paramKind.kind: Invalid value: "R_": may have mixed case, but should otherwise match: ${label}`,
    ],
  ],
]);

rows("a validation", (one) => validating({ validations: [one] }), [
  ["no expression", {}, ["spec.validations[0].expression: Required value: expression is not specified"]],
  [
    "a blank expression",
    { expression: " " },
    ["spec.validations[0].expression: Required value: expression is not specified"],
  ],
  [
    "an expression of another type",
    { expression: "'a'" },
    [`spec.validations[0].expression: Invalid value: "'a'": must evaluate to bool but got string`],
  ],
  [
    "with a message of its own",
    { expression: "true", message: "no", messageExpression: "'no'", reason: "Forbidden" },
    [],
  ],
  [
    "a blank message",
    { expression: "true", message: " ", messageExpression: "\t" },
    [
      'spec.validations[0].messageExpression: Invalid value: "\\t": must be non-empty if specified',
      'spec.validations[0].message: Invalid value: " ": must be non-empty if specified',
    ],
  ],
  [
    "a message of two lines",
    { expression: "true", message: "a\nb" },
    ['spec.validations[0].message: Invalid value: "a\\nb": must not contain line breaks'],
  ],
  ["a line break around the message", { expression: "true", message: "a\n" }, []],
  [
    "a message of another type",
    { expression: "true", messageExpression: "1" },
    ['spec.validations[0].messageExpression: Invalid value: "1": must evaluate to string but got int'],
  ],
  [
    "an unknown reason",
    { expression: "true", reason: "NotFound" },
    [
      'spec.validations[0].reason: Unsupported value: "NotFound": supported values: "Forbidden", "Invalid", "RequestEntityTooLarge"',
    ],
  ],
]);

test("only the expression of a validation can refer to the authorizer", () => {
  const expression = "authorizer.path('/x').check('get').allowed()";
  assert.deepEqual(validating({ validations: [{ expression }] }), []);
  const [error = ""] = validating({
    validations: [{ expression: "true", messageExpression: `${expression} ? 'a' : 'b'` }],
  });
  assert.match(error, /^spec\.validations\[0\]\.messageExpression: .*undeclared reference to 'authorizer'/s);
});

rows(
  "variables",
  (variables) => validating({ variables: Object.values(variables), validations: [{ expression: "variables.a > 0" }] }),
  [
    [
      "one that another uses",
      { one: { name: "b", expression: "1" }, two: { name: "a", expression: "variables.b + 1" } },
      [],
    ],
    [
      "no expression",
      { one: { name: "a", expression: "1" }, two: { name: "b" } },
      ["spec.variables[1].expression: Required value: expression is not specified"],
    ],
    [
      "no name",
      { one: { name: "a", expression: "1" }, two: { expression: "1" } },
      ["spec.variables[1].name: Required value: name is not specified"],
    ],
    [
      "a name that is not an identifier",
      { one: { name: "a", expression: "1" }, two: { name: "1b", expression: "1" } },
      ['spec.variables[1].name: Invalid value: "1b": must be a valid CEL identifier'],
    ],
    [
      "a reserved word",
      { one: { name: "a", expression: "1" }, two: { name: "in", expression: "1" } },
      ['spec.variables[1].name: Invalid value: "in": must be a valid CEL identifier'],
    ],
  ],
);

test("a variable cannot use one that is defined after it", () => {
  const variables = [
    { name: "a", expression: "variables.b" },
    { name: "b", expression: "1" },
  ];
  const [error = "", ...others] = validating({ variables });
  assert.match(
    error,
    /^spec\.variables\[0\]\.expression: Invalid value: "variables\.b": compilation failed: .*undefined field 'b'/s,
  );
  assert.deepEqual(others, []);
});

test("the parameters are known to a policy with a kind of them", () => {
  const uses = { validations: [{ expression: "params.a == 1" }] };
  assert.deepEqual(validating({ ...uses, paramKind: { apiVersion: "v1", kind: "ConfigMap" } }), []);
  assert.equal(validating(uses).length, 1);
});

const annotations = (...auditAnnotations: JsonObject[]): string[] => validating({ auditAnnotations });

test("an audit annotation has a key of its own and an expression of a string or null", () => {
  const valueExpression = "'x'";
  assert.deepEqual(annotations({ key: "a", valueExpression }, { key: "b", valueExpression: "null" }), []);
  assert.deepEqual(annotations({ key: "a", valueExpression }, { key: "a", valueExpression }), [
    'spec.auditAnnotations[1].key: Duplicate value: "a"',
  ]);
  assert.deepEqual(annotations({ key: "a" }), [
    "spec.auditAnnotations[0].valueExpression: Required value: valueExpression is not specified",
  ]);
  const [keyError = ""] = annotations({ key: "a/b", valueExpression });
  assert.match(
    keyError,
    /^spec\.auditAnnotations\[0\]\.key: Invalid value: "p\.example\.org\/a\/b": a valid label key must consist of /,
  );
});

test("an annotation may have 5 KiB, and a policy 20 of them", () => {
  const ofLength = (length: number): JsonObject => ({ key: "a", valueExpression: `'${"x".repeat(length - 2)}'` });
  assert.deepEqual(annotations(ofLength(5120)), []);
  assert.deepEqual(annotations(ofLength(5121)), [
    "spec.auditAnnotations[0].valueExpression: Required value: must not exceed 5120 bytes in length",
  ]);
  const many = (count: number): string[] =>
    annotations(...Array.from({ length: count }, (_, index) => ({ key: `k${index}`, valueExpression: "''" })));
  assert.deepEqual(many(20), []);
  const [error = "", ...others] = many(21);
  assert.deepEqual(others, []);
  assert.match(error, /^spec\.auditAnnotations: Invalid value: \[\{"Key":"k0","ValueExpression":"''"\},/);
  assert.ok(error.endsWith(": must not have more than 20 auditAnnotations"));
});

const jsonPatch = { patchType: "JSONPatch", jsonPatch: { expression: '[JSONPatch{op: "remove", path: "/a"}]' } };
const applied = { patchType: "ApplyConfiguration", applyConfiguration: { expression: "Object{}" } };
const mutating = (spec: JsonObject): string[] =>
  texts(
    finish(mutatingPolicyErrors({ spec: { ...base, reinvocationPolicy: "Never", mutations: [jsonPatch], ...spec } })),
  );

rows("a mutating policy", mutating, [
  ["a complete one", { mutations: [jsonPatch, applied] }, []],
  ["no mutations", { mutations: [] }, ["spec.mutations: Required value: mutations must contain at least one item"]],
  ["no reinvocation policy", { reinvocationPolicy: "" }, ["spec.reinvocationPolicy: Required value"]],
  [
    "an unknown reinvocation policy",
    { reinvocationPolicy: "Always" },
    ['spec.reinvocationPolicy: Unsupported value: "Always": supported values: "IfNeeded", "Never"'],
  ],
  [
    "deletions",
    { matchConstraints: { resourceRules: [{ ...rule, operations: ["DELETE"] }] } },
    [
      'spec.matchConstraints.resourceRules.operations: Unsupported value: "DELETE": supported values: "*", "CONNECT", "CREATE", "UPDATE"',
    ],
  ],
]);

rows("a mutation", (one) => mutating({ mutations: [one] }), [
  ["no type", { jsonPatch: {} }, ["spec.mutations[0].patchType: Required value"]],
  [
    "an unknown type",
    { patchType: "Merge" },
    ['spec.mutations[0].patchType: Unsupported value: "Merge": supported values: "ApplyConfiguration", "JSONPatch"'],
  ],
  [
    "no patch of the type",
    { patchType: "JSONPatch" },
    ["spec.mutations[0].jsonPatch: Required value: must be specified when patchType is JSONPatch"],
  ],
  [
    "a patch of the other type beside",
    { ...applied, jsonPatch: {} },
    [
      'spec.mutations[0].jsonPatch: Invalid value: "{jsonPatch}": must not be specified when patchType is ApplyConfiguration',
    ],
  ],
  [
    "no expression",
    { patchType: "JSONPatch", jsonPatch: { expression: " " } },
    ["spec.mutations[0].jsonPatch.expression: Required value"],
  ],
  [
    "an expression of the other type",
    { patchType: "JSONPatch", jsonPatch: { expression: "Object{}" } },
    [
      'spec.mutations[0].jsonPatch.expression: Invalid value: "Object{}": must evaluate to list(JSONPatch) but got Object',
    ],
  ],
]);

test("to compile each expression is a part", () => {
  const expressions = (count: number): JsonObject[] =>
    Array.from({ length: count }, (_, at) => ({ name: `v${at}`, expression: "true" }));
  const spec = {
    ...base,
    variables: expressions(100),
    validations: expressions(100),
    matchConditions: expressions(60),
  };
  const work = validatingPolicyErrors({ metadata: { name: "p.example.org" }, spec });
  let parts = 1;
  for (; work.next().done !== true; ) parts += 1;
  assert.ok(parts > 260, `${parts} parts`);
});

test("a policy has at most a thousand variables, validations and mutations, and more are not compiled", () => {
  const many = (count: number): JsonObject[] =>
    Array.from({ length: count }, (_, at) => ({ name: `v${at}`, expression: "true" }));
  assert.deepEqual(validating({ variables: many(1000), validations: many(1000) }), []);
  assert.deepEqual(validating({ variables: many(1001) }), [
    "spec.variables: Too many: 1001: must have at most 1000 items",
  ]);
  // Their errors would be found if they were compiled.
  const wrong = Array.from({ length: 1001 }, () => ({ expression: "(" }));
  const tooMany = (name: string) => [`spec.${name}: Too many: 1001: must have at most 1000 items`];
  assert.deepEqual(validating({ validations: wrong }), tooMany("validations"));
  const spec = { ...base, mutations: wrong, reinvocationPolicy: "Never" };
  assert.deepEqual(texts(finish(mutatingPolicyErrors({ spec }))), tooMany("mutations"));
});
