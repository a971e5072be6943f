// SPDX-License-Identifier: Apache-2.0

// What changes, and how it is applied.
export type { ApplyAs, ChangeSet } from "./change-set.ts";
// Reads and writes that change nothing.
export { guardTransport } from "./overlay/guarded-transport.ts";
export { LiveReads } from "./overlay/live-reads.ts";
export { Overlay } from "./overlay/overlay.ts";
export { createOverlayClient } from "./overlay/overlay-client.ts";
// Plans.
export { compareValues, type FieldChange } from "./plan/compare.ts";
export type { Plan, PlanError, PlannedChange, PlannedComposite } from "./plan/plan.ts";
// Previews.
export { type PreviewOptions, preview } from "./preview.ts";
// Formats.
export { diffText } from "./print/diff-text.ts";
export { planMarkdown } from "./print/markdown.ts";
export { headline, planText } from "./print/plan-text.ts";
export { planReport } from "./print/report.ts";
export type { Assumptions } from "./settle/assume.ts";
export { type ApplyStage, type Pass, type PassFunctions, type PassOptions, runPass } from "./settle/run-pass.ts";
