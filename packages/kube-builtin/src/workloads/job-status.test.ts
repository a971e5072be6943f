// SPDX-License-Identifier: Apache-2.0
// Writes to the status of a Job. The texts are those of kube-apiserver 1.36.
import assert from "node:assert/strict";
import { test } from "node:test";
import { fieldErrorText } from "@purlin/kube-objects/errors";
import type { JsonObject } from "@purlin/kube-objects/json";
import { jobStatusErrors } from "./job-status.ts";

interface StatusCase {
  readonly spec?: JsonObject;
  readonly before?: JsonObject;
  readonly now: JsonObject;
  readonly want: readonly string[];
}

const [early, late] = ["2026-01-01T00:00:00Z", "2026-01-02T00:00:00Z"];
const conditions = (...types: string[]): JsonObject => ({
  conditions: types.map((type) => ({ type, status: "True" })),
});
const invalid = (why: string): string => `status.conditions: Invalid value: ${why}`;
const complete = { ...conditions("SuccessCriteriaMet", "Complete"), startTime: early, completionTime: late };
const failed = { ...conditions("FailureTarget", "Failed"), startTime: early };
const indexed = { completionMode: "Indexed", completions: 5, parallelism: 3, backoffLimitPerIndex: 1 };

const cases: Record<string, StatusCase> = {
  "an empty one": { now: {}, want: [] },
  "a complete Job": { now: complete, want: [] },
  "a failed Job": { now: failed, want: [] },
  "negative counts": {
    now: { active: -1, succeeded: -1, failed: -1, ready: -2, terminating: -1 },
    want: [
      ...["active", "succeeded", "failed"].map(
        (name) => `status.${name}: Invalid value: -1: must be greater than or equal to 0`,
      ),
      "status.ready: Invalid value: -2: must be greater than or equal to 0",
      "status.terminating: Invalid value: -1: must be greater than or equal to 0",
      "status.failed: Invalid value: -1: cannot decrease the failed counter",
      "status.succeeded: Invalid value: -1: cannot decrease the succeeded counter",
    ],
  },
  "Pods that are not counted yet, each once": {
    now: { uncountedTerminatedPods: { succeeded: ["a", "", "a"], failed: ["a", "b"] } },
    want: [
      'status.uncountedTerminatedPods.succeeded[1]: Invalid value: "": must not be empty',
      'status.uncountedTerminatedPods.succeeded[2]: Duplicate value: "a"',
      'status.uncountedTerminatedPods.failed[0]: Duplicate value: "a"',
    ],
  },
  "complete and failed": {
    now: { ...complete, ...conditions("SuccessCriteriaMet", "Complete", "Failed", "FailureTarget") },
    want: [
      invalid("cannot set Complete=True and Failed=true conditions"),
      invalid("cannot set Complete=True and FailureTarget=true conditions"),
      invalid("cannot set SuccessCriteriaMet=True and Failed=true conditions"),
      invalid("cannot set SuccessCriteriaMet=True and FailureTarget=true conditions"),
    ],
  },
  "complete without its criteria and its time": {
    now: { ...conditions("Complete"), startTime: early },
    want: [
      "status.completionTime: Required value: completionTime is required for Complete jobs",
      invalid("cannot set Complete=True condition without the SuccessCriteriaMet=true condition"),
    ],
  },
  "complete by a success policy without its criteria": {
    spec: { successPolicy: { rules: [] } },
    now: { ...complete, ...conditions("Complete") },
    want: [
      invalid("cannot set Complete=True condition without the SuccessCriteriaMet=true condition"),
      invalid("cannot set Complete=True for Job with SuccessPolicy unless SuccessCriteriaMet=True"),
    ],
  },
  "failed without a cause": {
    now: { ...conditions("Failed"), startTime: early },
    want: [invalid("cannot set Failed=True condition without the FailureTarget=true condition")],
  },
  "an end of a Job that has not ended": {
    now: { startTime: late, completionTime: early },
    want: [
      `status.completionTime: Invalid value: "${early}": cannot set completionTime when there is no Complete=True condition`,
      `status.completionTime: Invalid value: "${early}": must be equal to or after \`startTime\``,
    ],
  },
  "an end at the time of the start": { now: { ...complete, completionTime: early }, want: [] },
  "a Job that has ended with Pods": {
    now: { ...failed, active: 1, terminating: 2, uncountedTerminatedPods: { succeeded: ["a"] } },
    want: [
      "status.active: Invalid value: 1: active>0 is invalid for finished job",
      'status.uncountedTerminatedPods: Invalid value: {"Succeeded":["a"],"Failed":null}: must be empty for finished job',
      "status.terminating: Invalid value: 2: terminating>0 is invalid for finished job",
    ],
  },
  "a Job that has ended without a start": {
    now: conditions("FailureTarget", "Failed"),
    want: ["status.startTime: Required value: startTime is required for finished job"],
  },
  "a suspended Job without Pods needs no start": {
    spec: { suspend: true, completions: 0 },
    now: conditions("FailureTarget", "Failed"),
    want: [],
  },
  "more ready Pods than active ones": {
    now: { ready: 2, active: 1 },
    want: ["status.ready: Invalid value: 2: cannot set more ready pods than active"],
  },
  "as many ready Pods as active ones": { now: { ready: 1, active: 1 }, want: [] },
  "indexes that ended": { spec: indexed, now: { completedIndexes: "0,2", failedIndexes: "1" }, want: [] },
  "indexes of a Job without indexes": {
    now: { completedIndexes: "0", failedIndexes: "" },
    want: [
      'status.completedIndexes: Invalid value: "0": cannot set non-empty completedIndexes when non-indexed completion mode',
      'status.failedIndexes: Invalid value: "": cannot set non-null failedIndexes when backoffLimitPerIndex is null',
    ],
  },
  "invalid indexes": {
    spec: indexed,
    now: { completedIndexes: "5", failedIndexes: "x" },
    want: [
      'status.completedIndexes: Invalid value: "5": error parsing completedIndexes: too large index: "5"',
      'status.failedIndexes: Invalid value: "x": error parsing failedIndexes: cannot convert string to integer for index: "x"',
    ],
  },
  "indexes that completed and failed": {
    spec: indexed,
    now: { completedIndexes: "0-3", failedIndexes: "2,4" },
    want: ['status.failedIndexes: Invalid value: "2,4": failedIndexes and completedIndexes overlap at index: 2'],
  },
  "conditions that were true stay true": {
    before: failed,
    now: { startTime: early, conditions: [{ type: "Failed", status: "False" }] },
    want: [
      invalid("cannot disable the terminal Failed=True condition"),
      invalid("cannot disable the terminal FailureTarget=True condition"),
    ],
  },
  "criteria that were met stay met": {
    before: conditions("SuccessCriteriaMet"),
    now: {},
    want: [invalid("cannot disable the SuccessCriteriaMet=True condition")],
  },
  "criteria are not met after the end": {
    before: { ...conditions("Complete"), startTime: early, completionTime: late },
    now: complete,
    want: [invalid("cannot set SuccessCriteriaMet=True for Job already has Complete=true conditions")],
  },
  "counts do not fall": {
    before: { failed: 2, succeeded: 2 },
    now: { failed: 1, succeeded: 1 },
    want: [
      "status.failed: Invalid value: 1: cannot decrease the failed counter",
      "status.succeeded: Invalid value: 1: cannot decrease the succeeded counter",
    ],
  },
  "an indexed Job that shrinks has fewer successes": {
    spec: { ...indexed, parallelism: 5 },
    before: { succeeded: 2 },
    now: { succeeded: 1 },
    want: [],
  },
  "the end stays": {
    before: complete,
    now: { ...complete, completionTime: "2026-01-03T00:00:00Z" },
    want: ['status.completionTime: Invalid value: "2026-01-03T00:00:00Z": field is immutable'],
  },
  "the start of a running Job stays": {
    before: { startTime: early },
    now: { startTime: late },
    want: [`status.startTime: Invalid value: "${late}": field is immutable for unsuspended job once set`],
  },
  "the start of a suspended Job may change": {
    spec: { suspend: true },
    before: { startTime: early },
    now: {},
    want: [],
  },
  "a Job that continues starts again": {
    before: { startTime: early, ...conditions("Suspended") },
    now: { startTime: late, conditions: [{ type: "Suspended", status: "False" }] },
    want: [],
  },
  "what was wrong before and does not change is accepted": {
    before: { ...conditions("Failed"), active: 1, ready: 3, completionTime: early, completedIndexes: "x" },
    now: { ...conditions("Failed"), active: 1, ready: 3, completionTime: early, completedIndexes: "x" },
    want: [],
  },
};

for (const [name, { spec = {}, before = {}, now, want }] of Object.entries(cases)) {
  test(`the status of a Job: ${name}`, () => {
    assert.deepEqual(jobStatusErrors({ spec, status: now }, { spec, status: before }).map(fieldErrorText), want);
  });
}
