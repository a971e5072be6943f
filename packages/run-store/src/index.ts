// SPDX-License-Identifier: Apache-2.0

// Reading runs.
export {
  type BlamedField,
  blame,
  blameAt,
  changesBetween,
  childrenOf,
  type FieldChange,
  leavesOf,
} from "./read/blame.ts";
export {
  compositeName,
  desiredObjects,
  inflateRun,
  lastCall,
  omittedIn,
  type Run,
  type RunStepMessages,
  requestJson,
  responseJson,
} from "./read/run-views.ts";
// Recording runs.
export { InspectedRuns } from "./record/inspected-runs.ts";
export type { CallRecord, RunOutcome, RunRecord, RunSummary, StepRecord, WriteRecord } from "./record/stored-run.ts";
export { createRedactor } from "./redact/redact-messages.ts";
export { plainMarks, restoreValues } from "./redact/restore-values.ts";
// Removing secrets.
export { keyedMark, type Mark, plainMark, type SensitiveKinds, sensitiveFieldsIn } from "./redact/sensitive-fields.ts";
export { openRunStore, type RunStore, readRunStore, readStoreMark } from "./store/open-run-store.ts";
export type { RunDocument, RunFilter } from "./store/run-reader.ts";
export { queryOf, recorderWaits, runsDocument, runsPath } from "./store/run-reader.ts";
