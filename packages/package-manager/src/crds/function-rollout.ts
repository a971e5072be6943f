// SPDX-License-Identifier: Apache-2.0

import {
  ageColumn,
  checked,
  choice,
  column,
  conditionColumn,
  conditions,
  createCrd,
  defaulted,
  flag,
  integer,
  listOf,
  mapOf,
  nameRef,
  object,
  text,
  time,
  wideColumn,
} from "@purlin/kube-controller";
import type { KubeObject } from "@purlin/kube-objects/object";
import type { Schema } from "@purlin/kube-objects/schema";
import { rolloutDocs, rolloutTemplateDocs } from "./docs/rollout-docs.ts";
import { crossplaneCategory, packageGroup } from "./package-shapes.ts";

/** Durations as in the rest of Kubernetes: `90s`, `1h30m`. Zero and negative ones are refused. */
const duration: Schema = {
  ...text,
  pattern: "^([0-9]+(\\.[0-9]+)?(ms|s|m|h))+$",
  maxLength: 32,
};
const positiveDuration: Schema = checked(duration, {
  "duration(self) > duration('0s')": "must be longer than zero",
});
/** A share of 1 as a decimal number in a string, as quantities are written. */
const ratio: Schema = { ...text, pattern: "^(0(\\.[0-9]{1,6})?|1(\\.0{1,6})?)$", maxLength: 8 };
const decimal: Schema = { ...text, pattern: "^-?[0-9]+(\\.[0-9]+)?$", maxLength: 32 };
const labelsOf = (): Schema => object({ matchLabels: mapOf() });
const someLabels: Schema = { ...mapOf({ ...text, maxLength: 63 }), minProperties: 1, maxProperties: 16 };
const count: Schema = { ...integer, minimum: 0 };

const name: Schema = { ...text, minLength: 1, maxLength: 253 };
const stepName: Schema = { ...text, pattern: "^[a-z0-9]([-a-z0-9]*[a-z0-9])?$", maxLength: 63 };

/** When steps may move composite resources. */
const window: Schema = object({
  "schedule*": { ...text, minLength: 9, maxLength: 128 },
  timeZone: { ...text, maxLength: 64 },
  "duration*": positiveDuration,
});

const step: Schema = checked(
  object({
    name: stepName,
    shadow: flag,
    shadowPercent: { ...integer, minimum: 1, maximum: 100 },
    percent: { ...integer, minimum: 1, maximum: 100 },
    cohort: object({ "matchLabels*": someLabels }),
    pause: flag,
    approval: choice("None", "Manual"),
    minDuration: duration,
    window,
  }),
  {
    "(has(self.shadow) && self.shadow) || has(self.percent) || has(self.cohort) || (has(self.pause) && self.pause)":
      "a step needs shadow, percent, cohort or pause",
    "!has(self.shadowPercent) || (has(self.shadow) && self.shadow)": "shadowPercent needs shadow: true",
  },
);

const url: Schema = { ...text, pattern: "^https?://[^\\s]+$", maxLength: 2048 };

const gateTypes = [
  "RuntimeHealthy",
  "FunctionErrors",
  "FatalResults",
  "CompositeCondition",
  "DesiredDiff",
  "CallDuration",
  "Prometheus",
  "Webhook",
] as const;

const gate: Schema = checked(
  object({
    "type*": choice(...gateTypes),
    name: stepName,
    window: positiveDuration,
    within: positiveDuration,
    minSample: { ...integer, minimum: 1 },
    maxRatio: ratio,
    minRatio: ratio,
    condition: { ...text, minLength: 1, maxLength: 316 },
    status: choice("True", "False"),
    maxDeleted: count,
    maxReplaced: count,
    maxChanged: count,
    maxDeletedRatio: ratio,
    maxReplacedRatio: ratio,
    maxChangedRatio: ratio,
    p95: positiveDuration,
    maxIncrease: decimal,
    url,
    query: { ...text, minLength: 1, maxLength: 4096 },
    min: decimal,
    max: decimal,
    interval: positiveDuration,
  }),
  {
    "!(self.type in ['FunctionErrors', 'FatalResults']) || has(self.maxRatio)": "the gate needs maxRatio",
    "self.type != 'CompositeCondition' || (has(self.condition) && has(self.minRatio))":
      "the gate needs condition and minRatio",
    "self.type != 'CallDuration' || has(self.p95) || has(self.maxIncrease)": "the gate needs p95 or maxIncrease",
    "self.type != 'Prometheus' || (has(self.url) && has(self.query) && (has(self.min) || has(self.max)))":
      "the gate needs url, query, and min or max",
    "self.type != 'Webhook' || has(self.url)": "the gate needs url",
    "!has(self.min) || !has(self.max) || double(self.min) <= double(self.max)":
      "min must not be greater than max: the gate could never pass",
    "!has(self.maxIncrease) || double(self.maxIncrease) >= 0.0":
      "maxIncrease must not be negative: a candidate that is as fast as the stable revision could never pass",
  },
);

