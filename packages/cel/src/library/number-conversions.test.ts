// SPDX-License-Identifier: Apache-2.0
// Conversions to numbers and bools.

import { testAnswers } from "../../test/expressions.ts";

testAnswers([
  { why: "an int", expr: "int(dyn(5))", is: "5", cost: 0 },
  { why: "a double is cut towards zero", expr: "int(dyn(-1.9))", is: "-1", cost: 0 },
  { why: "a double beyond 64 bits", expr: "int(dyn(9.3e18))", is: "PLAN integer overflow" },
  {
    why: "the smallest double is refused as well",
    expr: "int(dyn(-9223372036854775808.0))",
    is: "PLAN integer overflow",
  },
  {
    why: "the largest double below the limit",
    expr: "int(dyn(9223372036854774784.0))",
    is: "9223372036854774784",
    cost: 0,
  },
  { why: "infinity", expr: "int(dyn(1.0 / 0.0))", is: "ERR integer overflow", cost: 3 },
  { why: "NaN", expr: "int(dyn(0.0 / 0.0))", is: "ERR integer overflow", cost: 3 },
  { why: "a uint", expr: "int(dyn(9223372036854775807u))", is: "9223372036854775807", cost: 0 },
  { why: "a uint beyond the ints", expr: "int(dyn(9223372036854775808u))", is: "PLAN integer overflow" },
  { why: "a string", expr: "int(dyn('-12'))", is: "-12", cost: 0 },
  { why: "a string with a plus sign", expr: "int(dyn('+12'))", is: "12", cost: 0 },
  { why: "a string with leading zeros", expr: "int(dyn('000000000000000000000000000012'))", is: "12", cost: 0 },
  { why: "the least int as a string", expr: "int(dyn('-9223372036854775808'))", is: "-9223372036854775808", cost: 0 },
  {
    why: "a string beyond 64 bits",
    expr: "int(dyn('9223372036854775808'))",
    is: "PLAN type conversion error from 'string' to 'int'",
  },
  {
    why: "a string below 64 bits",
    expr: "int(dyn('-9223372036854775809'))",
    is: "PLAN type conversion error from 'string' to 'int'",
  },
  { why: "a hexadecimal string", expr: "int(dyn('0x10'))", is: "PLAN type conversion error from 'string' to 'int'" },
  { why: "a string with a fraction", expr: "int(dyn('1.0'))", is: "PLAN type conversion error from 'string' to 'int'" },
  { why: "a string with spaces", expr: "int(dyn(' 1'))", is: "PLAN type conversion error from 'string' to 'int'" },
  { why: "an empty string", expr: "int(dyn(''))", is: "PLAN type conversion error from 'string' to 'int'" },
  {
    why: "digits that are not ASCII",
    expr: "int(dyn('\\u0661'))",
    is: "PLAN type conversion error from 'string' to 'int'",
  },
  { why: "the seconds of a timestamp", expr: "int(timestamp('1970-01-01T00:01:00.9Z'))", is: "60", cost: 0 },
  {
    why: "the seconds of a timestamp before the epoch",
    expr: "int(timestamp('1969-12-31T23:59:59.5Z'))",
    is: "-1",
    cost: 0,
  },
  { why: "the nanoseconds of a duration", expr: "int(duration('1.5s'))", is: "1500000000", cost: 0 },
  { why: "a bool", expr: "int(dyn(true))", is: "PLAN no such overload: int(bool)" },
  { why: "null", expr: "int(dyn(null))", is: "PLAN no such overload: int(null_type)" },
  { why: "a list", expr: "int(dyn([1]))", is: "PLAN no such overload: int(list)" },
  { why: "a map", expr: "int(dyn({'a': 1}))", is: "PLAN no such overload: int(map)" },
]);

testAnswers([
  { why: "an int", expr: "uint(dyn(5))", is: "5u", cost: 0 },
  { why: "a negative int", expr: "uint(dyn(-1))", is: "PLAN unsigned integer overflow" },
  { why: "a double is cut", expr: "uint(dyn(1.9))", is: "1u", cost: 0 },
  { why: "a negative double", expr: "uint(dyn(-0.1))", is: "PLAN unsigned integer overflow" },
  { why: "a double beyond 64 bits", expr: "uint(dyn(18446744073709551616.0))", is: "PLAN unsigned integer overflow" },
  {
    why: "the largest uint as a string",
    expr: "uint(dyn('18446744073709551615'))",
    is: "18446744073709551615u",
    cost: 0,
  },
  {
    why: "a string beyond 64 bits",
    expr: "uint(dyn('18446744073709551616'))",
    is: "PLAN type conversion error from 'string' to 'uint'",
  },
  { why: "a string with a sign", expr: "uint(dyn('+1'))", is: "PLAN type conversion error from 'string' to 'uint'" },
  { why: "a negative string", expr: "uint(dyn('-1'))", is: "PLAN type conversion error from 'string' to 'uint'" },
  { why: "a uint", expr: "uint(dyn(7u))", is: "7u", cost: 0 },
  { why: "a string with a suffix", expr: "uint(dyn('7u'))", is: "PLAN type conversion error from 'string' to 'uint'" },
  { why: "a timestamp", expr: "uint(dyn(timestamp(0)))", is: "PLAN no such overload: uint(google.protobuf.Timestamp)" },
]);

