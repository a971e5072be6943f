// SPDX-License-Identifier: Apache-2.0

import { stringSubject as subject, testAnswers } from "../../test/expressions.ts";

testAnswers([
  { why: "a label", expr: "format.dns1123Label().validate('a-1')", is: "optional.none", cost: 9 },
  {
    why: "capitals",
    expr: "format.dns1123Label().validate('Abc')",
    is: "optional([\"a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')\"])",
    cost: 9,
  },
  { why: "dots", expr: "format.dns1123Label().validate('a.b')", is: 'optional(["must not contain dots"])', cost: 9 },
  {
    why: "nothing",
    expr: "format.dns1123Label().validate('')",
    is: "optional([\"a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')\"])",
    cost: 9,
  },
  {
    why: "63 characters",
    expr: "format.dns1123Label().validate('aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa')",
    is: "optional.none",
    cost: 57,
  },
  {
    why: "64 characters",
    expr: "format.dns1123Label().validate('aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa')",
    is: 'optional(["must be no more than 63 characters"])',
    cost: 57,
  },
  {
    why: "64 characters and a dash at the end",
    expr: "format.dns1123Label().validate('aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa-')",
    is: "optional([\"must be no more than 63 characters\", \"a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')\"])",
    cost: 57,
  },
  {
    why: "a label that starts with a letter",
    expr: "format.dns1035Label().validate('a1')",
    is: "optional.none",
    cost: 9,
  },
  {
    why: "a label that starts with a digit",
    expr: "format.dns1035Label().validate('1a')",
    is: "optional([\"a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for validation is '[a-z]([-a-z0-9]*[a-z0-9])?')\"])",
    cost: 9,
  },
  {
    why: "64 characters of a label that starts with a letter",
    expr: "format.dns1035Label().validate('aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa')",
    is: 'optional(["must be no more than 63 characters"])',
    cost: 57,
  },
]);

testAnswers([
  { why: "a subdomain", expr: "format.dns1123Subdomain().validate('a.b-c.1')", is: "optional.none", cost: 16 },
  {
    why: "an empty part",
    expr: "format.dns1123Subdomain().validate('a..b')",
    is: "optional([\"a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')\"])",
    cost: 16,
  },
  {
    why: "a dash at the end of a part",
    expr: "format.dns1123Subdomain().validate('a-.b')",
    is: "optional([\"a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')\"])",
    cost: 16,
  },
  {
    why: "254 characters",
    expr: "format.dns1123Subdomain().validate('aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa')",
    is: 'optional(["must be no more than 253 characters"])',
    cost: 391,
  },
  {
    why: "253 characters",
    expr: "format.dns1123Subdomain().validate('aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa')",
    is: "optional.none",
    cost: 391,
  },
]);

testAnswers([
  {
    why: "a prefix of a label may end in a dash",
    expr: "format.dns1123LabelPrefix().validate('abc-')",
    is: "optional.none",
    cost: 9,
  },
  {
    why: "a prefix of one character and a dash",
    expr: "format.dns1123LabelPrefix().validate('a-')",
    is: "optional.none",
    cost: 9,
  },
  {
    why: "a dash alone",
    expr: "format.dns1123LabelPrefix().validate('-')",
    is: "optional([\"a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')\"])",
    cost: 9,
  },
  {
    why: "the last character before the dash is not looked at",
    expr: "format.dns1123LabelPrefix().validate('A-')",
    is: "optional.none",
    cost: 9,
  },
  {
    why: "the others are",
    expr: "format.dns1123LabelPrefix().validate('Abc-')",
    is: "optional([\"a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')\"])",
    cost: 9,
  },
  {
    why: "a prefix of a label has no dots",
    expr: "format.dns1123LabelPrefix().validate('a.bc-')",
    is: 'optional(["must not contain dots"])',
    cost: 9,
  },
  {
    why: "a prefix of a subdomain",
    expr: "format.dns1123SubdomainPrefix().validate('a.b-')",
    is: "optional.none",
    cost: 16,
  },
  {
    why: "a dot before the dash",
    expr: "format.dns1123SubdomainPrefix().validate('a.-')",
    is: "optional.none",
    cost: 16,
  },
  {
    why: "a prefix of a label that starts with a letter",
    expr: "format.dns1035LabelPrefix().validate('a-b-')",
    is: "optional.none",
    cost: 9,
  },
  {
    why: "a prefix that starts with a digit",
    expr: "format.dns1035LabelPrefix().validate('12-')",
    is: "optional([\"a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for validation is '[a-z]([-a-z0-9]*[a-z0-9])?')\"])",
    cost: 9,
  },
]);

