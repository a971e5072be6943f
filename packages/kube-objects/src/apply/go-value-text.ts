// SPDX-License-Identifier: Apache-2.0
// The reference reports a value of the wrong type by printing its own box around it. Same text here.
import { goPlain, goSyntax } from "../json/go-value.ts";
import type { JsonValue } from "../json/json-value.ts";

/** A boxed value as `%v` prints it. */
export function boxedText(value: JsonValue): string {
  return `&{${goPlain(value)}}`;
}

/** A boxed value as `%#v` prints it. */
export function boxedSyntax(value: JsonValue): string {
  return `&value.valueUnstructured{Value:${goSyntax(value)}}`;
}
