// SPDX-License-Identifier: Apache-2.0
// The specs of Jobs and CronJobs. The texts are those of kube-apiserver 1.36.
import assert from "node:assert/strict";
import { test } from "node:test";
import { fieldErrorText } from "@purlin/kube-objects/errors";
import type { JsonObject } from "@purlin/kube-objects/json";
import { dns1123SubdomainProblems } from "@purlin/kube-objects/metadata";
import { objectErrors } from "../../test/object-errors.ts";
import { cronJobRules, jobRules } from "./job-rules.ts";

type Case = readonly [name: string, spec: JsonObject, want: readonly string[]];

const pod = { restartPolicy: "Never", dnsPolicy: "Default", containers: [{ name: "c", image: "i" }] };
const metadata = { name: "j", uid: "u" };

/** A Job as the server stores it, with the members that it gives to every Job. */
const made = (spec: JsonObject): JsonObject =>
  jobRules.prepareCreate?.({ metadata, spec: { completionMode: "NonIndexed", template: { spec: pod }, ...spec } }) ??
  {};
const errorsOf = (spec: JsonObject): string[] => objectErrors(jobRules, made(spec)).map(fieldErrorText);

const indexed = (more: JsonObject): JsonObject => ({
  completionMode: "Indexed",
  completions: 10,
  parallelism: 10,
  ...more,
});
const large = (more: JsonObject): JsonObject =>
  indexed({ completions: 100_001, backoffLimitPerIndex: 1, maxFailedIndexes: 10_000, ...more });
const { maxFailedIndexes: _limit, ...unlimited } = large({});
const numbers = ["parallelism", "completions", "activeDeadlineSeconds", "backoffLimit", "ttlSecondsAfterFinished"];
const limitOfMany =
  "must be less than or equal to 10000 when completions are above 100000 and used with backoff limit per index";
const pathText = "Invalid path (regex used for validation is '[A-Za-z0-9/\\-._~%!$&'()*+,;=:]+')";
const prefixed = 'must be a domain-prefixed path (such as "acme.io/foo")';

const specs: readonly Case[] = [
  ["a plain one", {}, []],
  ["zeros", Object.fromEntries(numbers.map((name) => [name, 0])), []],
  [
    "negative numbers",
    Object.fromEntries(numbers.map((name) => [name, -1])),
    numbers.map((name) => `spec.${name}: Invalid value: -1: must be greater than or equal to 0`),
  ],
  ["an indexed one", indexed({ backoffLimitPerIndex: 1, maxFailedIndexes: 10 }), []],
  [
    "an unknown mode",
    { completionMode: "x" },
    ['spec.completionMode: Unsupported value: "x": supported values: "NonIndexed", "Indexed"'],
  ],
  [
    "an indexed one without a number",
    { completionMode: "Indexed" },
    ["spec.completions: Required value: when completion mode is Indexed"],
  ],
  [
    "limits by index without indexes",
    { backoffLimitPerIndex: 1, maxFailedIndexes: 1 },
    [
      "spec.backoffLimitPerIndex: Invalid value: 1: requires indexed completion mode",
      "spec.maxFailedIndexes: Invalid value: 1: requires indexed completion mode",
    ],
  ],
  [
    "failed indexes without a limit",
    indexed({ maxFailedIndexes: 1 }),
    ["spec.backoffLimitPerIndex: Required value: when maxFailedIndexes is specified"],
  ],
  [
    "more failed indexes than indexes",
    indexed({ backoffLimitPerIndex: 1, maxFailedIndexes: 11 }),
    ["spec.maxFailedIndexes: Invalid value: 11: must be less than or equal to completions"],
  ],
  ["100,000 at a time", indexed({ parallelism: 100_000 }), []],
  [
    "100,001 at a time",
    indexed({ parallelism: 100_001 }),
    ["spec.parallelism: Invalid value: 100001: must be less than or equal to 100000 when completion mode is Indexed"],
  ],
  ["many indexes with limits", large({}), []],
  [
    "many indexes without a number that may fail",
    unlimited,
    ["spec.maxFailedIndexes: Required value: must be specified when completions is above 100000"],
  ],
  [
    "many indexes with limits that are too high",
    large({ parallelism: 10_001, maxFailedIndexes: 10_001 }),
    [
      `spec.parallelism: Invalid value: 10001: ${limitOfMany}`,
      `spec.maxFailedIndexes: Invalid value: 10001: ${limitOfMany}`,
    ],
  ],
  [
    "many failed indexes",
    indexed({ completions: 200_000, maxFailedIndexes: 100_001, backoffLimitPerIndex: 1 }),
    [
      "spec.maxFailedIndexes: Invalid value: 100001: must be less than or equal to 100000",
      `spec.maxFailedIndexes: Invalid value: 100001: ${limitOfMany}`,
    ],
  ],
  ["a policy for replacements", { podReplacementPolicy: "Failed" }, []],
  [
    "an unknown policy for replacements",
    { podReplacementPolicy: "" },
    ['spec.podReplacementPolicy: Unsupported value: "": supported values: "Failed", "TerminatingOrFailed"'],
  ],
  [
    "a policy for replacements that excludes a failure policy",
    { podReplacementPolicy: "TerminatingOrFailed", podFailurePolicy: { rules: [] } },
    ['spec.podReplacementPolicy: Unsupported value: "TerminatingOrFailed": supported values: "Failed"'],
  ],
  ["a controller", { managedBy: "kueue.x-k8s.io/multikueue" }, []],
  ["an empty controller", { managedBy: "" }, ["spec.managedBy: Required value"]],
  ["a controller without a domain", { managedBy: "x" }, [`spec.managedBy: Invalid value: "x": ${prefixed}`]],
  ["a controller without a path", { managedBy: "x.y/" }, [`spec.managedBy: Invalid value: "x.y/": ${prefixed}`]],
  [
    "a controller with an invalid domain and path",
    { managedBy: "X/a b" },
    [
      `spec.managedBy: Invalid value: "X": ${String(dns1123SubdomainProblems("X"))}`,
      `spec.managedBy: Invalid value: "a b": ${pathText}`,
    ],
  ],
  ["a controller of 63 bytes", { managedBy: `a/${"b".repeat(61)}` }, []],
  [
    "a controller of 64 bytes",
    { managedBy: `a/${"b".repeat(62)}` },
    ["spec.managedBy: Too long: may not be more than 63 bytes"],
  ],
  [
    "Pods that always restart",
    { template: { spec: { ...pod, restartPolicy: "Always" } } },
    ['spec.template.spec.restartPolicy: Required value: valid values: "OnFailure", "Never"'],
  ],
  [
    "Pods with an unknown policy",
    { template: { spec: { ...pod, restartPolicy: "x" } } },
    [
      'spec.template.spec.restartPolicy: Unsupported value: "x": supported values: "Always", "OnFailure", "Never"',
      'spec.template.spec.restartPolicy: Unsupported value: "x": supported values: "OnFailure", "Never"',
    ],
  ],
];

