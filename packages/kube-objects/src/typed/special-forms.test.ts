// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import type { JsonValue } from "../json/json-value.ts";
import { canonicalBase64, parseGoTime, specialForms, TypedFormError } from "./special-forms.ts";

const form = (type: string, value: JsonValue): JsonValue => (specialForms[type] ?? assert.fail(type))(value);

const times: readonly (readonly [string, string])[] = [
  ["2024-02-29T12:34:56Z", "2024-02-29T12:34:56Z"],
  ["2024-01-01T00:30:00+01:00", "2023-12-31T23:30:00Z"],
  ["2024-01-01T00:00:00-02:30", "2024-01-01T02:30:00Z"],
  ["2024-01-01T00:00:00.999999999Z", "2024-01-01T00:00:00Z"],
  ["2024-01-01T00:00:00,5Z", "2024-01-01T00:00:00Z"],
  ["2024-01-01T1:00:00Z", "2024-01-01T01:00:00Z"],
  ["2024-01-01T00:00:00+24:00", "2023-12-31T00:00:00Z"],
  ["0001-01-01T00:00:00Z", "0001-01-01T00:00:00Z"],
  ["0050-06-01T00:00:00Z", "0050-06-01T00:00:00Z"],
  ["1900-02-28T00:00:00Z", "1900-02-28T00:00:00Z"],
];

for (const [text, expected] of times) {
  test(`the time ${text}`, () => {
    assert.equal(form("meta.v1.Time", text), expected);
  });
}

const layout = '"2006-01-02T15:04:05Z07:00"';
const badTimes: readonly (readonly [string, string])[] = [
  ["", `parsing time "" as ${layout}: cannot parse "" as "2006"`],
  ["2024", `parsing time "2024" as ${layout}: cannot parse "" as "-"`],
  ["2024-1-01T00:00:00Z", `parsing time "2024-1-01T00:00:00Z" as ${layout}: cannot parse "1-01T00:00:00Z" as "01"`],
  ["2024-01-01 00:00:00Z", `parsing time "2024-01-01 00:00:00Z" as ${layout}: cannot parse " 00:00:00Z" as "T"`],
  ["2024-01-01T00:00:00", `parsing time "2024-01-01T00:00:00" as ${layout}: cannot parse "" as "Z07:00"`],
  ["2024-01-01T00:00:00z", `parsing time "2024-01-01T00:00:00z" as ${layout}: cannot parse "z" as "Z07:00"`],
  ["2024-00-01T00:00:00Z", 'parsing time "2024-00-01T00:00:00Z": month out of range'],
  ["2024-13-01T00:00:00Z", 'parsing time "2024-13-01T00:00:00Z": month out of range'],
  ["2024-02-30T00:00:00Z", 'parsing time "2024-02-30T00:00:00Z": day out of range'],
  ["2023-02-29T00:00:00Z", 'parsing time "2023-02-29T00:00:00Z": day out of range'],
  ["1900-02-29T00:00:00Z", 'parsing time "1900-02-29T00:00:00Z": day out of range'],
  ["2024-01-00T00:00:00Z", 'parsing time "2024-01-00T00:00:00Z": day out of range'],
  ["2024-01-01T24:00:00Z", 'parsing time "2024-01-01T24:00:00Z": hour out of range'],
  ["2024-01-01T00:60:00Z", 'parsing time "2024-01-01T00:60:00Z": minute out of range'],
  ["2024-01-01T00:00:60Z", 'parsing time "2024-01-01T00:00:60Z": second out of range'],
  ["2024-01-01T00:00:00+25:00", 'parsing time "2024-01-01T00:00:00+25:00": time zone offset hour out of range'],
  ["2024-01-01T00:00:00+00:61", 'parsing time "2024-01-01T00:00:00+00:61": time zone offset minute out of range'],
  ["2024-01-01T00:00:00Zx", 'parsing time "2024-01-01T00:00:00Zx": extra text: "x"'],
];

for (const [text, message] of badTimes) {
  test(`the time ${JSON.stringify(text)} is refused`, () => {
    assert.throws(
      () => form("meta.v1.Time", text),
      (error: Error) => error instanceof TypedFormError && error.message === message,
    );
  });
}

