// SPDX-License-Identifier: Apache-2.0

import { addressSubject as subject, testAnswers } from "../../test/expressions.ts";

testAnswers([
  { why: "a version", expr: "semver('1.2.3')", is: "semver 1.2.3", cost: 1 },
  {
    why: "a prerelease and build metadata",
    expr: "semver('1.2.3-alpha.1+b.2')",
    is: "semver 1.2.3-alpha.1+b.2",
    cost: 2,
  },
  { why: "build metadata without a prerelease", expr: "semver('1.2.3+build-1')", is: "semver 1.2.3+build-1", cost: 2 },
  { why: "a dash in the build metadata", expr: "semver('1.2.3+a-b').compareTo(semver('1.2.3'))", is: "0", cost: 3 },
  { why: "an empty string", expr: "semver('')", is: "ERR Version string empty", cost: 0 },
  { why: "two numbers", expr: "semver('1.2')", is: "ERR No Major.Minor.Patch elements found", cost: 1 },
  { why: "a v", expr: "semver('v1.2.3')", is: 'ERR Invalid character(s) found in major number "v1"', cost: 1 },
  {
    why: "a leading zero of the major number",
    expr: "semver('01.2.3')",
    is: 'ERR Major number must not contain leading zeroes "01"',
    cost: 1,
  },
  {
    why: "a leading zero of the minor number",
    expr: "semver('1.02.3')",
    is: 'ERR Minor number must not contain leading zeroes "02"',
    cost: 1,
  },
  {
    why: "a leading zero of the patch number",
    expr: "semver('1.2.03')",
    is: 'ERR Patch number must not contain leading zeroes "03"',
    cost: 1,
  },
  {
    why: "an empty major number",
    expr: "semver('.2.3')",
    is: 'ERR strconv.ParseUint: parsing "": invalid syntax',
    cost: 1,
  },
  {
    why: "an empty minor number",
    expr: "semver('1..3')",
    is: 'ERR strconv.ParseUint: parsing "": invalid syntax',
    cost: 1,
  },
  {
    why: "an empty patch number",
    expr: "semver('1.2.')",
    is: 'ERR strconv.ParseUint: parsing "": invalid syntax',
    cost: 1,
  },
  {
    why: "four numbers",
    expr: "semver('1.2.3.4')",
    is: 'ERR Invalid character(s) found in patch number "3.4"',
    cost: 1,
  },
  {
    why: "a letter in the major number",
    expr: "semver('a.2.3')",
    is: 'ERR Invalid character(s) found in major number "a"',
    cost: 1,
  },
  {
    why: "a letter in the minor number",
    expr: "semver('1.a.3')",
    is: 'ERR Invalid character(s) found in minor number "a"',
    cost: 1,
  },
  { why: "an empty prerelease", expr: "semver('1.2.3-')", is: "ERR Prerelease is empty", cost: 1 },
  { why: "an empty part of a prerelease", expr: "semver('1.2.3-a..b')", is: "ERR Prerelease is empty", cost: 1 },
  {
    why: "a numeric prerelease with a leading zero",
    expr: "semver('1.2.3-01')",
    is: 'ERR Numeric PreRelease version must not contain leading zeroes "01"',
    cost: 1,
  },
  { why: "a prerelease with a leading zero and a letter", expr: "semver('1.2.3-0a')", is: "semver 1.2.3-0a", cost: 1 },
  {
    why: "a wrong character in a prerelease",
    expr: "semver('1.2.3-a_b')",
    is: 'ERR Invalid character(s) found in prerelease "a_b"',
    cost: 1,
  },
  { why: "empty build metadata", expr: "semver('1.2.3+')", is: "ERR Build meta data is empty", cost: 1 },
  {
    why: "a wrong character in build metadata",
    expr: "semver('1.2.3+a_b')",
    is: 'ERR Invalid character(s) found in build meta data "a_b"',
    cost: 1,
  },
  {
    why: "the largest number is read as a signed one",
    expr: "semver('18446744073709551615.0.0').major()",
    is: "-1",
    cost: 4,
  },
  {
    why: "a number beyond 64 bits",
    expr: "semver('18446744073709551616.0.0')",
    is: 'ERR strconv.ParseUint: parsing "18446744073709551616": value out of range',
    cost: 3,
  },
  {
    why: "a prerelease beyond 64 bits",
    expr: "semver('1.2.3-18446744073709551616')",
    is: 'ERR strconv.ParseUint: parsing "18446744073709551616": value out of range',
    cost: 3,
  },
  {
    why: "a negative number",
    expr: "semver('-1.2.3')",
    is: 'ERR Invalid character(s) found in major number "-1"',
    cost: 1,
  },
]);