for (const [name, spec, want] of specs) {
  test(`the spec of a Job: ${name}`, () => {
    assert.deepEqual(errorsOf(spec), want);
  });
}

const generated = {
  "batch.kubernetes.io/controller-uid": "u",
  "batch.kubernetes.io/job-name": "j",
  "controller-uid": "u",
  "job-name": "j",
};
const jobWith = (labels: JsonObject, selector: JsonObject | null, more: JsonObject = {}): string[] =>
  objectErrors(jobRules, {
    metadata,
    spec: { template: { metadata: { labels }, spec: pod }, ...(selector && { selector }), ...more },
  }).map(fieldErrorText);

test("a Job has the labels and the selector that the server made for it", () => {
  const own = { matchLabels: { "controller-uid": "u" } };
  assert.deepEqual(jobWith(generated, own), []);
  const { "job-name": _name, ...rest } = generated;
  assert.deepEqual(
    jobWith({ ...rest, "controller-uid": "v" }, { matchLabels: { "batch.kubernetes.io/controller-uid": "u" } }),
    [
      `spec.template.metadata.labels[controller-uid]: Invalid value: {"batch.kubernetes.io/controller-uid":"u","batch.kubernetes.io/job-name":"j","controller-uid":"v"}: must be 'u'`,
      "spec.template.metadata.labels[job-name]: Required value: must be 'j'",
    ],
  );
  assert.deepEqual(jobWith({ ...generated, a: "b" }, { matchLabels: { a: "b" } }), [
    'spec.selector: Invalid value: {"matchLabels":{"a":"b"}}: `selector` not auto-generated',
  ]);
  assert.deepEqual(jobWith({ a: "b" }, { matchLabels: { a: "b" } }, { manualSelector: true }), []);
});

test("the selector of a Job selects its Pods", () => {
  const mismatch = "`selector` does not match template `labels`";
  assert.deepEqual(jobWith({ a: "b" }, { matchLabels: { a: "c" } }, { manualSelector: true }), [
    `spec.template.metadata.labels: Invalid value: {"a":"b"}: ${mismatch}`,
  ]);
  assert.deepEqual(jobWith({ a: "b" }, null, { manualSelector: true }), [
    "spec.selector: Required value",
    `spec.template.metadata.labels: Invalid value: {"a":"b"}: ${mismatch}`,
  ]);
  assert.deepEqual(jobWith({ a: "b" }, { matchExpressions: [{ key: "a", operator: "x" }] }, { manualSelector: true }), [
    'spec.selector.matchExpressions[0].operator: Invalid value: "x": not a valid selector operator',
  ]);
});

