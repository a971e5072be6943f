// SPDX-License-Identifier: Apache-2.0
// Why an object is not ready: the model, and its text.
export { explainAll, explainObject } from "./explain.ts";
export { causeTable, isCauseCode } from "./model/cause-table.ts";
export { type Explanation, exitCodes } from "./model/explanation.ts";
export { causeText, explanationText, groupByCause, groupText } from "./print-explanation.ts";
