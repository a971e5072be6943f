// SPDX-License-Identifier: Apache-2.0

import { addressSubject as subject, testAnswers } from "../../test/expressions.ts";

testAnswers([
  { why: "a number", expr: "quantity('5').asInteger()", is: "5", cost: 2 },
  { why: "a plus sign", expr: "quantity('+5').asInteger()", is: "5", cost: 2 },
  { why: "a negative number with a suffix", expr: "quantity('-5k').asInteger()", is: "-5000", cost: 2 },
  { why: "a binary suffix", expr: "quantity('2Ki').asInteger()", is: "2048", cost: 2 },
  { why: "an exponent", expr: "quantity('1e3').asInteger()", is: "1000", cost: 2 },
  { why: "a capital exponent", expr: "quantity('1E5').asInteger()", is: "100000", cost: 2 },
  { why: "a capital E alone is a suffix", expr: "quantity('1E').asInteger()", is: "1000000000000000000", cost: 2 },
  {
    why: "18 digits are an integer",
    expr: "quantity('999999999999999999').asInteger()",
    is: "999999999999999999",
    cost: 3,
  },
  {
    why: "19 digits are not kept as one",
    expr: "quantity('9223372036854775807').asInteger()",
    is: "ERR cannot convert value to integer",
    cost: 3,
  },
  { why: "19 digits are not an integer", expr: "quantity('9223372036854775807').isInteger()", is: "false", cost: 3 },
  { why: "the largest binary suffix", expr: "quantity('1Ei').isInteger()", is: "false", cost: 2 },
  { why: "the exponent 18 fits", expr: "quantity('1e18').asInteger()", is: "1000000000000000000", cost: 2 },
  { why: "the exponent 19 does not", expr: "quantity('1e19').isInteger()", is: "false", cost: 2 },
  { why: "zero with an exponent is zero", expr: "quantity('0e19').asInteger()", is: "0", cost: 2 },
  { why: "a fraction is not an integer", expr: "quantity('1.5').isInteger()", is: "false", cost: 2 },
  { why: "a whole number with a fraction is not one", expr: "quantity('1.000').isInteger()", is: "false", cost: 2 },
  { why: "nor are a thousand thousandths", expr: "quantity('1000m').isInteger()", is: "false", cost: 2 },
  { why: "a fraction with a binary suffix is not one", expr: "quantity('0.5Ki').isInteger()", is: "false", cost: 2 },
  { why: "leading zeros do not count", expr: "quantity('0000000000000000000001').asInteger()", is: "1", cost: 4 },
  { why: "an overflow by a suffix", expr: "quantity('999999999999E').isInteger()", is: "false", cost: 3 },
]);

testAnswers([
  {
    why: "a fraction without digits before the point",
    expr: "quantity('.5').asApproximateFloat()",
    is: "double 0.5",
    cost: 2,
  },
  {
    why: "a fraction without digits behind the point",
    expr: "quantity('5.').asApproximateFloat()",
    is: "double 5",
    cost: 2,
  },
  {
    why: "milli, micro and nano",
    expr: "[quantity('3m'), quantity('1u'), quantity('1n')].map(q, q.asApproximateFloat())",
    is: "[double 0.003, double 1e-06, double 1e-09]",
    cost: 56,
  },
  { why: "a negative exponent", expr: "quantity('1e-3').asApproximateFloat()", is: "double 0.001", cost: 2 },
  {
    why: "a fraction with a binary suffix",
    expr: "quantity('12.3Ki').asApproximateFloat()",
    is: "double 12595.2",
    cost: 2,
  },
  { why: "an exponent beyond the doubles", expr: "quantity('1e309').asApproximateFloat()", is: "double +Inf", cost: 2 },
  {
    why: "a negative exponent beyond the doubles is rounded up to a billionth",
    expr: "quantity('1e-400').asApproximateFloat()",
    is: "double 1e-09",
    cost: 2,
  },
  {
    why: "more digits than a double has",
    expr: "quantity('123456789012345678').asApproximateFloat()",
    is: "double 1.2345678901234568e+17",
    cost: 3,
  },
]);

testAnswers([
  { why: "a positive quantity", expr: "sign(quantity('0.1'))", is: "1", cost: 2 },
  { why: "a negative quantity", expr: "sign(quantity('-1m'))", is: "-1", cost: 2 },
  { why: "zero", expr: "sign(quantity('0.000'))", is: "0", cost: 2 },
  { why: "a quantity below a billionth is not zero", expr: "sign(quantity('0.0000000001'))", is: "1", cost: 3 },
  { why: "a negative quantity below a billionth is not zero", expr: "sign(quantity('-1e-30'))", is: "-1", cost: 2 },
]);

