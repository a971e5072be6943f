// SPDX-License-Identifier: Apache-2.0

import { textOf } from "@purlin/kube-controller/object";
import type { StatusRules } from "./status-after.ts";

const undeclared = /(\.status[^\s:]*): field not declared in schema/g;

/**
 * Whether a status was refused only because the API server has not taken in the CRD as it is now: it knows none of the
 * fields that we have just added to it. That takes a moment on a cluster, and is nothing a user could do anything about.
 */
export function isSchemaLate(error: unknown, { ownFields }: StatusRules): boolean {
  const own: ReadonlySet<string> = ownFields;
  const paths = [...textOf(error).matchAll(undeclared)].map(([, path = ""]) => path);
  return paths.length > 0 && paths.every((path) => own.has(path.split(/[.[]/)[2] ?? ""));
}