testAnswers([
  { why: "an int beyond 2^53", expr: "double(dyn(9007199254740993))", is: "double 9.007199254740992e+15", cost: 0 },
  { why: "a uint", expr: "double(dyn(18446744073709551615u))", is: "double 1.8446744073709552e+19", cost: 0 },
  { why: "a string", expr: "double(dyn('-1.5e3'))", is: "double -1500", cost: 0 },
  { why: "a string without digits before the point", expr: "double(dyn('.5'))", is: "double 0.5", cost: 0 },
  { why: "a string without digits behind the point", expr: "double(dyn('5.'))", is: "double 5", cost: 0 },
  { why: "a hexadecimal string", expr: "double(dyn('0x1.8p1'))", is: "double 3", cost: 0 },
  {
    why: "a hexadecimal string without an exponent",
    expr: "double(dyn('0x18'))",
    is: "PLAN type conversion error from 'string' to 'double'",
  },
  { why: "underscores between digits", expr: "double(dyn('1_000.5'))", is: "double 1000.5", cost: 0 },
  {
    why: "an underscore at the end",
    expr: "double(dyn('1_'))",
    is: "PLAN type conversion error from 'string' to 'double'",
  },
  {
    why: "an underscore in front",
    expr: "double(dyn('_1'))",
    is: "PLAN type conversion error from 'string' to 'double'",
  },
  { why: "two underscores", expr: "double(dyn('1__0'))", is: "PLAN type conversion error from 'string' to 'double'" },
  { why: "an underscore after the prefix", expr: "double(dyn('0x_1p0'))", is: "double 1", cost: 0 },
  { why: "infinity", expr: "double(dyn('-Infinity'))", is: "double -Inf", cost: 0 },
  { why: "infinity in short", expr: "double(dyn('+inf'))", is: "double +Inf", cost: 0 },
  { why: "NaN in any case", expr: "double(dyn('nAn'))", is: "double NaN", cost: 0 },
  { why: "NaN with a sign", expr: "double(dyn('-nan'))", is: "PLAN type conversion error from 'string' to 'double'" },
  {
    why: "a string beyond the doubles",
    expr: "double(dyn('1e309'))",
    is: "PLAN type conversion error from 'string' to 'double'",
  },
  { why: "a string below the doubles is zero", expr: "double(dyn('1e-999'))", is: "double 0", cost: 0 },
  { why: "a negative zero", expr: "double(dyn('-0'))", is: "double -0", cost: 0 },
  { why: "an empty string", expr: "double(dyn(''))", is: "PLAN type conversion error from 'string' to 'double'" },
  { why: "a point", expr: "double(dyn('.'))", is: "PLAN type conversion error from 'string' to 'double'" },
  {
    why: "a string with spaces",
    expr: "double(dyn('1 '))",
    is: "PLAN type conversion error from 'string' to 'double'",
  },
  { why: "a bool", expr: "double(dyn(true))", is: "PLAN no such overload: double(bool)" },
]);

testAnswers([
  {
    why: "true in all its forms",
    expr: "['1', 't', 'T', 'true', 'TRUE', 'True'].all(s, bool(s))",
    is: "true",
    cost: 31,
  },
  {
    why: "false in all its forms",
    expr: "['0', 'f', 'F', 'false', 'FALSE', 'False'].all(s, !bool(s))",
    is: "true",
    cost: 37,
  },
  { why: "another case", expr: "bool(dyn('tRUE'))", is: "PLAN type conversion error from 'string' to 'bool'" },
  { why: "a word", expr: "bool(dyn('yes'))", is: "PLAN type conversion error from 'string' to 'bool'" },
  { why: "an empty string", expr: "bool(dyn(''))", is: "PLAN type conversion error from 'string' to 'bool'" },
  { why: "a bool", expr: "bool(dyn(false))", is: "false", cost: 0 },
  { why: "an int", expr: "bool(dyn(1))", is: "PLAN no such overload: bool(int)" },
]);
