// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { isCheckedFormat, stringFormatCheck } from "./formats.ts";

const names = [
  ...[
    "bsonobjectid",
    "byte",
    "cidr",
    "creditcard",
    "date",
    "date-time",
    "duration",
    "email",
    "hexcolor",
    "hostname",
    "ipv4",
  ],
  ...[
    "ipv6",
    "isbn",
    "isbn10",
    "isbn13",
    "k8s-long-name",
    "k8s-short-name",
    "mac",
    "password",
    "rgbcolor",
    "ssn",
    "uri",
  ],
  ...["uuid", "uuid3", "uuid4", "uuid5"],
];

test("all formats of the reference server are known, with or without dashes", () => {
  for (const name of names) {
    assert.ok(stringFormatCheck(name), name);
    assert.equal(stringFormatCheck(name), stringFormatCheck(name.replaceAll("-", "")));
  }
  for (const name of ["", "int32", "zip-code", "toString", "ipv5"]) assert.equal(stringFormatCheck(name), undefined);
});

test("a format counts only for its own types", () => {
  for (const [format, types, want] of [
    ["date", ["string"], true],
    ["date", [], true],
    ["date", ["integer", "string"], true],
    ["date", ["integer"], false],
    ["int32", ["integer"], true],
    ["int32", ["number"], false],
    ["int32", [], false],
    ["double", ["number"], true],
    ["float32", ["number"], false],
    ["date", ["object"], false],
    ["int32", ["constructor"], false],
  ] as const) {
    assert.equal(isCheckedFormat(format, types), want, `${format} of ${types}`);
  }
});

test("no text, however strange, makes a check throw", () => {
  const alphabet = fc.constantFrom(...'ab09.:-/%@ ()<>[]"\\,;+é\t#?T=_~^\u0000\ud800', "::", "%25", "😀");
  const texts = fc.oneof(fc.string({ unit: "binary" }), fc.string({ unit: alphabet, maxLength: 40 }));
  fc.assert(
    fc.property(fc.constantFrom(...names), texts, (name, text) => {
      assert.equal(typeof stringFormatCheck(name)?.(text), "boolean");
    }),
    { numRuns: 5_000 },
  );
});

test("long texts are decided in linear time: quadratic time would run into the test's timeout", () => {
  const parts = [
    "a",
    "0",
    ".",
    ":",
    "(",
    '"a" ',
    "1.",
    "a.",
    "%41",
    "1h",
    "9",
    "9 ",
    "aA-",
    "::",
    "<a@",
    "a@b,",
    "G:a@b,",
  ];
  for (const name of names) {
    for (const part of parts) stringFormatCheck(name)?.(part.repeat(Math.ceil(200_000 / part.length)));
  }
});

test("addresses are recognized as by the standard", () => {
  const [isIPv4, isIPv6] = [stringFormatCheck("ipv4"), stringFormatCheck("ipv6")];
  fc.assert(fc.property(fc.ipV4(), (address) => assert.ok(isIPv4?.(address) && !isIPv6?.(address))));
  fc.assert(fc.property(fc.ipV6(), (address) => assert.ok(isIPv6?.(address))));
  fc.assert(
    fc.property(fc.ipV6(), fc.nat(128), (address, length) =>
      assert.ok(stringFormatCheck("cidr")?.(`${address}/${length}`)),
    ),
  );
});

test("what generators make, checks accept", () => {
  fc.assert(fc.property(fc.uuid(), (text) => assert.ok(stringFormatCheck("uuid")?.(text))));
  fc.assert(fc.property(fc.uuid({ version: 4 }), (text) => assert.ok(stringFormatCheck("uuid4")?.(text))));
  fc.assert(fc.property(fc.uuid({ version: 5 }), (text) => assert.ok(stringFormatCheck("uuid5")?.(text))));
  fc.assert(
    fc.property(fc.webUrl({ withQueryParameters: true }), (text) => assert.ok(stringFormatCheck("uri")?.(text), text)),
  );
  fc.assert(fc.property(fc.emailAddress(), (text) => assert.ok(stringFormatCheck("email")?.(text), text)));
  fc.assert(
    fc.property(fc.base64String({ minLength: 4 }), (text) => assert.ok(stringFormatCheck("byte")?.(text), text)),
  );
  const years = { min: new Date("0000-01-01"), max: new Date("9999-12-31"), noInvalidDate: true };
  fc.assert(fc.property(fc.date(years), (date) => assert.ok(stringFormatCheck("date-time")?.(date.toISOString()))));
  fc.assert(
    fc.property(fc.date(years), (date) => assert.ok(stringFormatCheck("date")?.(date.toISOString().slice(0, 10)))),
  );
});
