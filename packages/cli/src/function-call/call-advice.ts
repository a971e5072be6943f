// SPDX-License-Identifier: Apache-2.0
import { isProtocolError } from "@purlin/function-protocol";
import { isRunnerError } from "@purlin/function-runner";
import { textOf } from "../user-error.ts";

/** What somebody at a terminal can do about an error of the runner, to be put behind its text. */
export function adviceOn(error: unknown): string {
  if (isProtocolError(error) && error.code === "UNSTABLE_REQUIREMENTS") {
    return ": the function has to ask for the same on every call, also once it has the answer";
  }
  if (/no matches for kind/.test(textOf(error))) {
    return ": if that is spelled right, define it with --crds or add an object of it with --required-resources";
  }
  if (!isRunnerError(error)) return "";
  switch (error.status) {
    case "DeadlineExceeded":
      return ": raise --timeout if it needs longer";
    case "Unimplemented":
      return ": what listens there is not a composition function";
    default:
      return "";
  }
}