test("many indexes at a time give a warning, for a new Job and a changed spec", () => {
  const job = (generation: number, spec: JsonObject): JsonObject => ({
    metadata: { name: "j", generation },
    spec: { template: { spec: pod }, ...spec },
  });
  const many = large({ parallelism: 10_001 });
  const text =
    "spec: In Indexed Jobs with a number of completions higher than 10^5 and a parallelism higher than 10^4, Kubernetes might not be able to track completedIndexes when a big number of indexes fail";
  assert.deepEqual(jobRules.warnings?.(job(1, many), undefined, ""), [text]);
  assert.deepEqual(jobRules.warnings?.(job(2, many), job(1, many), ""), [text]);
  assert.deepEqual(jobRules.warnings?.(job(1, many), job(1, many), "status"), []);
  assert.deepEqual(jobRules.warnings?.(job(1, { ...many, parallelism: 10_000 }), undefined, ""), []);
});

test("Jobs can be selected by their successes", () => {
  const field = jobRules.fields?.["status.successful"];
  assert.deepEqual([field?.({ status: { succeeded: 3 } }), field?.({})], ["3", "0"]);
  assert.equal(jobRules.fieldProblem?.("status.successful"), undefined);
  assert.equal(jobRules.fieldProblem?.("spec.x"), 'field label "spec.x" not supported for Job');
});

const cron = (more: JsonObject): string[] =>
  objectErrors(cronJobRules, {
    spec: {
      schedule: "@daily",
      concurrencyPolicy: "Allow",
      jobTemplate: { spec: { template: { spec: pod } } },
      ...more,
    },
  }).map(fieldErrorText);

const crons: readonly Case[] = [
  ["a plain one", {}, []],
  ["no schedule", { schedule: "" }, ["spec.schedule: Required value"]],
  [
    "negative numbers",
    { startingDeadlineSeconds: -1, successfulJobsHistoryLimit: -1, failedJobsHistoryLimit: -1 },
    ["startingDeadlineSeconds", "successfulJobsHistoryLimit", "failedJobsHistoryLimit"].map(
      (name) => `spec.${name}: Invalid value: -1: must be greater than or equal to 0`,
    ),
  ],
  ["an empty zone", { timeZone: "" }, ['spec.timeZone: Invalid value: "": timeZone must be nil or non-empty string']],
  [
    "the zone of the machine",
    { timeZone: "Local" },
    [
      'spec.timeZone: Invalid value: "Local": timeZone must be an explicit time zone as defined in https://www.iana.org/time-zones',
    ],
  ],
  [
    "an unknown zone",
    { timeZone: "Mars/Phobos" },
    ['spec.timeZone: Invalid value: "Mars/Phobos": unknown time zone Mars/Phobos'],
  ],
  [
    "an unknown policy",
    { concurrencyPolicy: "" },
    ['spec.concurrencyPolicy: Unsupported value: "": supported values: "Allow", "Forbid", "Replace"'],
  ],
  [
    "a selector",
    { jobTemplate: { spec: { template: { spec: pod }, selector: { matchLabels: { a: "b" } }, manualSelector: true } } },
    [
      'spec.jobTemplate.spec.selector: Invalid value: {"matchLabels":{"a":"b"}}: `selector` will be auto-generated',
      'spec.jobTemplate.spec.manualSelector: Unsupported value: true: supported values: "nil", "false"',
    ],
  ],
  [
    "an invalid Job",
    { jobTemplate: { spec: { template: { spec: pod }, backoffLimit: -1 } } },
    ["spec.jobTemplate.spec.backoffLimit: Invalid value: -1: must be greater than or equal to 0"],
  ],
];

for (const [name, spec, want] of crons) {
  test(`the spec of a CronJob: ${name}`, () => {
    assert.deepEqual(cron(spec), want);
  });
}

test("the name of a new CronJob leaves room for those of its Jobs", () => {
  const errors = (name: string): string[] =>
    (cronJobRules.validateNew?.({ metadata: { name } }) ?? []).map(fieldErrorText);
  assert.deepEqual(errors("c".repeat(52)), []);
  assert.deepEqual(errors("c".repeat(53)), [
    `metadata.name: Invalid value: "${"c".repeat(53)}": must be no more than 52 characters`,
  ]);
});