testAnswers([
  { why: "a name", expr: "format.qualifiedName().validate('a_b.C-1')", is: "optional.none", cost: 16 },
  {
    why: "a name with a prefix",
    expr: "format.qualifiedName().validate('example.com/Name')",
    is: "optional.none",
    cost: 31,
  },
  {
    why: "two slashes",
    expr: "format.qualifiedName().validate('a/b/c')",
    is: "optional([\"a valid label key must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]') with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')\"])",
    cost: 16,
  },
  {
    why: "an empty prefix",
    expr: "format.qualifiedName().validate('/b')",
    is: 'optional(["prefix part must be non-empty"])',
    cost: 16,
  },
  {
    why: "an empty name",
    expr: "format.qualifiedName().validate('a/')",
    is: "optional([\"name part must be non-empty\", \"name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')\"])",
    cost: 16,
  },
  {
    why: "nothing at all",
    expr: "format.qualifiedName().validate('')",
    is: "optional([\"name part must be non-empty\", \"name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')\"])",
    cost: 16,
  },
  {
    why: "a wrong prefix",
    expr: "format.qualifiedName().validate('A/b')",
    is: "optional([\"prefix part a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')\"])",
    cost: 16,
  },
  {
    why: "a dash as name",
    expr: "format.qualifiedName().validate('-')",
    is: "optional([\"name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')\"])",
    cost: 16,
  },
  {
    why: "a name of 64 characters",
    expr: "format.qualifiedName().validate('aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa')",
    is: 'optional(["name part must be no more than 63 bytes"])',
    cost: 106,
  },
  {
    why: "a prefix of 254 characters",
    expr: "format.qualifiedName().validate('aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa/b')",
    is: 'optional(["prefix part must be no more than 253 bytes"])',
    cost: 391,
  },
]);

testAnswers([
  { why: "an empty value of a label", expr: "format.labelValue().validate('')", is: "optional.none", cost: 11 },
  { why: "a value of a label", expr: "format.labelValue().validate('a_b.C-d')", is: "optional.none", cost: 11 },
  {
    why: "a value that starts with an underscore",
    expr: "format.labelValue().validate('_a')",
    is: "optional([\"a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')\"])",
    cost: 11,
  },
  {
    why: "a value of 64 characters",
    expr: "format.labelValue().validate('aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa')",
    is: 'optional(["must be no more than 63 bytes"])',
    cost: 71,
  },
  { why: "a URI", expr: "format.uri().validate('http://a')", is: "optional.none", cost: 277 },
  {
    why: "a relative URI",
    expr: "format.uri().validate('a')",
    is: 'optional(["parse \\"a\\": invalid URI for request"])',
    cost: 277,
  },
  { why: "an empty URI", expr: "format.uri().validate('')", is: 'optional(["parse \\"\\": empty url"])', cost: 277 },
  {
    why: "a UUID",
    expr: "format.uuid().validate('123e4567-e89b-12d3-a456-426614174000')",
    is: "optional.none",
    cost: 73,
  },
  {
    why: "a UUID without dashes, in capitals",
    expr: "format.uuid().validate('123E4567E89B12D3A456426614174000')",
    is: "optional.none",
    cost: 73,
  },
  {
    why: "a short UUID",
    expr: "format.uuid().validate('123e4567')",
    is: 'optional(["does not match the UUID format"])',
    cost: 19,
  },
  { why: "base64", expr: "format.byte().validate('aGk=')", is: "optional.none", cost: 22 },
  {
    why: "base64 without padding",
    expr: "format.byte().validate('aGk')",
    is: 'optional(["invalid base64"])',
    cost: 22,
  },
  { why: "base64 of a URL", expr: "format.byte().validate('_-==')", is: 'optional(["invalid base64"])', cost: 22 },
  { why: "no base64", expr: "format.byte().validate('')", is: 'optional(["invalid base64"])', cost: 22 },
  { why: "base64 without need of padding", expr: "format.byte().validate('abcd')", is: "optional.none", cost: 22 },
  { why: "base64 with two equals signs", expr: "format.byte().validate('abcdQQ==')", is: "optional.none", cost: 22 },
]);

