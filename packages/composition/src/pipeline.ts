// SPDX-License-Identifier: Apache-2.0
// Pipelines of functions without a composite resource, for the controllers of Operations.
export { clientReader } from "./composite/observe/observe.ts";
export { RunDraft, recordWrites } from "./composite/record/run-draft.ts";
export { type PipelineTexts, runSteps, stepsOf } from "./composite/run/run-steps.ts";
export type { PipelineEvent } from "./composite/run/step-results.ts";
export { type CircuitBreaker, createCircuitBreaker } from "./composite/watch/circuit-breaker.ts";
export { functionReferences, functionRevisionsOf, isUnderDevelopment } from "./composition/function-revisions.ts";
export { checkPipeline } from "./composition/validity-controller.ts";
