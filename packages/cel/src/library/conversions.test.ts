// SPDX-License-Identifier: Apache-2.0
// Conversions to strings, bytes, times and types.

import { type Subject, testAnswers } from "../../test/expressions.ts";

const subject: Subject = {
  schema: {
    type: "object",
    properties: { s: { type: "string", maxLength: 10 }, b: { type: "string", format: "byte", maxLength: 20 } },
  },
  self: { s: "abc", b: "aGk=" },
};

testAnswers([
  { why: "an int", expr: "string(dyn(-5))", is: '"-5"', cost: 0 },
  { why: "a uint", expr: "string(dyn(5u))", is: '"5"', cost: 0 },
  { why: "a bool", expr: "string(dyn(true))", is: '"true"', cost: 0 },
  { why: "a whole double", expr: "string(dyn(1.0))", is: '"1"', cost: 0 },
  { why: "a double with seven digits", expr: "string(dyn(1234567.0))", is: '"1.234567e+06"', cost: 0 },
  { why: "a double with six digits", expr: "string(dyn(123456.0))", is: '"123456"', cost: 0 },
  { why: "a small double", expr: "string(dyn(0.0001))", is: '"0.0001"', cost: 0 },
  { why: "a smaller double", expr: "string(dyn(0.00001))", is: '"1e-05"', cost: 0 },
  { why: "negative zero", expr: "string(dyn(-0.0))", is: '"-0"', cost: 0 },
  { why: "infinity", expr: "string(dyn(1.0 / 0.0))", is: '"+Inf"', cost: 3 },
  { why: "bytes", expr: "string(dyn(b'\\xc3\\xa9'))", is: '"\u00e9"', cost: 0 },
  {
    why: "bytes that are not UTF-8",
    expr: "string(dyn(b'\\xff'))",
    is: "PLAN invalid UTF-8 in bytes, cannot convert to string",
  },
  {
    why: "bytes of a surrogate",
    expr: "string(dyn(b'\\xed\\xa0\\x80'))",
    is: "PLAN invalid UTF-8 in bytes, cannot convert to string",
  },
  { why: "bytes with a byte order mark keep it", expr: "size(string(dyn(b'\\xef\\xbb\\xbfa')))", is: "2", cost: 1 },
  { why: "a duration", expr: "string(dyn(duration('1h1.5s')))", is: '"3601.5s"', cost: 0 },
  { why: "a negative duration", expr: "string(dyn(duration('-1ms')))", is: '"-0.001s"', cost: 0 },
  { why: "a duration of a nanosecond", expr: "string(dyn(duration('1ns')))", is: '"0.000000001s"', cost: 0 },
  {
    why: "the longest duration",
    expr: "string(dyn(duration('9223372036854775807ns')))",
    is: '"9223372036.854776s"',
    cost: 0,
  },
  {
    why: "a timestamp keeps its offset",
    expr: "string(dyn(timestamp('2020-01-01T00:00:00.100+01:30')))",
    is: '"2020-01-01T00:00:00.1+01:30"',
    cost: 0,
  },
  { why: "a timestamp made of a number", expr: "string(dyn(timestamp(0)))", is: '"1970-01-01T00:00:00Z"', cost: 0 },
  { why: "null", expr: "string(dyn(null))", is: "PLAN no such overload: string(null_type)" },
  { why: "a list", expr: "string(dyn([1]))", is: "PLAN no such overload: string(list)" },
  { why: "a type", expr: "string(dyn(int))", is: "PLAN no such overload: string(type)" },
  {
    why: "an optional",
    expr: "string(dyn(optional.none()))",
    is: "ERR no such overload: string(optional_type)",
    cost: 3,
  },
]);

testAnswers([
  { why: "the UTF-8 of a string", expr: "bytes(dyn('\\u00e9\\U0001F600'))", is: "bc3a9f09f9880", cost: 0 },
  { why: "bytes", expr: "bytes(dyn(b'a'))", is: "b61", cost: 0 },
  { why: "an int", expr: "bytes(dyn(1))", is: "PLAN no such overload: bytes(int)" },
]);

