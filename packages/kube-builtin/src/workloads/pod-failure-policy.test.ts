// SPDX-License-Identifier: Apache-2.0
// Failure policies, success policies and indexes of Jobs. The texts are those of kube-apiserver 1.36.
import assert from "node:assert/strict";
import { test } from "node:test";
import { fieldErrorText } from "@purlin/kube-objects/errors";
import type { JsonObject } from "@purlin/kube-objects/json";
import { labelKeyProblems } from "@purlin/kube-objects/metadata";
import { countedIndexes, failurePolicyErrors, indexInterval, successPolicyErrors } from "./pod-failure-policy.ts";

type Case = readonly [name: string, rule: JsonObject, want: readonly string[]];

const template = { spec: { restartPolicy: "Never", containers: [{ name: "c" }], initContainers: [{ name: "i" }] } };
const codes = (more: JsonObject): JsonObject => ({
  action: "Ignore",
  onExitCodes: { operator: "In", values: [1], ...more },
});
const conditions = (...onPodConditions: JsonObject[]): JsonObject => ({ action: "Count", onPodConditions });
const target = { type: "DisruptionTarget", status: "True" };

const failures: readonly Case[] = [
  ["exit codes", codes({ values: [1, 2, 255] }), []],
  ["exit codes of a container", codes({ containerName: "c" }), []],
  ["exit codes of an init container", codes({ containerName: "i" }), []],
  [
    "exit codes of an unknown container",
    codes({ containerName: "x" }),
    [
      'r.onExitCodes.containerName: Invalid value: "x": must be one of the container or initContainer names in the pod template',
    ],
  ],
  ["no operator", codes({ operator: "" }), ['r.onExitCodes.operator: Required value: valid values: ["In" "NotIn"]']],
  [
    "an unknown operator",
    codes({ operator: "Is" }),
    ['r.onExitCodes.operator: Unsupported value: "Is": supported values: "In", "NotIn"'],
  ],
  ["no exit codes", codes({ values: [] }), ["r.onExitCodes.values: Invalid value: []: at least one value is required"]],
  ["255 exit codes", codes({ values: Array.from({ length: 255 }, (_, index) => index + 1) }), []],
  [
    "256 exit codes",
    codes({ values: Array.from({ length: 256 }, (_, index) => index + 1) }),
    ["r.onExitCodes.values: Too many: 256: must have at most 255 items"],
  ],
  [
    "success as a failure",
    codes({ values: [0, 1] }),
    ["r.onExitCodes.values[0]: Invalid value: 0: must not be 0 for the In operator"],
  ],
  ["all but success", codes({ operator: "NotIn", values: [0] }), []],
  ["an exit code twice", codes({ values: [1, 1] }), ["r.onExitCodes.values[1]: Duplicate value: 1"]],
  [
    "exit codes that are not in order",
    codes({ values: [2, 1] }),
    ["r.onExitCodes.values: Invalid value: [2,1]: must be ordered"],
  ],
  ["a condition", conditions(target), []],
  [
    "an invalid condition",
    conditions({ type: "a b", status: "" }),
    [
      `r.onPodConditions[0].type: Invalid value: "a b": ${String(labelKeyProblems("a b"))}`,
      'r.onPodConditions[0].status: Required value: valid values: ["False" "True" "Unknown"]',
    ],
  ],
  [
    "a condition with an unknown status",
    conditions({ ...target, status: "true" }),
    ['r.onPodConditions[0].status: Unsupported value: "true": supported values: "False", "True", "Unknown"'],
  ],
  ["20 conditions", conditions(...Array<JsonObject>(20).fill(target)), []],
  [
    "21 conditions, of which none is validated",
    conditions(...Array<JsonObject>(21).fill({})),
    ["r.onPodConditions: Too many: 21: must have at most 20 items"],
  ],
  [
    "no action",
    { onPodConditions: [target] },
    ['r.action: Required value: valid values: ["Count" "FailIndex" "FailJob" "Ignore"]'],
  ],
  [
    "an unknown action",
    { action: "Retry", onPodConditions: [target] },
    ['r.action: Unsupported value: "Retry": supported values: "Count", "FailIndex", "FailJob", "Ignore"'],
  ],
  [
    "an index that fails without a limit",
    { action: "FailIndex", onPodConditions: [target] },
    ['r.action: Invalid value: "FailIndex": requires the backoffLimitPerIndex to be set'],
  ],
  [
    "exit codes and conditions",
    { ...codes({}), onPodConditions: [target] },
    ["r: Invalid value: specifying both OnExitCodes and OnPodConditions is not supported"],
  ],
  [
    "neither",
    { action: "Ignore" },
    ["r: Invalid value: specifying one of OnExitCodes and OnPodConditions is required"],
  ],
];

for (const [name, rule, want] of failures) {
  test(`a rule of a failure policy: ${name}`, () => {
    const errors = failurePolicyErrors({ template, podFailurePolicy: { rules: [rule] } }, "s");
    assert.deepEqual(
      errors.map((error) => fieldErrorText(error).replace("s.podFailurePolicy.rules[0]", "r")),
      want,
    );
  });
}

test("an index can fail where indexes have a limit", () => {
  const rules = [{ action: "FailIndex", onPodConditions: [target] }];
  assert.deepEqual(failurePolicyErrors({ template, backoffLimitPerIndex: 0, podFailurePolicy: { rules } }, "s"), []);
});

