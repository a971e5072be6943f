// SPDX-License-Identifier: Apache-2.0
import { createContext, Script } from "node:vm";

const limitMs = 1_000;
const script = new Script("new RegExp(pattern).test(text)");
const scope = createContext({ pattern: "", text: "" });

/** Whether a text matches a regular expression, or why that is not known: the expression is wrong, or it takes too long. */
export function matchesInTime(pattern: string, text: string): boolean | string {
  Object.assign(scope, { pattern, text });
  try {
    return script.runInContext(scope, { timeout: limitMs }) === true;
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    if (code !== "ERR_SCRIPT_EXECUTION_TIMEOUT") return message;
    const length = `${text.length} characters`;
    return `the regular expression ${JSON.stringify(pattern)} took more than ${limitMs / 1000} s on ${length}: make it simpler`;
  }
}
