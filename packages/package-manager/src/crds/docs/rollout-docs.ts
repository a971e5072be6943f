// SPDX-License-Identifier: Apache-2.0
import { type FieldTexts, type KindDocs, under } from "@purlin/kube-controller";

const windowTexts: FieldTexts = {
  schedule: "When the window opens, as a cron expression of five fields.",
  timeZone: "Time zone of the schedule, such as Europe/Vienna; UTC if left out.",
  duration: "How long the window stays open.",
};

const planTexts: FieldTexts = {
  compositionSelector: "Compositions whose steps take part; all that use the function if left out.",
  "compositionSelector.matchLabels": "Labels that a Composition must have.",
  compositeSelector: "Composite resources that move first, with the first step that moves any.",
  "compositeSelector.matchLabels": "Labels that a composite resource must have.",
  steps: "Steps of the rollout, in order. A step is left when its time has passed, all gates pass, and it is approved.",
  "steps.name": "Name of the step, for approvals; step-1, step-2 and so on if left out.",
  "steps.shadow": "Whether to run the candidate beside the stable revision, apply nothing, and compare.",
  "steps.shadowPercent": "Share of composite resources that are compared; 100 if left out.",
  "steps.percent": "Share of composite resources on the candidate. It never shrinks from step to step.",
  "steps.cohort": "Composite resources that move in this step, whatever the percentage.",
  "steps.cohort.matchLabels": "Labels that a composite resource must have.",
  "steps.pause": "Whether to wait for an approval without moving anything.",
  "steps.approval": "Manual: the step is left only after an approval that names it.",
  "steps.minDuration": "How long the step takes at least.",
  "steps.window": "When the step may begin; the window of the rollout if left out.",
  ...under("steps.window", windowTexts),
  healthGates: "Conditions of progress. A gate without enough samples has not passed. Defaults apply if left out.",
  "healthGates.type": "What the gate measures.",
  "healthGates.name": "Name of the gate in status; its type and position if left out.",
  "healthGates.window": "Calls of this last period count; 10m if left out.",
  "healthGates.within": "How long after the start of a step composite resources may take to reach the condition.",
  "healthGates.minSample": "How many calls or composite resources are needed for a result; 1 if left out.",
  "healthGates.maxRatio": "Largest share of failed calls of the candidate, as a number from 0 to 1 in quotes.",
  "healthGates.minRatio": "Smallest share of moved composite resources with the condition.",
  "healthGates.condition": "Type of the condition of composite resources.",
  "healthGates.status": "Status of that condition; True if left out.",
  "healthGates.maxDeleted": "Composite resources for which the candidate would delete something; 0 if left out.",
  "healthGates.maxReplaced": "Composite resources for which the candidate would replace something.",
  "healthGates.maxChanged": "Composite resources for which the candidate would change something.",
  "healthGates.maxDeletedRatio": "The same as maxDeleted, as a share of those compared.",
  "healthGates.maxReplacedRatio": "The same as maxReplaced, as a share of those compared.",
  "healthGates.maxChangedRatio": "The same as maxChanged, as a share of those compared.",
  "healthGates.p95": "Largest 95th percentile of the duration of calls.",
  "healthGates.maxIncrease":
    "Largest increase over the 95th percentile of the stable revision: 0.5 is half as much again.",
  "healthGates.url": "Address of the Prometheus server or of the webhook.",
  "healthGates.query": "PromQL query with one number as its result.",
  "healthGates.min": "Smallest result that passes.",
  "healthGates.max": "Largest result that passes.",
  "healthGates.interval": "The interval between requests to the address; 30s if left out.",
  failurePolicy: "Rollback moves all composite resources back when a gate fails; Pause stops and waits.",
  progressDeadline:
    "How long the rollout may take, without the time that it waits for approval, for a window, or is paused.",
  bakeTime: "How long gates must hold after the last step before the rollout succeeds.",
  window: "When steps may begin.",
  ...under("window", windowTexts),
};

const sideTexts: FieldTexts = {
  functionRevisionRef: "The FunctionRevision.",
  "functionRevisionRef.name": "Name of the FunctionRevision.",
  functionRevisionSelector: "The newest active FunctionRevision of the function with these labels.",
  "functionRevisionSelector.matchLabels": "Labels that the revision must have.",
  compositionRevisionRef: "The CompositionRevision.",
  "compositionRevisionRef.name": "Name of the CompositionRevision.",
  compositionRevisionSelector: "The newest CompositionRevision of the Composition with these labels.",
  "compositionRevisionSelector.matchLabels": "Labels that the revision must have.",
};

