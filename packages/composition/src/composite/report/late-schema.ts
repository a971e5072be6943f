// SPDX-License-Identifier: Apache-2.0

import { textOf } from "@purlin/kube-objects/object";
import type { StatusRules } from "./status-after.ts";

const undeclared = ": field not declared in schema";

/**
 * Whether a status was refused only because the API server has not taken in the CRD as it is now: it knows none of the
 * fields that we have just added to it. That takes a moment on a cluster, and is nothing a user could do anything about.
 */
export function isSchemaLate(error: unknown, { ownFields }: StatusRules): boolean {
  const own: ReadonlySet<string> = ownFields;
  const paths = textOf(error).split(undeclared).slice(0, -1).map(lastWord);
  return paths.length > 0 && paths.every((path) => own.has(statusField(path) ?? ""));
}

/** What is before the first place where a path is not declared, and between two of them, ends with the path. */
function lastWord(text: string): string {
  const start = Math.max(...[" ", "\n", ":"].map((end) => text.lastIndexOf(end)));
  return text.slice(start + 1);
}

function statusField(path: string): string | undefined {
  const [root, status, field] = path.split(/[.[]/, 3);
  return root === "" && status === "status" ? field : undefined;
}
