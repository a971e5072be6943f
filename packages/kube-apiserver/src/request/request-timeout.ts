// SPDX-License-Identifier: Apache-2.0
import { badRequest, goQuote } from "@purlin/kube-objects";

/** Throws 400 for a `timeout` in the query that is no duration to Go, such as `1m30s`. */
export function requireTimeout(query: URLSearchParams): void {
  const text = query.get("timeout") ?? "";
  const problem = text === "" ? undefined : durationProblem(text);
  if (problem !== undefined) {
    throw badRequest(`invalid timeout specified in the request URL - ${problem}`);
  }
}

const UNITS: ReadonlySet<string> = new Set(["ns", "us", "µs", "μs", "ms", "s", "m", "h"]);

/** What Go says about a text that is no duration. */
function durationProblem(text: string): string | undefined {
  const invalid = `time: invalid duration ${goQuote(text)}`;
  let rest = text.replace(/^[-+]/, "");
  if (rest === "0") {
    return undefined;
  }
  if (rest === "") {
    return invalid;
  }
  while (rest !== "") {
    const [part, number = "", unit = ""] = /^(\d*\.?\d*)([^\d.]*)/.exec(rest) ?? [""];
    if (!/\d/.test(number)) {
      return invalid;
    }
    if (unit === "") {
      return `time: missing unit in duration ${goQuote(text)}`;
    }
    if (!UNITS.has(unit)) {
      return `time: unknown unit ${goQuote(unit)} in duration ${goQuote(text)}`;
    }
    rest = rest.slice(part.length);
  }
  return undefined;
}
