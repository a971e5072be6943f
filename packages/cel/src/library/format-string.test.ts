// SPDX-License-Identifier: Apache-2.0

import { testAnswers } from "../../test/expressions.ts";

testAnswers([
  { why: "a string stays as it is", expr: "'%s'.format(['a\"b'])", is: '"a\\"b"', cost: 1 },
  { why: "an int", expr: "'%s'.format([-1])", is: '"-1"', cost: 1 },
  { why: "a uint has no suffix", expr: "'%s'.format([1u])", is: '"1"', cost: 1 },
  { why: "a bool", expr: "'%s'.format([true])", is: '"true"', cost: 1 },
  { why: "null", expr: "'%s'.format([null])", is: '"null"', cost: 1 },
  { why: "a double in its shortest form", expr: "'%s'.format([1e21])", is: '"1e+21"', cost: 1 },
  { why: "infinity", expr: "'%s'.format([1.0 / 0.0])", is: '"+Inf"', cost: 12 },
  { why: "a type by its name", expr: "'%s'.format([int])", is: '"int"', cost: 1 },
  { why: "bytes as UTF-8", expr: "'%s'.format([b'\\xc3\\xa9'])", is: '"\u00e9"', cost: 1 },
  {
    why: "bytes that are not UTF-8",
    expr: "'%s'.format([b'\\xff'])",
    is: 'ERR error during formatting: could not convert argument "invalid UTF-8 in bytes, cannot convert to string" to string',
    cost: 1,
  },
  { why: "a duration in seconds", expr: "'%s'.format([duration('90m')])", is: '"5400s"', cost: 1 },
  {
    why: "a timestamp in its own offset",
    expr: "'%s'.format([timestamp('2020-01-02T03:04:05+01:00')])",
    is: '"2020-01-02T03:04:05+01:00"',
    cost: 1,
  },
  {
    why: "an optional has no text",
    expr: "'%s'.format([dyn(optional.of(1))])",
    is: "ERR error during formatting: string clause can only be used on strings, bools, bytes, ints, doubles, maps, lists, types, durations, and timestamps, was given optional_type",
    cost: 13,
  },
  {
    why: "an address has no text",
    expr: "'%s'.format([dyn(ip('1.1.1.1'))])",
    is: "ERR error during formatting: string clause can only be used on strings, bools, bytes, ints, doubles, maps, lists, types, durations, and timestamps, was given net.IP",
    cost: 13,
  },
  { why: "a precision is ignored", expr: "'%.3s'.format(['abcdef'])", is: '"abcdef"', cost: 1 },
]);

testAnswers([
  {
    why: "elements are written as in an expression",
    expr: "'%s'.format([[dyn(1), 2u, 'a', b'b', true, null]])",
    is: '"[1, 2, \\"a\\", b\\"b\\", true, null]"',
    cost: 1,
  },
  {
    why: "doubles in a list have six digits",
    expr: "'%s'.format([[1.0 / 3.0, 1e21, -0.0]])",
    is: '"[0.333333, 1000000000000000000000.000000, -0.000000]"',
    cost: 22,
  },
  {
    why: "NaN and the infinities are quoted in a list",
    expr: "'%s'.format([[0.0 / 0.0, 1.0 / 0.0, -1.0 / 0.0]])",
    is: '"[\\"NaN\\", \\"+Inf\\", \\"-Inf\\"]"',
    cost: 24,
  },
  {
    why: "times and durations are calls in a list",
    expr: "'%s'.format([[dyn(duration('1h')), timestamp('2020-01-01T00:00:00Z')]])",
    is: '"[duration(\\"3600s\\"), timestamp(\\"2020-01-01T00:00:00Z\\")]"',
    cost: 1,
  },
  { why: "lists nest", expr: "'%s'.format([[[1], []]])", is: '"[[1], []]"', cost: 1 },
  {
    why: "a string in a list is quoted as Go quotes it",
    expr: "'%s'.format([['a\"\\n\\u00e9\\u200b']])",
    is: '"[\\"a\\\\\\"\\\\n\u00e9\\\\u200b\\"]"',
    cost: 1,
  },
  {
    why: "entries of a map in the order of their keys",
    expr: "'%s'.format([{'b': 1, 'a': 2}])",
    is: '"{\\"a\\":2, \\"b\\":1}"',
    cost: 1,
  },
  {
    why: "keys are ordered as text",
    expr: "'%s'.format([{10: 'a', 9: 'b'}])",
    is: '"{10:\\"a\\", 9:\\"b\\"}"',
    cost: 1,
  },
  {
    why: "keys of all types",
    expr: "'%s'.format([{dyn(1): 'a', 2u: 'b', true: 'c', 'k': 'd'}])",
    is: '"{\\"k\\":\\"d\\", 1:\\"a\\", 2:\\"b\\", true:\\"c\\"}"',
    cost: 1,
  },
  {
    why: "a double is not a key that can be printed",
    expr: "'%s'.format([{1.5: 'a'}])",
    is: "ERR error during formatting: no formatting function for map key of type double",
    cost: 1,
  },
  {
    why: "an optional in a list",
    expr: "'%s'.format([[dyn(optional.none())]])",
    is: "ERR error during formatting: no formatting function for optional_type",
    cost: 23,
  },
  {
    why: "bytes in a list that are not UTF-8",
    expr: "'%s'.format([[b'\\xff']])",
    is: 'ERR error during formatting: could not convert argument "invalid UTF-8 in bytes, cannot convert to string" to string',
    cost: 1,
  },
  { why: "an empty list and an empty map", expr: "'%s%s'.format([[], {}])", is: '"[]{}"', cost: 1 },
]);

