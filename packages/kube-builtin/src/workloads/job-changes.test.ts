// SPDX-License-Identifier: Apache-2.0
// Changes of Jobs outside the status. The texts are those of kube-apiserver 1.36.
import assert from "node:assert/strict";
import { test } from "node:test";
import { fieldErrorText } from "@purlin/kube-objects/errors";
import type { JsonObject } from "@purlin/kube-objects/json";
import { jobChangeErrors } from "./job-changes.ts";

const container = (more: JsonObject = {}): JsonObject => ({ name: "c", image: "i", ...more });
const template = (spec: JsonObject = {}, metadata: JsonObject = {}): JsonObject => ({
  metadata,
  spec: { containers: [container()], ...spec },
});
const job = (spec: JsonObject, status: JsonObject = {}): JsonObject => ({
  spec: { template: template(), ...spec },
  status,
});
const errors = (before: JsonObject, now: JsonObject): string[] => jobChangeErrors(now, before).map(fieldErrorText);

/** The beginnings of errors, which continue with whole templates. */
const paths = (before: JsonObject, now: JsonObject): string[] =>
  errors(before, now).map((text) => {
    assert.ok(text.endsWith(": field is immutable"), text);
    return text.slice(0, text.indexOf(":"));
  });

test("how many Pods run at a time, and whether they run, may change", () => {
  assert.deepEqual(
    errors(job({ parallelism: 1 }), job({ parallelism: 2, suspend: true, ttlSecondsAfterFinished: 5 })),
    [],
  );
});

test("what a Job does stays", () => {
  const now = job({
    completions: 2,
    selector: { matchLabels: { a: "b" } },
    completionMode: "NonIndexed",
    podFailurePolicy: { rules: [{ action: "Count" }] },
    backoffLimitPerIndex: 3,
    managedBy: "a/b",
    successPolicy: { rules: [{ succeededCount: 1 }] },
  });
  assert.deepEqual(errors(job({}), now), [
    "spec.completions: Invalid value: 2: field is immutable",
    'spec.selector: Invalid value: {"matchLabels":{"a":"b"}}: field is immutable',
    'spec.completionMode: Invalid value: "NonIndexed": field is immutable',
    'spec.podFailurePolicy: Invalid value: {"Rules":[{"Action":"Count","OnExitCodes":null,"OnPodConditions":null}]}: field is immutable',
    "spec.backoffLimitPerIndex: Invalid value: 3: field is immutable",
    'spec.managedBy: Invalid value: "a/b": field is immutable',
    'spec.successPolicy: Invalid value: {"Rules":[{"SucceededIndexes":null,"SucceededCount":1}]}: field is immutable',
  ]);
  assert.deepEqual(errors(job({ managedBy: "a/b" }), job({})), [
    "spec.managedBy: Invalid value: null: field is immutable",
  ]);
});

test("an indexed Job grows and shrinks with its parallelism", () => {
  const indexed = (completions: number | null, parallelism: number): JsonObject =>
    job({ completionMode: "Indexed", completions, parallelism });
  assert.deepEqual(errors(indexed(3, 3), indexed(5, 5)), []);
  assert.deepEqual(errors(indexed(3, 3), indexed(3, 9)), []);
  assert.deepEqual(errors(indexed(3, 3), indexed(5, 3)), [
    "spec.completions: Invalid value: 5: can only be modified in tandem with spec.parallelism",
  ]);
  assert.deepEqual(errors(indexed(3, 3), indexed(null, 3)), [], "the rules of the spec refuse it");
});

test("the template of a running Job stays", () => {
  const changed = job({ template: template({ nodeSelector: { a: "b" } }) });
  assert.deepEqual(paths(job({}), changed), ["spec.template"]);
  assert.deepEqual(paths(job({ suspend: true }, { startTime: "t" }), changed), ["spec.template"], "not suspended yet");
  assert.deepEqual(paths(job({ suspend: true }, { active: 1 }), changed), ["spec.template"], "its Pods still run");
});

const idle = { suspend: true };
const node = { nodeAffinity: { requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms: [{}] } } };

const placements: Readonly<Record<string, readonly [before: JsonObject, now: JsonObject]>> = {
  "labels and annotations": [template(), template({}, { labels: { a: "b" }, annotations: { c: "d" } })],
  "the node selector": [template({ nodeSelector: { a: "b" } }), template()],
  tolerations: [template(), template({ tolerations: [{ operator: "Exists" }] })],
  "scheduling gates": [template({ schedulingGates: [{ name: "g" }] }), template()],
  "an affinity to nodes": [template(), template({ affinity: node })],
  "no affinity to nodes": [template({ affinity: node }), template()],
  "an affinity to nodes beside one to Pods": [
    template({ affinity: { podAffinity: {} } }),
    template({ affinity: { podAffinity: {}, ...node } }),
  ],
  "resources of containers": [
    template(),
    template({ containers: [container({ resources: { requests: { cpu: "1" } } })] }),
  ],
  "resources of init containers": [
    template({ initContainers: [container({ name: "i" })] }),
    template({ initContainers: [container({ name: "i", resources: { limits: { cpu: "1" } } })] }),
  ],
};

for (const [name, [before, now]] of Object.entries(placements)) {
  test(`the template of a suspended Job can get ${name}`, () => {
    assert.deepEqual(errors(job({ ...idle, template: before }), job({ ...idle, template: now })), []);
    const conditions = [{ type: "Suspended", status: "True" }];
    const stopped = job({ ...idle, template: before }, { startTime: "t", conditions });
    assert.deepEqual(errors(stopped, job({ template: now })), [], "also while it continues");
  });
}

const fixed: Readonly<Record<string, readonly [before: JsonObject, now: JsonObject]>> = {
  "another image": [template(), template({ containers: [container({ image: "j" })] })],
  "another container": [template(), template({ containers: [container(), container({ name: "d" })] })],
  "resources of a renamed container": [template(), template({ containers: [container({ name: "d", resources: {} })] })],
  "an affinity to Pods": [template(), template({ affinity: { podAffinity: {} } })],
  "no affinity to Pods": [template({ affinity: { podAffinity: {} } }), template()],
  "the network of the host": [template(), template({ hostNetwork: true })],
};

for (const [name, [before, now]] of Object.entries(fixed)) {
  test(`the template of a suspended Job cannot get ${name}`, () => {
    assert.deepEqual(paths(job({ ...idle, template: before }), job({ ...idle, template: now })), [
      "spec.template.spec",
    ]);
  });
}

test("the objects that are compared stay as they are", () => {
  const before = job({ ...idle, template: template({ affinity: node }) });
  const now = job({ ...idle, template: template() });
  const copies = structuredClone([before, now]);
  errors(before, now);
  assert.deepEqual([before, now], copies);
});