const compositesTexts: FieldTexts = {
  total: "Composite resources that take part.",
  candidate: "Those that the rules place on the candidate.",
  moved: "Those that the candidate has reconciled.",
  healthy: "Moved ones that are Synced.",
  unhealthy: "Moved ones that are not.",
};

const statusTexts: FieldTexts = {
  phase: "Pending, Progressing, Paused, Succeeded, RollingBack, RolledBack or Failed.",
  observedGeneration: "The metadata.generation that this status was computed for.",
  currentStep: "Index of the current step, from 0.",
  stableRevision: "Revision that serves composite resources that have not moved.",
  candidateRevision: "Revision that they move to.",
  functions: "The revisions of each function.",
  "functions.name": "Name of the Function.",
  "functions.stableRevision": "Its stable revision.",
  "functions.candidateRevision": "Its candidate.",
  membership: "Which composite resources the candidate serves.",
  "membership.threshold": "Those with a hash below this number, of 10000.",
  "membership.shadowThreshold": "Those with a hash below this number are compared in shadow.",
  "membership.cohorts": "Those with all labels of one of these.",
  "membership.cohorts.matchLabels": "Labels of the cohort.",
  composites: "Numbers of composite resources.",
  ...under("composites", compositesTexts),
  gates: "Results of the gates.",
  "gates.name": "Name of the gate.",
  "gates.result": "Passed, Failed or Unknown.",
  "gates.message": "The numbers of the result.",
  "gates.sample": "How many calls or composite resources were judged.",
  shadow: "What shadow runs of the candidate would have changed.",
  "shadow.compared": "Composite resources that were compared.",
  "shadow.classes": "How many there are of each kind of change; each counts once, with its worst.",
  "shadow.composites": "Composite resources with a change, the worst first; the first few.",
  "shadow.composites.apiVersion": "apiVersion of the composite resource.",
  "shadow.composites.kind": "Kind of the composite resource.",
  "shadow.composites.namespace": "Namespace of the composite resource.",
  "shadow.composites.name": "Name of the composite resource.",
  "shadow.composites.class": "Its worst change: cosmetic, slower, change, replace, delete, fatal or error.",
  "shadow.composites.message": "The message of a fatal result or an error.",
  "shadow.composites.resources": "Composed resources with a change; the first few.",
  "shadow.composites.resources.resource": "Name of the composed resource in the pipeline.",
  "shadow.composites.resources.kind": "Its kind.",
  "shadow.composites.resources.class": "Its change.",
  awaitingApproval: "Name of the step that waits for an approval.",
  approvedSteps: "Names of the steps that were approved.",
  stableP95Ms: "95th percentile of the calls of the stable revision when the step began, in milliseconds.",
  pauseToken: "Value of the annotation that resumes a rollout that a failed gate paused.",
  startedAt: "When the revisions were frozen.",
  stepStartedAt: "When the current step began.",
  gatesPassedAt: "Since when all gates have passed in the last step.",
  heldSince: "Since when the rollout waits for an approval, a window, or to be resumed.",
  deadlineAt: "When the rollout fails unless it has succeeded.",
  completedAt: "When the rollout ended.",
  history: "The last decisions, the newest last.",
  "history.time": "When it was decided.",
  "history.step": "Index of the step.",
  "history.decision": "What was decided.",
  "history.message": "Why, with numbers.",
  "history.composites": "Numbers of composite resources at that time.",
  ...under("history.composites", compositesTexts),
};

/** What `kubectl explain functionrollout` says. */
export const rolloutDocs: KindDocs = {
  about:
    "A FunctionRollout moves composite resources from one revision of a function, or of a Composition, to another: in steps, " +
    "under health gates, and back when a gate fails.",
  fields: {
    "spec.functionRef": "The Function that is rolled out.",
    "spec.functionRefs": "Several Functions that move together.",
    "spec.compositionRef": "The Composition that is rolled out, instead of functions.",
    "spec.stable": "The revision to move from; the one that serves when the rollout is created if left out.",
    ...under("spec.stable", sideTexts),
    "spec.candidate": "The revision to move to; the newest one after the stable revision if left out.",
    ...under("spec.candidate", sideTexts),
    ...under("spec", planTexts),
    "spec.paused": "Whether to stop where the rollout is: nothing moves, in either direction.",
    ...under("status", statusTexts),
  },
};

/** What `kubectl explain functionrollouttemplate` says. */
export const rolloutTemplateDocs: KindDocs = {
  about:
    "A FunctionRolloutTemplate holds the steps and gates of rollouts that start by themselves: the rolloutPolicy of a Function " +
    "names it, and each new revision of the Function then starts a FunctionRollout.",
  fields: under("spec", planTexts),
};