testAnswers([
  { why: "an int", expr: "'%d'.format([-9223372036854775808])", is: '"-9223372036854775808"', cost: 1 },
  { why: "a uint", expr: "'%d'.format([18446744073709551615u])", is: '"18446744073709551615"', cost: 1 },
  {
    why: "a double is not an integer",
    expr: "'%d'.format([dyn(1.0)])",
    is: "ERR error during formatting: decimal clause can only be used on integers, was given double",
    cost: 1,
  },
  {
    why: "a string is not an integer",
    expr: "'%d'.format([dyn('1')])",
    is: "ERR error during formatting: decimal clause can only be used on integers, was given string",
    cost: 1,
  },
]);

testAnswers([
  { why: "six digits by default", expr: "'%f'.format([1.5])", is: '"1.500000"', cost: 1 },
  { why: "groups of three digits", expr: "'%f'.format([1234567.891])", is: '"1,234,567.891000"', cost: 1 },
  { why: "no group before the first digit", expr: "'%.0f'.format([123456.0])", is: '"123,456"', cost: 1 },
  { why: "a precision", expr: "'%.3f'.format([1234567.8915])", is: '"1,234,567.891"', cost: 1 },
  { why: "half of the last digit goes to the even one", expr: "'%.2f'.format([0.125])", is: '"0.12"', cost: 1 },
  { why: "and up to the even one", expr: "'%.2f'.format([0.375])", is: '"0.38"', cost: 1 },
  { why: "no digits behind the point", expr: "'%.0f'.format([2.5])", is: '"2"', cost: 1 },
  { why: "rounding carries", expr: "'%.1f'.format([999.96])", is: '"1,000.0"', cost: 1 },
  {
    why: "a negative number that rounds to zero keeps its sign",
    expr: "'%.1f'.format([-0.04])",
    is: '"-0.0"',
    cost: 1,
  },
  { why: "negative zero has no sign", expr: "'%f'.format([-0.0])", is: '"0.000000"', cost: 1 },
  { why: "the largest double", expr: "'%.0f'.format([1.7976931348623157e308]).size()", is: "411", cost: 2 },
  { why: "the digits of a precision of 256 are not padded", expr: "'%.256f'.format([1.5])", is: '"1.5"', cost: 1 },
  {
    why: "a number without digits behind the point has no point then",
    expr: "'%.256f'.format([1.0])",
    is: '"1"',
    cost: 1,
  },
  { why: "a precision of 255 is padded", expr: "'%.255f'.format([1.5]).size()", is: "257", cost: 2 },
  { why: "a precision of 300 is padded to 44 digits", expr: "'%.300f'.format([1.5]).size()", is: "46", cost: 2 },
  { why: "digits that are there are kept", expr: "'%.300f'.format([1e-290]).size()", is: "292", cost: 2 },
  { why: "NaN", expr: "'%f'.format([0.0 / 0.0])", is: '"NaN"', cost: 12 },
  { why: "infinity is a sign", expr: "'%.2f'.format([-1.0 / 0.0])", is: '"-\u221e"', cost: 12 },
  {
    why: "the words for them are taken as strings",
    expr: "'%f %f %f'.format(['NaN', 'Infinity', '-Infinity'])",
    is: '"NaN \u221e -\u221e"',
    cost: 1,
  },
  {
    why: "other words are not",
    expr: "'%f'.format(['infinity'])",
    is: "ERR error during formatting: fixed-point clause can only be used on doubles, was given string",
    cost: 1,
  },
  {
    why: "an int is not a double",
    expr: "'%f'.format([dyn(1)])",
    is: "ERR error during formatting: fixed-point clause can only be used on doubles, was given int",
    cost: 1,
  },
]);

