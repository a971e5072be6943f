// SPDX-License-Identifier: Apache-2.0
import { unsupportedDetail } from "../errors/field-error.ts";
import { goJson } from "../json/go-text.ts";
import type { JsonValue } from "../json/json-value.ts";
import { kindedValue, valueKey, wholeValue } from "./value-kind.ts";

/** The values of an enum by type, and the texts that name them: made once for each schema. */
export interface AllowedValues {
  readonly strings: ReadonlySet<string>;
  readonly integers: ReadonlySet<number | bigint>;
  readonly numbers: ReadonlySet<number>;
  /** Booleans, lists and objects. */
  readonly others: ReadonlySet<string>;
  readonly complaint: string;
  readonly detail: string;
}

/** Reads an enum. */
export function readAllowed(listed: readonly JsonValue[]): AllowedValues {
  const supported = listed.map((value) => (typeof value === "string" ? value : goJson(wholeValue(value))));
  const [strings, integers] = [new Set<string>(), new Set<number | bigint>()];
  const [numbers, others] = [new Set<number>(), new Set<string>()];
  for (const value of listed.map(kindedValue)) {
    if (value.kind === "string") strings.add(value.value);
    else if (value.kind === "integer") integers.add(value.value);
    else if (value.kind === "number") numbers.add(value.value);
    else if (value.kind !== "null") others.add(valueKey(value.value));
  }
  const complaint = `should be one of ${supported.join(" ")}`;
  return { strings, integers, numbers, others, complaint, detail: unsupportedDetail(supported) };
}