test("a failure policy has at most 20 rules, for Pods that never restart", () => {
  const policy = (count: number): JsonObject => ({ rules: Array<JsonObject>(count).fill(conditions(target)) });
  const restarting = { spec: { ...template.spec, restartPolicy: "OnFailure" } };
  assert.deepEqual(failurePolicyErrors({ template, podFailurePolicy: policy(20) }, "s"), []);
  assert.deepEqual(
    failurePolicyErrors({ template: restarting, podFailurePolicy: policy(21) }, "s").map(fieldErrorText),
    [
      's.template.spec.restartPolicy: Invalid value: "OnFailure": only "Never" is supported when podFailurePolicy is specified',
      "s.podFailurePolicy.rules: Too many: 21: must have at most 20 items",
    ],
  );
});

const successes: readonly Case[] = [
  ["a number", { succeededCount: 5 }, []],
  ["indexes", { succeededIndexes: "0-2,4" }, []],
  ["a number of indexes", { succeededIndexes: "0-2,4", succeededCount: 4 }, []],
  ["nothing", {}, ["r: Required value: at least one of succeededCount or succeededIndexes must be specified"]],
  ["no indexes", { succeededIndexes: "" }, []],
  [
    "invalid indexes",
    { succeededIndexes: "0,x" },
    [
      'r.succeededIndexes: Invalid value: "0,x": error parsing succeededIndexes: cannot convert string to integer for index: "x"',
    ],
  ],
  [
    "a negative number",
    { succeededCount: -1 },
    ["r.succeededCount: Invalid value: -1: must be greater than or equal to 0"],
  ],
  [
    "more than there are",
    { succeededCount: 6 },
    ["r.succeededCount: Invalid value: 6: must be less than or equal to 5 (the number of specified completions)"],
  ],
  [
    "more than there are indexes",
    { succeededIndexes: "1", succeededCount: 2 },
    [
      "r.succeededCount: Invalid value: 2: must be less than or equal to 1 (the number of indexes in the specified succeededIndexes field)",
    ],
  ],
];

for (const [name, rule, want] of successes) {
  test(`a rule of a success policy: ${name}`, () => {
    const errors = successPolicyErrors(
      { completionMode: "Indexed", completions: 5, successPolicy: { rules: [rule] } },
      "s",
    );
    assert.deepEqual(
      errors.map((error) => fieldErrorText(error).replace("s.successPolicy.rules[0]", "r")),
      want,
    );
  });
}

test("a success policy has 1 to 20 rules, and an indexed Job", () => {
  const spec = (count: number, more: JsonObject = {}): JsonObject => ({
    completionMode: "Indexed",
    completions: 1,
    successPolicy: { rules: Array<JsonObject>(count).fill({ succeededCount: 1 }) },
    ...more,
  });
  const errors = (own: JsonObject): string[] => successPolicyErrors(own, "s").map(fieldErrorText);
  assert.deepEqual([errors({}), errors(spec(1)), errors(spec(20))], [[], [], []]);
  assert.deepEqual(errors(spec(0)), [
    "s.successPolicy.rules: Required value: at least one rules must be specified when the successPolicy is specified",
  ]);
  assert.deepEqual(errors(spec(21)), ["s.successPolicy.rules: Too many: 21: must have at most 20 items"]);
  assert.deepEqual(errors(spec(1, { completionMode: "NonIndexed" })), [
    's.successPolicy: Invalid value: {"Rules":[{"SucceededIndexes":null,"SucceededCount":1}]}: requires indexed completion mode',
  ]);
  assert.deepEqual(errors(spec(0, { completionMode: null })), [
    's.successPolicy: Invalid value: {"Rules":null}: requires indexed completion mode',
  ]);
});

test("indexes have at most 64 KiB", () => {
  const long = Array.from({ length: 20_000 }, (_, index) => index * 2).join(",");
  const errors = successPolicyErrors(
    { completionMode: "Indexed", completions: 100_000, successPolicy: { rules: [{ succeededIndexes: long }] } },
    "s",
  );
  assert.deepEqual(errors.map(fieldErrorText), [
    "s.successPolicy.rules[0].succeededIndexes: Too long: may not be more than 65536 bytes",
  ]);
});

const indexes: Readonly<Record<string, number | string>> = {
  "": 0,
  "0": 1,
  "0,2-4,9": 5,
  "10": 'too large index: "10"',
  "0-10": 'too large index: "10"',
  "1-1": "non-increasing order, previous: 1, current: 1",
  "3-1": "non-increasing order, previous: 3, current: 1",
  "2,1": "non-increasing order, previous: 2, current: 1",
  "1-3,3": "non-increasing order, previous: 3, current: 3",
  "1-2-3": `the fragment "1-2-3" violates the requirement that an index interval can have at most two parts separated by '-'`,
  "1,": 'cannot convert string to integer for index: ""',
  "1, 2": 'cannot convert string to integer for index: " 2"',
  "-1": 'cannot convert string to integer for index: ""',
};

for (const [text, want] of Object.entries(indexes)) {
  test(`the indexes ${JSON.stringify(text)} of 10`, () => {
    assert.deepEqual(countedIndexes(text, 10), typeof want === "number" ? { total: want } : { problem: want });
  });
}

test("an interval is one index or two that differ", () => {
  assert.deepEqual(indexInterval("3", 4), { first: 3, last: 3 });
  assert.deepEqual(indexInterval("0-3", 4), { first: 0, last: 3 });
});
