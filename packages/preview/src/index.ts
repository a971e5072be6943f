// SPDX-License-Identifier: Apache-2.0

// What changes, and how it is applied.
export type { ApplyAs } from "./change-set.ts";
export { functionManager, previewManager } from "./overlay/overlay-entry.ts";
// A transport that changes nothing.
// Previews, and the plans that they make.
export { compareDefinitions } from "./plan/definition-findings.ts";
export type { Plan } from "./plan/plan.ts";
export { type PreviewOptions, preview } from "./preview.ts";
// Formats.
export { diffText, planMarkdown, planNotes } from "./print/diff-text.ts";
export { headline, planText } from "./print/plan-text.ts";
export { planReport } from "./print/report.ts";
// Controllers over objects in memory, moved by hand.
export { createSessionBase, openSession, type Session, type SessionBase } from "./session.ts";
export type { Assumptions } from "./settle/assume.ts";
export type { ApplyStage, PassFunctions } from "./settle/run-pass.ts";