testAnswers([
  { why: "binary and decimal suffixes", expr: "quantity('100Gi').compareTo(quantity('100G'))", is: "1", cost: 3 },
  { why: "a quantity below another", expr: "quantity('1m').compareTo(quantity('1'))", is: "-1", cost: 3 },
  { why: "equal quantities", expr: "quantity('1000m').compareTo(quantity('1'))", is: "0", cost: 3 },
  { why: "huge exponents", expr: "quantity('1e400').compareTo(quantity('1e401'))", is: "-1", cost: 3 },
  { why: "negative quantities", expr: "quantity('-2').isLessThan(quantity('-1'))", is: "true", cost: 3 },
  {
    why: "negative quantities of different length",
    expr: "quantity('-10').isLessThan(quantity('-9'))",
    is: "true",
    cost: 3,
  },
  { why: "greater", expr: "quantity('2').isGreaterThan(quantity('1'))", is: "true", cost: 3 },
  { why: "not greater than itself", expr: "quantity('1').isGreaterThan(quantity('1'))", is: "false", cost: 3 },
  { why: "not less than itself", expr: "quantity('1').isLessThan(quantity('1'))", is: "false", cost: 3 },
  { why: "signs are compared first", expr: "quantity('-1e9').isLessThan(quantity('1n'))", is: "true", cost: 3 },
  { why: "equality does not depend on the form", expr: "quantity('1.0') == quantity('1')", is: "true", cost: 3 },
  { why: "inequality", expr: "quantity('1') != quantity('2')", is: "true", cost: 3 },
  { why: "a number is not a quantity", expr: "dyn(quantity('1')) == dyn(1)", is: "ERR no such overload", cost: 3 },
  {
    why: "binary quantities are cut at 64 bits",
    expr: "quantity('9Ei') == quantity('9223372036854775807')",
    is: "true",
    cost: 4,
  },
  { why: "negative ones too", expr: "quantity('-9Ei') == quantity('-9223372036854775807')", is: "true", cost: 4 },
]);

testAnswers([
  { why: "a sum", expr: "quantity('1').add(quantity('2')).asInteger()", is: "3", cost: 4 },
  { why: "a sum with an int", expr: "quantity('1').add(2).asInteger()", is: "3", cost: 3 },
  { why: "a difference", expr: "quantity('1').sub(quantity('2')).asInteger()", is: "-1", cost: 4 },
  { why: "a difference with an int", expr: "quantity('1').sub(2).asInteger()", is: "-1", cost: 3 },
  {
    why: "the sum of fractions",
    expr: "quantity('1.5').add(quantity('0.25')).asApproximateFloat()",
    is: "double 1.75",
    cost: 4,
  },
  {
    why: "a sum is known on the left of an equality",
    expr: "quantity('1').add(quantity('2')) == quantity('3')",
    is: "true",
    cost: 5,
  },
  {
    why: "and not on the right",
    expr: "quantity('3') == quantity('1').add(quantity('2'))",
    is: "ERR no such overload",
    cost: 5,
  },
  { why: "a sum with zero is the other", expr: "quantity('0').add(quantity('5')).asInteger()", is: "5", cost: 4 },
  {
    why: "zero does not change a quantity",
    expr: "quantity('5k').add(quantity('0')).asInteger()",
    is: "5000",
    cost: 4,
  },
  {
    why: "a sum beyond 64 bits is not an integer",
    expr: "quantity('9E').add(quantity('9E')).isInteger()",
    is: "false",
    cost: 4,
  },
  {
    why: "a difference of fractions is not an integer",
    expr: "quantity('1.5').sub(quantity('0.5')).isInteger()",
    is: "false",
    cost: 4,
  },
  { why: "a sum of binary quantities", expr: "quantity('1Gi').sub(quantity('1Gi')).asInteger()", is: "0", cost: 4 },
  {
    why: "a sum can be compared",
    expr: "quantity('1k').add(quantity('1')).compareTo(quantity('1001'))",
    is: "0",
    cost: 5,
  },
]);

testAnswers([
  { why: "a number with an exponent that has a sign", expr: "isQuantity('1e+3')", is: "true", cost: 1 },
  { why: "a number with a fraction and a suffix", expr: "isQuantity('1.5Gi')", is: "true", cost: 1 },
  {
    why: "nothing",
    expr: "quantity('')",
    is: "ERR quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'",
    cost: 0,
  },
  { why: "a space", expr: "isQuantity(' 1')", is: "false", cost: 1 },
  { why: "a suffix that does not exist", expr: "quantity('1K')", is: "ERR unable to parse quantity's suffix", cost: 1 },
  { why: "a binary suffix in small letters", expr: "isQuantity('1ki')", is: "false", cost: 1 },
  { why: "two signs", expr: "isQuantity('--1')", is: "false", cost: 1 },
  { why: "only a sign", expr: "isQuantity('+')", is: "true", cost: 1 },
  { why: "only a point is zero", expr: "isQuantity('.')", is: "true", cost: 1 },
  { why: "two points", expr: "isQuantity('1.2.3')", is: "false", cost: 1 },
  { why: "an exponent without digits", expr: "quantity('1e')", is: "ERR unable to parse quantity's suffix", cost: 1 },
  { why: "an exponent beyond 64 bits", expr: "isQuantity('1e99999999999999999999')", is: "false", cost: 3 },
  { why: "a sign in the suffix", expr: "isQuantity('1-3')", is: "false", cost: 1 },
  { why: "digits behind the suffix", expr: "isQuantity('1Mi5')", is: "false", cost: 1 },
  { why: "digits that are not ASCII", expr: "isQuantity('\\u0661')", is: "false", cost: 1 },
  {
    why: "a value that is not a string",
    expr: "isQuantity(dyn(1))",
    is: "ERR no such overload: isQuantity(int)",
    cost: 1,
  },
]);

testAnswers(
  [
    { why: "reading costs the text", expr: "isQuantity(self.s)", is: "false", cost: 3, min: 2n, max: 6n },
    {
      why: "a quantity of the object",
      expr: "quantity(self.s) == quantity('1')",
      is: "ERR quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'",
      cost: 5,
      min: 4n,
      max: 8n,
    },
    {
      why: "calls on quantities cost one",
      expr: "quantity('1').add(quantity(self.s)).compareTo(quantity('2')) > 0",
      is: "ERR quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'",
      cost: 8,
      min: 7n,
      max: 11n,
    },
  ],
  subject,
);
