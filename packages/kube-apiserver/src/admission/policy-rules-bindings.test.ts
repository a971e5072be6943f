// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import { type FieldError, fieldErrorText } from "@purlin/kube-objects/errors";
import type { JsonObject } from "@purlin/kube-objects/json";
import { mutatingBindingErrors, validatingBindingErrors } from "./policy-rules.ts";

const texts = (errors: readonly FieldError[]): string[] => errors.map(fieldErrorText);
const rule = { operations: ["CREATE"], apiGroups: [""], apiVersions: ["v1"], resources: ["pods"] };

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
const ref = { name: "a", parameterNotFoundAction: "Deny" };
const binding = (spec: JsonObject): JsonObject => ({
  spec: { policyName: "p.example.org", validationActions: ["Deny"], ...spec },
});

rows("a binding", (spec) => texts(validatingBindingErrors(binding(spec))), [
  ["a complete one", { paramRef: ref, matchResources: { resourceRules: [rule] } }, []],
  ["no policy", { policyName: "" }, ["spec.policyName: Required value"]],
  ["a bad name of a policy", { policyName: "A" }, [`spec.policyName: Invalid value: "A": ${subdomain}`]],
  ["audit and deny", { validationActions: ["Audit", "Deny"] }, []],
  [
    "no actions",
    { validationActions: [] },
    ["spec.validationActions: Required value: at least one validation action is required"],
  ],
  [
    "deny and warn",
    { validationActions: ["Deny", "Warn"] },
    [
      'spec.validationActions: Invalid value: ["Deny","Warn"]: must not contain both Deny and Warn (repeating the same validation failure information in the API response and headers serves no purpose)',
    ],
  ],
  [
    "an unknown action twice",
    { validationActions: ["Log", "Log"] },
    [
      'spec.validationActions[0]: Unsupported value: "Log": supported values: "Audit", "Deny", "Warn"',
      'spec.validationActions[1]: Unsupported value: "Log": supported values: "Audit", "Deny", "Warn"',
      'spec.validationActions[1]: Duplicate value: "Log"',
    ],
  ],
  [
    "a match that is not valid",
    { matchResources: { matchPolicy: "X" } },
    ['spec.matchResources.matchPolicy: Unsupported value: "X": supported values: "Equivalent", "Exact"'],
  ],
]);

rows("a reference to parameters", (paramRef) => texts(mutatingBindingErrors(binding({ paramRef }))), [
  ["by name", ref, []],
  ["by labels", { selector: {}, parameterNotFoundAction: "Allow" }, []],
  [
    "by both",
    { ...ref, selector: {} },
    [
      "spec.paramRef.name: Forbidden: name and selector are mutually exclusive",
      "spec.paramRef.selector: Forbidden: name and selector are mutually exclusive",
    ],
  ],
  [
    "nothing",
    {},
    [
      "spec.paramRef: Required value: one of name or selector must be specified",
      "spec.paramRef.parameterNotFoundAction: Required value",
    ],
  ],
  ["a bad name", { ...ref, name: "." }, [`spec.paramRef.name: Invalid value: ".": may not be '.'`]],
  [
    "an unknown action",
    { ...ref, parameterNotFoundAction: "Skip" },
    ['spec.paramRef.parameterNotFoundAction: Unsupported value: "Skip": supported values: "Deny", "Allow"'],
  ],
]);

test("a binding of a mutating policy cannot select deletions", () => {
  const spec = { matchResources: { resourceRules: [{ ...rule, operations: ["DELETE"] }] } };
  assert.deepEqual(texts(mutatingBindingErrors(binding(spec))), [
    'spec.matchResources.resourceRules.operations: Unsupported value: "DELETE": supported values: "*", "CONNECT", "CREATE", "UPDATE"',
  ]);
  assert.deepEqual(texts(validatingBindingErrors(binding(spec))), []);
});
