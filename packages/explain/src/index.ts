// SPDX-License-Identifier: Apache-2.0
// Why an object is not ready: the model, and its text.
export { explainAll, explainObject } from "./explain.ts";
export { referencesOf } from "./inspect/facts.ts";
export { causeTable, isCauseCode } from "./model/cause-table.ts";
export { type Explanation, exitCodes, type ObjectRef, type RecordedRun, type RunHistory } from "./model/explanation.ts";
export { causeText, explanationText, groupByCause, groupText } from "./print-explanation.ts";
export {
  buildForest,
  buildTree,
  composedState,
  type ForestSource,
  type Health,
  isSound,
  type ObjectState,
  packageState,
  packageTypes,
  type TreeNode,
} from "./state/object-state.ts";
export { type TraceColumn, traceTable, usualColumn } from "./trace/trace-table.ts";
export {
  type LastRun,
  type TraceNode,
  type TraceOptions,
  traceDocument,
  traceDot,
  traceNames,
  traceTree,
  withoutSecrets,
} from "./trace/trace-tree.ts";
