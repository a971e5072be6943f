// SPDX-License-Identifier: Apache-2.0
import { dump } from "js-yaml";

/** A JSON value as YAML that any reader understands: no anchors, no folded lines, quoted where YAML 1.1 would guess. */
export function printYaml(value: unknown): string {
  return dump(value, { lineWidth: -1, noRefs: true, seqNoIndent: true });
}