const side: Schema = checked(
  object({
    functionRevisionRef: object({ "name*": name }),
    functionRevisionSelector: object({ "matchLabels*": someLabels }),
    compositionRevisionRef: object({ "name*": name }),
    compositionRevisionSelector: object({ "matchLabels*": someLabels }),
  }),
  {
    "[has(self.functionRevisionRef), has(self.functionRevisionSelector), has(self.compositionRevisionRef), has(self.compositionRevisionSelector)].filter(x, x).size() == 1":
      "name the revision by exactly one reference or selector",
  },
);

const steps: Schema = checked(
  { ...listOf(step, "atomic"), minItems: 1, maxItems: 20 },
  {
    "self.filter(s, has(s.percent)).map(s, s.percent).isSorted()": "percentages must not shrink",
    "self.exists(s, has(s.percent) && s.percent == 100)": "a step must reach percent: 100",
    "self.filter(s, has(s.name)).all(s, self.exists_one(o, has(o.name) && o.name == s.name))":
      "names of steps must be unique",
  },
);

/** Fields that a rollout and a template have. */
const planFields = {
  compositionSelector: labelsOf(),
  compositeSelector: labelsOf(),
  "steps*": steps,
  healthGates: { ...listOf(gate, "atomic"), maxItems: 20 },
  failurePolicy: defaulted(choice("Rollback", "Pause"), "Rollback"),
  progressDeadline: defaulted(positiveDuration, "2h"),
  bakeTime: duration,
  window,
};

/** In CEL: how long the steps of a plan and its bakeTime take at least. */
const shortest =
  "self.steps.map(s, has(s.minDuration) ? duration(s.minDuration) : duration('0s')).sum() + (has(self.bakeTime) ? duration(self.bakeTime) : duration('0s'))";

/** What a rollout and a template alike must have. */
const planRules = {
  [`!has(self.progressDeadline) || ${shortest} < duration(self.progressDeadline)`]:
    "progressDeadline can never be met: minDuration of all steps and bakeTime together take at least as long",
};

/** The rule of plans for functions about `steps` and `healthGates`. A template is always for a Function. */
const functionPlanRule = {
  rule: "!has(self.healthGates) || !self.healthGates.exists(g, g.type == 'DesiredDiff') || self.steps.exists(s, has(s.shadow) && s.shadow)",
  message: "a DesiredDiff gate needs a step with shadow: true",
};

const spec: Schema = checked(
  object({
    functionRef: nameRef,
    functionRefs: { ...listOf(nameRef, { mapBy: "name" }), minItems: 1, maxItems: 16 },
    compositionRef: nameRef,
    stable: side,
    candidate: side,
    ...planFields,
    paused: defaulted(flag, false),
  }),
  {
    "[has(self.functionRef), has(self.functionRefs), has(self.compositionRef)].filter(x, x).size() == 1":
      "set exactly one of functionRef, functionRefs and compositionRef",
    ...Object.fromEntries(
      [
        "functionRevisionRef.name",
        "functionRevisionSelector.matchLabels",
        "compositionRevisionRef.name",
        "compositionRevisionSelector.matchLabels",
      ].map((path) => [differ(path), "stable and candidate must be different revisions"]),
    ),
    "!has(self.compositionRef) || ((!has(self.stable) || has(self.stable.compositionRevisionRef) || has(self.stable.compositionRevisionSelector)) && (!has(self.candidate) || has(self.candidate.compositionRevisionRef) || has(self.candidate.compositionRevisionSelector)))":
      "a rollout with compositionRef names revisions by compositionRevisionRef or compositionRevisionSelector",
    "has(self.compositionRef) || ((!has(self.stable) || has(self.stable.functionRevisionRef) || has(self.stable.functionRevisionSelector)) && (!has(self.candidate) || has(self.candidate.functionRevisionRef) || has(self.candidate.functionRevisionSelector)))":
      "a rollout of functions names revisions by functionRevisionRef or functionRevisionSelector",
    "!has(self.functionRefs) || ((!has(self.stable) || !has(self.stable.functionRevisionRef)) && (!has(self.candidate) || !has(self.candidate.functionRevisionRef)))":
      "functionRefs needs functionRevisionSelector: one name cannot be a revision of several functions",
    "!has(self.compositionRef) || !self.steps.exists(s, has(s.shadow) && s.shadow)":
      "shadow steps are for functions: a rollout with compositionRef has none",
    "!has(self.compositionRef) || !has(self.healthGates) || !self.healthGates.exists(g, g.type in ['DesiredDiff', 'RuntimeHealthy', 'FunctionErrors', 'FatalResults', 'CallDuration'])":
      "a rollout with compositionRef has gates of type CompositeCondition, Prometheus and Webhook only",
    [`has(self.compositionRef) || ${functionPlanRule.rule}`]: functionPlanRule.message,
    ...planRules,
    "has(self.functionRef) == has(oldSelf.functionRef) && has(self.functionRefs) == has(oldSelf.functionRefs) && has(self.compositionRef) == has(oldSelf.compositionRef) && (!has(self.functionRef) || self.functionRef == oldSelf.functionRef) && (!has(self.functionRefs) || self.functionRefs == oldSelf.functionRefs) && (!has(self.compositionRef) || self.compositionRef == oldSelf.compositionRef)":
      "what is rolled out is immutable",
  },
);