testAnswers([
  {
    why: "six digits by default",
    expr: "'%e'.format([1052.032911275])",
    is: '"1.052033\u00d710\u2070\u00b3"',
    cost: 1,
  },
  {
    why: "the precision is the least width",
    expr: "'%.20e'.format([1052.032911275])",
    is: '"       1.052033\u00d710\u2070\u00b3"',
    cost: 1,
  },
  {
    why: "a precision below the width changes nothing",
    expr: "'%.3e'.format([1052.032911275])",
    is: '"1.052033\u00d710\u2070\u00b3"',
    cost: 1,
  },
  { why: "zero", expr: "'%e'.format([0.0])", is: '"0.000000\u00d710\u2070\u2070"', cost: 1 },
  {
    why: "a negative number and exponent",
    expr: "'%e'.format([-1.5e-10])",
    is: '"-1.500000\u00d710\u207b\u00b9\u2070"',
    cost: 1,
  },
  {
    why: "rounding within the digits",
    expr: "'%e'.format([9.9999994e5])",
    is: '"9.999999\u00d710\u2070\u2075"',
    cost: 1,
  },
  { why: "rounding that carries", expr: "'%e'.format([9.99999999e5])", is: '"1.000000\u00d710\u2070\u2076"', cost: 1 },
  {
    why: "an exponent of three digits",
    expr: "'%e'.format([1e300])",
    is: '"1.000000\u00d710\u00b3\u2070\u2070"',
    cost: 1,
  },
  { why: "infinity has a width", expr: "'%.4e'.format([1.0 / 0.0])", is: '"   \u221e"', cost: 12 },
  {
    why: "an int is not a double",
    expr: "'%e'.format([dyn(1)])",
    is: "ERR error during formatting: scientific clause can only be used on doubles, was given int",
    cost: 1,
  },
]);

testAnswers([
  { why: "an int in binary", expr: "'%b'.format([-5])", is: '"-101"', cost: 1 },
  {
    why: "a uint in binary",
    expr: "'%b'.format([18446744073709551615u])",
    is: '"1111111111111111111111111111111111111111111111111111111111111111"',
    cost: 1,
  },
  { why: "bools in binary", expr: "'%b%b'.format([true, false])", is: '"10"', cost: 1 },
  {
    why: "a string has no binary form",
    expr: "'%b'.format([dyn('a')])",
    is: "ERR error during formatting: only integers and bools can be formatted as binary, was given string",
    cost: 1,
  },
  { why: "an int in octal", expr: "'%o'.format([-8])", is: '"-10"', cost: 1 },
  {
    why: "a bool has no octal form",
    expr: "'%o'.format([dyn(true)])",
    is: "ERR error during formatting: octal clause can only be used on integers, was given bool",
    cost: 1,
  },
  { why: "an int in hexadecimal", expr: "'%x'.format([-255])", is: '"-ff"', cost: 1 },
  { why: "capital digits", expr: "'%X'.format([3735928559u])", is: '"DEADBEEF"', cost: 1 },
  { why: "the bytes of a string", expr: "'%x'.format(['h\\u00e9'])", is: '"68c3a9"', cost: 1 },
  { why: "capital digits of bytes", expr: "'%X'.format([b'\\xff\\x0a'])", is: '"FF0A"', cost: 1 },
  {
    why: "a double has no hexadecimal form",
    expr: "'%x'.format([dyn(1.5)])",
    is: "ERR error during formatting: only integers, byte buffers, and strings can be formatted as hex, was given double",
    cost: 1,
  },
]);