testAnswers([
  { why: "hours, minutes and seconds", expr: "duration(dyn('1h2m3.5s'))", is: "duration 3723500000000", cost: 0 },
  { why: "all units", expr: "duration(dyn('1h1m1s1ms1us1ns'))", is: "duration 3661001001001", cost: 0 },
  { why: "the micro sign", expr: "duration(dyn('1\\u00b5s'))", is: "duration 1000", cost: 0 },
  { why: "the Greek letter", expr: "duration(dyn('1\\u03bcs'))", is: "duration 1000", cost: 0 },
  { why: "a negative duration", expr: "duration(dyn('-1.5h'))", is: "duration -5400000000000", cost: 0 },
  { why: "a plus sign", expr: "duration(dyn('+1s'))", is: "duration 1000000000", cost: 0 },
  { why: "zero needs no unit", expr: "duration(dyn('0'))", is: "duration 0", cost: 0 },
  {
    why: "other numbers do",
    expr: "duration(dyn('5'))",
    is: "PLAN type conversion error from 'string' to 'google.protobuf.Duration'",
  },
  {
    why: "an unknown unit",
    expr: "duration(dyn('1d'))",
    is: "PLAN type conversion error from 'string' to 'google.protobuf.Duration'",
  },
  {
    why: "a sign inside",
    expr: "duration(dyn('1h-1m'))",
    is: "PLAN type conversion error from 'string' to 'google.protobuf.Duration'",
  },
  {
    why: "only a point",
    expr: "duration(dyn('.s'))",
    is: "PLAN type conversion error from 'string' to 'google.protobuf.Duration'",
  },
  { why: "no digits before the point", expr: "duration(dyn('.5s'))", is: "duration 500000000", cost: 0 },
  { why: "no digits behind the point", expr: "duration(dyn('5.s'))", is: "duration 5000000000", cost: 0 },
  {
    why: "an empty string",
    expr: "duration(dyn(''))",
    is: "PLAN type conversion error from 'string' to 'google.protobuf.Duration'",
  },
  {
    why: "only a sign",
    expr: "duration(dyn('-'))",
    is: "PLAN type conversion error from 'string' to 'google.protobuf.Duration'",
  },
  {
    why: "digits below a nanosecond are cut off",
    expr: "duration(dyn('1.9999999999s'))",
    is: "duration 1999999999",
    cost: 0,
  },
  {
    why: "a third of an hour, computed as Go does",
    expr: "duration(dyn('0.3333333333333333333h'))",
    is: "duration 1200000000000",
    cost: 0,
  },
  {
    why: "fractions beyond 63 bits",
    expr: "duration(dyn('0.9223372036854775809s'))",
    is: "duration 922337203",
    cost: 0,
  },
  {
    why: "fractions of many digits",
    expr: "duration(dyn('0.1234567890123456789123456789h'))",
    is: "duration 444444440444",
    cost: 0,
  },
  {
    why: "the longest duration",
    expr: "duration(dyn('9223372036854775807ns'))",
    is: "duration 9223372036854775807",
    cost: 0,
  },
  {
    why: "a duration that is too long",
    expr: "duration(dyn('9223372036854775808ns'))",
    is: "PLAN type conversion error from 'string' to 'google.protobuf.Duration'",
  },
  {
    why: "the most negative duration",
    expr: "duration(dyn('-9223372036854775808ns'))",
    is: "duration -9223372036854775808",
    cost: 0,
  },
  {
    why: "a sum that is too long",
    expr: "duration(dyn('2562047h48m'))",
    is: "PLAN type conversion error from 'string' to 'google.protobuf.Duration'",
  },
  {
    why: "a number that is too long",
    expr: "duration(dyn('99999999999999999999h'))",
    is: "PLAN type conversion error from 'string' to 'google.protobuf.Duration'",
  },
  {
    why: "spaces",
    expr: "duration(dyn('1 s'))",
    is: "PLAN type conversion error from 'string' to 'google.protobuf.Duration'",
  },
  {
    why: "an int",
    expr: "duration(dyn(1))",
    is: "PLAN type conversion error from 'int' to 'google.protobuf.Duration'",
  },
  { why: "a duration", expr: "duration(dyn(duration('1s')))", is: "duration 1000000000", cost: 0 },
  {
    why: "a timestamp",
    expr: "duration(dyn(timestamp(0)))",
    is: "PLAN no such overload: duration(google.protobuf.Timestamp)",
  },
]);