const templateSpec: Schema = checked(object(planFields), {
  [functionPlanRule.rule]: functionPlanRule.message,
  ...planRules,
});

/** The rule that both sides do not name the same. */
function differ(path: string): string {
  const [field = ""] = path.split(".");
  const both = ["stable", "candidate"].map((side) => `has(self.${side}) && has(self.${side}.${field})`).join(" && ");
  return `!(${both}) || self.stable.${path} != self.candidate.${path}`;
}

const frozenRevisions = { stableRevision: text, candidateRevision: text };
const numbers = object({ total: integer, candidate: integer, moved: integer, healthy: integer, unhealthy: integer });

const status: Schema = object({
  phase: text,
  observedGeneration: integer,
  currentStep: integer,
  ...frozenRevisions,
  functions: listOf(object({ "name*": text, ...frozenRevisions }), { mapBy: "name" }),
  membership: object({ threshold: integer, shadowThreshold: integer, cohorts: listOf(labelsOf(), "atomic") }),
  composites: numbers,
  gates: listOf(object({ "name*": text, "result*": text, message: text, sample: integer }), { mapBy: "name" }),
  shadow: object({
    compared: integer,
    classes: mapOf(integer),
    composites: listOf(
      object({
        apiVersion: text,
        kind: text,
        namespace: text,
        name: text,
        class: text,
        message: text,
        resources: listOf(object({ resource: text, kind: text, class: text }), "atomic"),
      }),
      "atomic",
    ),
  }),
  awaitingApproval: text,
  approvedSteps: listOf(text, "set"),
  stableP95Ms: { type: "number" },
  pauseToken: text,
  startedAt: time,
  stepStartedAt: time,
  gatesPassedAt: time,
  heldSince: time,
  deadlineAt: time,
  completedAt: time,
  history: listOf(
    object({ "time*": time, step: integer, "decision*": text, message: text, composites: numbers }),
    "atomic",
  ),
  conditions,
});

/** The position in the steps, given approvals and those that have moved would stand for something else after an edit. */
const startedRules = Object.fromEntries(
  ["steps", "compositionSelector"].map((field) => {
    const isSame = `has(self.spec.${field}) == has(oldSelf.spec.${field}) && (!has(self.spec.${field}) || self.spec.${field} == oldSelf.spec.${field})`;
    const message = `spec.${field} cannot change after the rollout has started: abort it, and start another one`;
    return [`!has(oldSelf.status) || !has(oldSelf.status.startedAt) || (${isSame})`, message];
  }),
);

const columns = [
  column("PHASE", ".status.phase"),
  column("STEP", ".status.currentStep", "integer"),
  column("CANDIDATE", ".status.composites.candidate", "integer"),
  column("TOTAL", ".status.composites.total", "integer"),
  conditionColumn("READY", "Ready"),
  ageColumn,
  wideColumn("STABLE", ".status.stableRevision"),
  wideColumn("TO", ".status.candidateRevision"),
];

/** The CRDs of rollouts. */
export function rolloutCrds(): readonly KubeObject[] {
  const rollout = createCrd({
    group: packageGroup,
    kind: "FunctionRollout",
    docs: rolloutDocs,
    plural: "functionrollouts",
    categories: [crossplaneCategory],
    versions: [{ name: "v1alpha1", fields: { "spec*": spec, status }, rules: startedRules, columns, hasStatus: true }],
  });
  const template = createCrd({
    group: packageGroup,
    kind: "FunctionRolloutTemplate",
    docs: rolloutTemplateDocs,
    plural: "functionrollouttemplates",
    categories: [crossplaneCategory],
    versions: [{ name: "v1alpha1", fields: { "spec*": templateSpec }, columns: [ageColumn], hasStatus: false }],
  });
  return [rollout, template];
}