testAnswers([
  { why: "a percent sign", expr: "'100%%'.format([])", is: '"100%"', cost: 1 },
  { why: "a percent sign between clauses", expr: "'%s%%%d'.format(['a', 1])", is: '"a%1"', cost: 1 },
  { why: "a template without clauses", expr: "'a'.format([])", is: '"a"', cost: 1 },
  {
    why: "characters outside ASCII around clauses",
    expr: "'\\u00e9%s\\U0001F600'.format(['x'])",
    is: '"\u00e9x\u{1f600}"',
    cost: 1,
  },
  { why: "an argument is missing", expr: "'%s %s'.format(['a'])", refused: "15: index 1 out of range" },
  {
    why: "an argument is missing at run time",
    expr: "dyn('%s %s').format(['a'])",
    is: "ERR index 1 out of range",
    cost: 1,
  },
  {
    why: "too many arguments are found by the compiler",
    expr: "'%s'.format(['a', 'b'])",
    refused: "12: too many arguments supplied to string.format (expected 1, got 2)",
  },
  { why: "too many arguments are ignored at run time", expr: "dyn('%s').format(['a', 'b'])", is: '"a"', cost: 1 },
  { why: "a template that ends in a clause", expr: "'%'.format([1])", refused: "11: unexpected end of string" },
  {
    why: "the end of the template is found before the missing argument",
    expr: "'a%'.format([])",
    refused: "12: unexpected end of string",
  },
  {
    why: "at run time the missing argument is found first",
    expr: "dyn('a%').format([])",
    is: "ERR index 0 out of range",
    cost: 1,
  },
  {
    why: "an unknown clause",
    expr: "'%z'.format([1])",
    refused: '12: could not parse formatting clause: unrecognized formatting clause "z"',
  },
  { why: "an unknown clause without an argument", expr: "'%z'.format([])", refused: "12: index 0 out of range" },
  {
    why: "of a character outside ASCII, the first byte is shown",
    expr: "dyn('%\\u00e9').format([1])",
    is: 'ERR could not parse formatting clause: unrecognized formatting clause "\u00c3"',
    cost: 1,
  },
  {
    why: "of an emoji, the first byte is shown",
    expr: "dyn('%\\U0001F600').format([1])",
    is: 'ERR could not parse formatting clause: unrecognized formatting clause "\u00f0"',
    cost: 1,
  },
  {
    why: "a precision without digits",
    expr: "'%.f'.format([1.0])",
    refused:
      '13: could not parse formatting clause: error while parsing precision: error while converting precision to integer: strconv.Atoi: parsing "": invalid syntax',
  },
  {
    why: "a precision without a clause",
    expr: "'%.3'.format([1.0])",
    refused:
      "13: could not parse formatting clause: error while parsing precision: could not find end of precision specifier",
  },
  {
    why: "a precision beyond 64 bits",
    expr: "'%.99999999999999999999f'.format([1.0])",
    refused:
      '33: could not parse formatting clause: error while parsing precision: error while converting precision to integer: strconv.Atoi: parsing "99999999999999999999": value out of range',
  },
  {
    why: "an argument that is an error is the result",
    expr: "'%s %d'.format([1 / 0, 2])",
    is: "ERR division by zero",
    cost: 12,
  },
  {
    why: "a wrong type is found by the compiler",
    expr: "'%d'.format(['a'])",
    refused: "14: error during formatting: decimal clause can only be used on integers, was given string",
  },
  {
    why: "so is a wrong type inside a list",
    expr: "'%s'.format([[1, optional.none()]])",
    refused:
      "31: error during formatting: string clause can only be used on strings, bools, bytes, ints, doubles, maps, lists, types, durations, and timestamps, was given optional_type",
  },
  {
    why: "so is a wrong type inside a map",
    expr: "'%s'.format([{'a': [ip('::1')]}])",
    refused:
      "23: error during formatting: string clause can only be used on strings, bools, bytes, ints, doubles, maps, lists, types, durations, and timestamps, was given net.IP",
  },
  {
    why: "a list that is not a literal is checked at run time",
    expr: "'%d'.format([1.5].map(x, x))",
    is: "ERR error during formatting: decimal clause can only be used on integers, was given double",
    cost: 15,
  },
]);