testAnswers([
  { why: "UTC", expr: "timestamp(dyn('2020-02-29T12:34:56Z'))", is: "timestamp 2020-02-29T12:34:56Z", cost: 0 },
  {
    why: "a fraction",
    expr: "timestamp(dyn('2020-02-29T12:34:56.000000001Z'))",
    is: "timestamp 2020-02-29T12:34:56.000000001Z",
    cost: 0,
  },
  {
    why: "digits below a nanosecond are cut off",
    expr: "timestamp(dyn('2020-02-29T12:34:56.1234567899Z'))",
    is: "timestamp 2020-02-29T12:34:56.123456789Z",
    cost: 0,
  },
  { why: "a comma", expr: "timestamp(dyn('2020-02-29T12:34:56,5Z'))", is: "timestamp 2020-02-29T12:34:56.5Z", cost: 0 },
  {
    why: "an offset",
    expr: "timestamp(dyn('2020-02-29T12:34:56-08:30'))",
    is: "timestamp 2020-02-29T12:34:56-08:30",
    cost: 0,
  },
  {
    why: "an offset of a day",
    expr: "timestamp(dyn('2020-02-29T12:34:56+24:60'))",
    is: "timestamp 2020-02-29T12:34:56+25:00",
    cost: 0,
  },
  {
    why: "an offset beyond a day",
    expr: "timestamp(dyn('2020-02-29T12:34:56+25:00'))",
    is: "PLAN type conversion error from 'string' to 'google.protobuf.Timestamp'",
  },
  {
    why: "an hour of one digit",
    expr: "timestamp(dyn('2020-02-29T1:34:56Z'))",
    is: "timestamp 2020-02-29T01:34:56Z",
    cost: 0,
  },
  {
    why: "a day that does not exist",
    expr: "timestamp(dyn('2021-02-29T00:00:00Z'))",
    is: "PLAN type conversion error from 'string' to 'google.protobuf.Timestamp'",
  },
  {
    why: "a month that does not exist",
    expr: "timestamp(dyn('2021-13-01T00:00:00Z'))",
    is: "PLAN type conversion error from 'string' to 'google.protobuf.Timestamp'",
  },
  {
    why: "a leap second",
    expr: "timestamp(dyn('2016-12-31T23:59:60Z'))",
    is: "PLAN type conversion error from 'string' to 'google.protobuf.Timestamp'",
  },
  {
    why: "midnight as 24",
    expr: "timestamp(dyn('2020-01-01T24:00:00Z'))",
    is: "PLAN type conversion error from 'string' to 'google.protobuf.Timestamp'",
  },
  {
    why: "a space in place of T",
    expr: "timestamp(dyn('2020-01-01 00:00:00Z'))",
    is: "PLAN type conversion error from 'string' to 'google.protobuf.Timestamp'",
  },
  {
    why: "small letters",
    expr: "timestamp(dyn('2020-01-01t00:00:00z'))",
    is: "PLAN type conversion error from 'string' to 'google.protobuf.Timestamp'",
  },
  {
    why: "without a zone",
    expr: "timestamp(dyn('2020-01-01T00:00:00'))",
    is: "PLAN type conversion error from 'string' to 'google.protobuf.Timestamp'",
  },
  {
    why: "only a date",
    expr: "timestamp(dyn('2020-01-01'))",
    is: "PLAN type conversion error from 'string' to 'google.protobuf.Timestamp'",
  },
  {
    why: "the first second",
    expr: "timestamp(dyn('0001-01-01T00:00:00Z'))",
    is: "timestamp 0001-01-01T00:00:00Z",
    cost: 0,
  },
  {
    why: "before the first second",
    expr: "timestamp(dyn('0001-01-01T00:00:00+00:01'))",
    is: "PLAN timestamp overflow",
  },
  { why: "the year 0", expr: "timestamp(dyn('0000-12-31T23:59:59Z'))", is: "PLAN timestamp overflow" },
  {
    why: "the last second",
    expr: "timestamp(dyn('9999-12-31T23:59:59.999999999Z'))",
    is: "timestamp 9999-12-31T23:59:59.999999999Z",
    cost: 0,
  },
  { why: "behind the last second", expr: "timestamp(dyn('9999-12-31T23:59:59-00:01'))", is: "PLAN timestamp overflow" },
  { why: "seconds since the epoch", expr: "timestamp(dyn(-1))", is: "timestamp 1969-12-31T23:59:59Z", cost: 0 },
  {
    why: "the last second as a number",
    expr: "timestamp(dyn(253402300799))",
    is: "timestamp 9999-12-31T23:59:59Z",
    cost: 0,
  },
  { why: "one more", expr: "timestamp(dyn(253402300800))", is: "PLAN timestamp overflow" },
  {
    why: "the first second as a number",
    expr: "timestamp(dyn(-62135596800))",
    is: "timestamp 0001-01-01T00:00:00Z",
    cost: 0,
  },
  { why: "one less", expr: "timestamp(dyn(-62135596801))", is: "PLAN timestamp overflow" },
  { why: "a double", expr: "timestamp(dyn(1.0))", is: "PLAN no such overload: timestamp(double)" },
  {
    why: "a duration",
    expr: "timestamp(dyn(duration('1s')))",
    is: "PLAN no such overload: timestamp(google.protobuf.Duration)",
  },
]);