testAnswers([
  { why: "a v and a missing patch number", expr: "semver('v1.2', true)", is: "semver 1.2.0", cost: 1 },
  { why: "leading zeros", expr: "semver('v01.02', true)", is: "semver 1.2.0", cost: 1 },
  { why: "one number", expr: "semver('1', true)", is: "semver 1.0.0", cost: 1 },
  { why: "zeros", expr: "semver('000.00.0', true)", is: "semver 0.0.0", cost: 1 },
  { why: "a full version", expr: "semver('1.2.3-a+b', true)", is: "semver 1.2.3-a+b", cost: 1 },
  {
    why: "a patch number with a leading zero and a prerelease",
    expr: "semver('1.2.03-a', true)",
    is: "semver 1.2.3-a",
    cost: 1,
  },
  {
    why: "a short version with a prerelease",
    expr: "semver('1.2-a', true)",
    is: "ERR short version cannot contain PreRelease/Build meta data",
    cost: 1,
  },
  {
    why: "a short version with build metadata",
    expr: "semver('1+a', true)",
    is: "ERR short version cannot contain PreRelease/Build meta data",
    cost: 1,
  },
  { why: "only a v", expr: "semver('v', true)", is: 'ERR strconv.ParseUint: parsing "": invalid syntax', cost: 1 },
  { why: "two v", expr: "semver('vv1', true)", is: 'ERR Invalid character(s) found in major number "0v1"', cost: 1 },
  {
    why: "an empty string",
    expr: "semver('', true)",
    is: 'ERR strconv.ParseUint: parsing "": invalid syntax',
    cost: 0,
  },
  {
    why: "without normalization",
    expr: "semver('v1.2', false)",
    is: "ERR No Major.Minor.Patch elements found",
    cost: 1,
  },
]);

testAnswers([
  { why: "the numbers are compared first", expr: "semver('1.10.0').compareTo(semver('1.9.9'))", is: "1", cost: 3 },
  {
    why: "a prerelease is before the version",
    expr: "semver('1.2.3-alpha').compareTo(semver('1.2.3'))",
    is: "-1",
    cost: 4,
  },
  {
    why: "numeric parts are compared as numbers",
    expr: "semver('1.2.3-alpha.2').compareTo(semver('1.2.3-alpha.10'))",
    is: "-1",
    cost: 5,
  },
  { why: "numbers are before words", expr: "semver('1.2.3-1').compareTo(semver('1.2.3-a'))", is: "-1", cost: 3 },
  { why: "more parts are later", expr: "semver('1.2.3-alpha').compareTo(semver('1.2.3-alpha.1'))", is: "-1", cost: 5 },
  { why: "build metadata does not count", expr: "semver('1.2.3+a') == semver('1.2.3+b')", is: "true", cost: 3 },
  { why: "equal versions", expr: "semver('1.2.3').compareTo(semver('1.2.3'))", is: "0", cost: 3 },
  {
    why: "greater",
    expr: "[semver('1.2.3').isGreaterThan(semver('1.2.2')), semver('1.2.3').isGreaterThan(semver('1.2.3'))]",
    is: "[true, false]",
    cost: 16,
  },
  {
    why: "less",
    expr: "[semver('1.2.3').isLessThan(semver('1.2.4')), semver('1.2.3').isLessThan(semver('1.2.3'))]",
    is: "[true, false]",
    cost: 16,
  },
  { why: "different versions", expr: "semver('1.2.3') != semver('1.2.4')", is: "true", cost: 3 },
  { why: "a version and a string", expr: "dyn(semver('1.2.3')) == dyn('1.2.3')", is: "ERR no such overload", cost: 3 },
]);

testAnswers([
  {
    why: "the numbers",
    expr: "[semver('1.2.3-a').major(), semver('1.2.3-a').minor(), semver('1.2.3-a').patch()]",
    is: "[1, 2, 3]",
    cost: 16,
  },
]);

testAnswers([
  {
    why: "whether something is a version",
    expr: "[isSemver('1.2.3'), isSemver('1.2'), isSemver('v1.2', true), isSemver('v1.2', false)]",
    is: "[true, false, true, false]",
    cost: 14,
  },
  { why: "not a string", expr: "isSemver(dyn(1))", is: "ERR no such overload: isSemver(int)", cost: 1 },
  { why: "not a string to read", expr: "semver(dyn(1))", is: "ERR no such overload: semver(int)", cost: 1 },
]);

testAnswers(
  [
    { why: "reading costs the text", expr: "isSemver(self.s)", is: "false", cost: 3, min: 2n, max: 6n },
    {
      why: "reading with normalization",
      expr: "semver(self.s, true).major() == 10",
      is: 'ERR Invalid character(s) found in patch number "0.1"',
      cost: 5,
      min: 4n,
      max: 8n,
    },
    {
      why: "an order costs one",
      expr: "semver(self.s, true).isLessThan(semver('11.0.0'))",
      is: 'ERR Invalid character(s) found in patch number "0.1"',
      cost: 5,
      min: 4n,
      max: 8n,
    },
  ],
  subject,
);
