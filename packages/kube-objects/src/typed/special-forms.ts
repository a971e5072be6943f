// SPDX-License-Identifier: Apache-2.0
import type { JsonValue } from "../json/json-value.ts";
import { canonicalQuantity } from "./quantity.ts";
import { TypedFormError } from "./typed-error.ts";

/** Types that are not objects of their fields in JSON: how a value of theirs is written. Null stays null. */
export const specialForms: Readonly<Record<string, (value: JsonValue) => JsonValue>> = {
  "resource.Quantity": quantity,
  "intstr.IntOrString": (value) => value ?? 0,
  "meta.v1.Time": (value) => time(value, false),
  "meta.v1.MicroTime": (value) => time(value, true),
  "meta.v1.FieldsV1": (value) => value,
  "runtime.RawExtension": (value) => value,
  "apiextensions.v1.JSON": (value) => value,
};

const quantityRule = "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'";

function quantity(value: JsonValue): JsonValue {
  if (value === null) return "0";
  const text = typeof value === "string" ? value : String(value);
  const canonical = canonicalQuantity(text.trim());
  if (canonical === undefined) throw new TypedFormError(quantityRule);
  return canonical;
}

const rfc3339 = /^(\d{4})-(\d{2})-(\d{2})T(\d{2}):(\d{2}):(\d{2})(\.\d+)?(Z|[+-]\d{2}:\d{2})$/;

/** A time in UTC: whole seconds, or six decimals where the type keeps microseconds. */
function time(value: JsonValue, micro: boolean): JsonValue {
  if (value === null || value === "") return null;
  const layout = micro ? "2006-01-02T15:04:05.000000Z07:00" : "2006-01-02T15:04:05Z07:00";
  const fail = (): never => {
    throw new TypedFormError(`parsing time ${JSON.stringify(value)} as ${JSON.stringify(layout)}: cannot parse`);
  };
  const match = typeof value === "string" ? rfc3339.exec(value) : null;
  const milliseconds = match === null ? Number.NaN : Date.parse(String(value));
  if (Number.isNaN(milliseconds)) return fail();
  const seconds = new Date(milliseconds).toISOString().slice(0, 19);
  if (!micro) return `${seconds}Z`;
  const fraction = (match?.[7] ?? "").slice(1);
  if (fraction.length < 6) return fail();
  return `${seconds}.${fraction.slice(0, 6)}Z`;
}