testAnswers([
  { why: "a leap day", expr: "format.date().validate('2020-02-29')", is: "optional.none", cost: 37 },
  {
    why: "a day that does not exist",
    expr: "format.date().validate('2021-02-29')",
    is: 'optional(["invalid date"])',
    cost: 37,
  },
  {
    why: "digits that are missing",
    expr: "format.date().validate('2021-2-9')",
    is: 'optional(["invalid date"])',
    cost: 19,
  },
  {
    why: "a time behind the date",
    expr: "format.date().validate('2021-02-09T00:00:00Z')",
    is: 'optional(["invalid date"])',
    cost: 55,
  },
  { why: "a time", expr: "format.datetime().validate('2020-01-01T23:59:59Z')", is: "optional.none", cost: 55 },
  { why: "small letters", expr: "format.datetime().validate('2020-01-01t00:00:00z')", is: "optional.none", cost: 55 },
  { why: "a fraction", expr: "format.datetime().validate('2020-01-01T00:00:00.123Z')", is: "optional.none", cost: 55 },
  { why: "an offset", expr: "format.datetime().validate('2020-01-01T00:00:00+01:00')", is: "optional.none", cost: 55 },
  {
    why: "hour 24",
    expr: "format.datetime().validate('2020-01-01T24:00:00Z')",
    is: 'optional(["invalid datetime"])',
    cost: 55,
  },
  {
    why: "minute 60",
    expr: "format.datetime().validate('2020-01-01T23:60:00Z')",
    is: 'optional(["invalid datetime"])',
    cost: 55,
  },
  {
    why: "second 60",
    expr: "format.datetime().validate('2020-01-01T23:59:60Z')",
    is: 'optional(["invalid datetime"])',
    cost: 55,
  },
  {
    why: "month 13",
    expr: "format.datetime().validate('2020-13-01T00:00:00Z')",
    is: 'optional(["invalid datetime"])',
    cost: 55,
  },
  {
    why: "no zone",
    expr: "format.datetime().validate('2020-01-01T00:00:00')",
    is: 'optional(["invalid datetime"])',
    cost: 37,
  },
  {
    why: "a space",
    expr: "format.datetime().validate('2020-01-01 00:00:00Z')",
    is: 'optional(["invalid datetime"])',
    cost: 55,
  },
  {
    why: "a date alone",
    expr: "format.datetime().validate('2020-01-01')",
    is: 'optional(["invalid datetime"])',
    cost: 37,
  },
  { why: "words", expr: "format.datetime().validate('2020-01-01Ta')", is: 'optional(["invalid datetime"])', cost: 37 },
]);

testAnswers([
  { why: "a format by its name", expr: "format.named('uuid')", is: "optional(format uuid)", cost: 1 },
  { why: "a format that does not exist", expr: "format.named('UUID')", is: "optional.none", cost: 1 },
  {
    why: "all names",
    expr: "['dns1123Label', 'dns1123Subdomain', 'dns1035Label', 'qualifiedName', 'dns1123LabelPrefix', 'dns1123SubdomainPrefix', 'dns1035LabelPrefix', 'labelValue', 'uri', 'uuid', 'byte', 'date', 'datetime'].map(n, format.named(n).value())",
    is: "[format DNS1123Label, format DNS1123Subdomain, format DNS1035Label, format QualifiedName, format DNS1123LabelPrefix, format DNS1123SubdomainPrefix, format DNS1035LabelPrefix, format LabelValue, format URI, format uuid, format byte, format date, format datetime]",
    cost: 196,
  },
  { why: "a format is equal to itself", expr: "format.named('uuid').value() == format.uuid()", is: "true", cost: 4 },
  { why: "formats differ", expr: "format.uuid() == format.byte()", is: "false", cost: 3 },
  { why: "a format and a string", expr: "dyn(format.uuid()) == dyn('uuid')", is: "ERR no such overload", cost: 3 },
  {
    why: "a value that is not a string",
    expr: "format.uuid().validate(dyn(1))",
    is: "ERR no such overload: validate(kubernetes.NamedFormat, int)",
    cost: 19,
  },
  {
    why: "a value that is not a format",
    expr: "dyn(1).validate('a')",
    is: "ERR no such overload: validate(int, string)",
    cost: 1,
  },
]);

testAnswers(
  [
    {
      why: "the estimate takes the longest pattern",
      expr: "format.dns1123Label().validate(self.s).hasValue()",
      is: "true",
      cost: 20,
      min: 4n,
      max: 132n,
    },
    { why: "a format by its name", expr: "format.named('uuid').hasValue()", is: "true", cost: 2, min: 2n, max: 2n },
    { why: "the equality of formats", expr: "format.uuid() == format.byte()", is: "false", cost: 3, min: 3n, max: 9n },
  ],
  subject,
);
