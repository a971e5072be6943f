// SPDX-License-Identifier: Apache-2.0
// Why an object is not ready: the model, and its text.
export { explainAll, explainObject } from "./explain.ts";
export { referencesOf } from "./inspect/facts.ts";
export { causeTable, isCauseCode } from "./model/cause-table.ts";
export { type Explanation, exitCodes, type ObjectRef } from "./model/explanation.ts";
export type { RecordedRun, RunHistory } from "./model/run-history.ts";
export { causeText, explanationText, groupByCause, groupText } from "./print-explanation.ts";
export { buildForest, buildTree, type ForestSource, type TreeNode } from "./state/forest.ts";
export {
  composedState,
  type Health,
  isSound,
  type ObjectState,
  packageState,
  packageTypes,
} from "./state/object-state.ts";
export { type LastRun, traceDocument, traceDot, traceNames, withoutSecrets } from "./trace/trace-formats.ts";
export { type TraceColumn, traceTable } from "./trace/trace-table.ts";
export { type TraceNode, type TraceOptions, traceTree } from "./trace/trace-tree.ts";