test("a time zone leads to years that cannot be written as such", () => {
  assert.equal(form("meta.v1.Time", "9999-12-31T23:59:59-01:00"), "10000-01-01T00:59:59Z");
  assert.equal(form("meta.v1.Time", "0000-01-01T00:00:00+01:00"), "-0001-12-31T23:00:00Z");
  assert.equal(form("meta.v1.Time", "0000-12-31T23:59:59Z"), "0000-12-31T23:59:59Z");
  assert.equal(form("meta.v1.MicroTime", "9999-12-31T23:59:59.000001-01:00"), "10000-01-01T00:59:59.000001Z");
});

test("a time with microseconds has exactly six digits", () => {
  assert.equal(form("meta.v1.MicroTime", "2024-01-01T00:30:00.123456+01:00"), "2023-12-31T23:30:00.123456Z");
  assert.deepEqual(parseGoTime("2024-01-01T00:00:00.000000Z", "micros"), {
    seconds: "2024-01-01T00:00:00",
    micros: "000000",
  });
  const micros = '"2006-01-02T15:04:05.000000Z07:00"';
  for (const [text, rest, element] of [
    ["2024-01-01T00:00:00Z", "Z", ".000000"],
    ["2024-01-01T00:00:00.123Z", ".123Z", ".000000"],
    ["2024-01-01T00:00:00.1234567Z", "7Z", "Z07:00"],
  ]) {
    const message = `parsing time "${text}" as ${micros}: cannot parse "${rest}" as "${element}"`;
    assert.throws(() => form("meta.v1.MicroTime", text ?? ""), { message });
  }
});

test("null stays null where a time is expected, and other kinds of values are refused", () => {
  assert.equal(form("meta.v1.Time", null), null);
  assert.throws(() => form("meta.v1.Time", 1), { message: "a time is written as a string" });
});

test("quantities are canonical texts; numbers become texts, null becomes zero", () => {
  assert.equal(form("resource.Quantity", "1000m"), "1");
  assert.equal(form("resource.Quantity", " 1Ki "), "1Ki");
  assert.equal(form("resource.Quantity", 0.5), "500m");
  assert.equal(form("resource.Quantity", 2n ** 60n), "1152921504606846976");
  assert.equal(form("resource.Quantity", null), "0");
  const message = "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'";
  for (const value of ["", "x", true, [1], {}]) assert.throws(() => form("resource.Quantity", value), { message });
});

test("an integer or a text is 32 bits or a text", () => {
  const type = "intstr.IntOrString";
  for (const value of ["80%", "", 0, 2 ** 31 - 1, -(2 ** 31)]) assert.equal(form(type, value), value);
  assert.equal(form(type, null), 0);
  for (const value of [2 ** 31, -(2 ** 31) - 1, 1.5, true, [], {}]) {
    assert.throws(() => form(type, value), { message: "neither a number nor a string" }, String(value));
  }
});

test("values of free form stay as they are, lists of texts are checked", () => {
  const value = { a: [1] };
  for (const type of ["meta.v1.FieldsV1", "runtime.RawExtension", "apiextensions.v1.JSON"])
    assert.equal(form(type, value), value);
  assert.deepEqual(form("=list", ["a"]), ["a"]);
  assert.equal(form("=list", null), null);
  assert.deepEqual(form("=list", ["a", null]), ["a", ""]);
  for (const wrong of ["a", [1], [[]]]) assert.throws(() => form("=list", wrong), { message: "not a list of strings" });
});

const base64: readonly (readonly [string, string])[] = [
  ["", ""],
  ["YQ==", "YQ=="],
  ["YWI=", "YWI="],
  ["YW\nJj\r\n", "YWJj"],
  ["YQ=\n=\n", "YQ=="],
  ["YR==", "YQ=="],
];

for (const [text, expected] of base64) {
  test(`base64 ${JSON.stringify(text)} is ${JSON.stringify(expected)}`, () => {
    assert.equal(canonicalBase64(text), expected);
  });
}

const badBase64: readonly (readonly [string, number])[] = [
  ["Y", 0],
  ["YWJjY", 4],
  ["YWI", 0],
  ["YQ=", 3],
  ["=", 0],
  ["Y===", 1],
  ["YW-j", 2],
  ["YW_j", 2],
  ["YQ==YQ==", 4],
  ["YQ=x", 2],
  ["YWI=x", 4],
  ["é", 0],
  ["YW Jj", 2],
];

for (const [text, at] of badBase64) {
  test(`base64 ${JSON.stringify(text)} is illegal at byte ${at}`, () => {
    assert.throws(() => canonicalBase64(text), {
      name: "TypedFormError",
      message: `illegal base64 data at input byte ${at}`,
    });
  });
}