testAnswers([
  {
    why: "a type of each kind",
    expr: "[type(1), type(1u), type(1.0), type(true), type('a'), type(b'a'), type(null), type([]), type({})]",
    refused: "15: expected type 'type(int)' but found 'type(uint)'",
  },
  {
    why: "the type of a time and a duration",
    expr: "[type(timestamp(0)), type(duration('1s'))]",
    refused: "26: expected type 'type(timestamp)' but found 'type(duration)'",
  },
  { why: "the type of a type", expr: "type(type(1))", is: "type type", cost: 0 },
  { why: "the type of a library's value", expr: "type(ip('::1'))", is: "type net.IP", cost: 2 },
  { why: "types are equal by name", expr: "type(1) == int", is: "true", cost: 1 },
  { why: "types differ", expr: "type(1) == uint", is: "false", cost: 1 },
  { why: "dyn hides the type from the compiler", expr: "dyn(1) == dyn('a')", is: "false", cost: 1 },
]);

testAnswers([
  { why: "a constant is converted by the compiler", expr: "int('12')", is: "12", cost: 0 },
  {
    why: "a constant that cannot be converted ends the compilation",
    expr: "int('a')",
    is: "PLAN type conversion error from 'string' to 'int'",
  },
  { why: "a double that is too large", expr: "int(1e30)", is: "PLAN integer overflow" },
  { why: "a uint that is negative", expr: "uint(-1)", is: "PLAN unsigned integer overflow" },
  {
    why: "bytes that are not UTF-8",
    expr: "string(b'\\xff')",
    is: "PLAN invalid UTF-8 in bytes, cannot convert to string",
  },
  {
    why: "a date that is wrong is found earlier",
    expr: "timestamp('2020-13-01T00:00:00Z')",
    refused: "11: invalid timestamp argument",
  },
  {
    why: "a duration that is wrong is found earlier",
    expr: "duration('1d')",
    refused: "10: invalid duration argument",
  },
  {
    why: "a conversion that does not exist",
    expr: "bool(1)",
    refused: "5: found no matching overload for 'bool' applied to '(int)'",
  },
]);

testAnswers(
  [
    {
      why: "text to bytes takes up to four bytes for a character",
      expr: "bytes(self.s) == b'a'",
      is: "false",
      cost: 4,
      min: 3n,
      max: 7n,
    },
    { why: "bytes to text", expr: "string(self.b).contains('a')", is: "false", cost: 4, min: 2n, max: 6n },
    {
      why: "text to int",
      expr: "int(self.s) == 1",
      is: "ERR type conversion error from 'string' to 'int'",
      cost: 4,
      min: 4n,
      max: 4n,
    },
  ],
  subject,
);
