// SPDX-License-Identifier: Apache-2.0
// Each format with values at its edges. The long list that was compared with the reference is in testdata.
import assert from "node:assert/strict";
import { test } from "node:test";
import { stringFormatCheck } from "./formats.ts";

interface FormatRow {
  readonly reason: string;
  readonly good: readonly string[];
  readonly bad: readonly string[];
}

const rows: Record<string, FormatRow> = {
  ipv4: {
    reason: "leading zeros are old custom, an IPv6 address may end in one",
    good: ["0.0.0.0", "255.255.255.255", "010.001.0.0001", "::ffff:1.2.3.4", "1:2:3:4:5:6:1.2.3.4"],
    bad: ["", "1.2.3", "1.2.3.4.5", "1.2.3.256", "1.2.3.4 ", "1..2.3", "::1", "a.b.c.d", "1.2.3.", "-1.2.3.4"],
  },
  ipv6: {
    reason: "at most one gap, no zone, no leading zeros in a dotted end",
    good: ["::", "::1", "1::", "1:2:3:4:5:6:7:8", "FE80::A", "::ffff:1.2.3.4", "1:2:3:4:5:6:7::"],
    bad: [
      "",
      ":",
      ":::",
      "1::2::3",
      "12345::",
      "1:2:3:4:5:6:7",
      "1:2:3:4:5:6:7:8:9",
      "fe80::1%0",
      "::ffff:01.2.3.4",
      "1.2.3.4",
    ],
  },
  cidr: {
    reason: "a prefix that its address can have",
    good: ["0.0.0.0/0", "10.0.0.1/32", "::/128", "01.2.3.4/08", "2001:db8::/32"],
    bad: ["10.0.0.0", "10.0.0.0/33", "::/129", "10.0.0.0/", "/8", "10.0.0/8", "10.0.0.0/-1", "10.0.0.0/8/8", "x/8"],
  },
  mac: {
    reason: "6, 8 or 20 bytes, one separator throughout",
    good: ["01:23:45:67:89:ab", "01-23-45-67-89-AB", "0123.4567.89ab", "01:23:45:67:89:ab:cd:ef"],
    bad: [
      "",
      "01:23:45:67:89",
      "01:23:45:67:89-ab",
      "0123456789ab",
      "0123.4567",
      "0g:23:45:67:89:ab",
      "01:23:45:67:89:ab:",
    ],
  },
  hostname: {
    reason: "labels of letters of any script, a top-level domain of letters",
    good: ["a", "a-b", "example.com", "1.example.com", "é.example", "xn--a.com", `${"a".repeat(63)}.com`],
    bad: [
      "",
      "-a.com",
      "a-.com",
      "a_b.com",
      "example.c0m",
      "a.b",
      "example.com.",
      `${"a".repeat(64)}.com`,
      `${"a.".repeat(130)}com`,
    ],
  },
  uri: {
    reason: "with a scheme, or an absolute path",
    good: [
      "http://a",
      "/",
      "*",
      "urn:a:b",
      "http://u:p@h:1/p?q%zz",
      "http://[::1]:80",
      "http://[fe80::1%25en0]/",
      "db://a:1,b:2/x",
    ],
    bad: [
      "",
      "a",
      "a/b",
      ":x",
      "http://a b",
      "http://a:x",
      "http://a:1:2",
      "/%zz",
      "http://[::1",
      "http://[1.2.3.4]",
      "http://a/\n",
      "http://%41",
    ],
  },
  email: {
    reason: "an address, with or without a name",
    good: [
      "a@b",
      "a.b@c.d",
      '"a b"@c',
      "A B <a@b>",
      '"A, B" <a@b>',
      "<a@b>",
      "a@b (c (d))",
      "a@[1.2.3.4]",
      "a@[::1]",
      "é@ü",
      "G: a@b;",
    ],
    bad: [
      "",
      "a",
      "@b",
      "a@",
      "a b@c",
      ".a@b",
      "a.@b",
      "a..b@c",
      "a@b,c@d",
      '""@b',
      "a@[x]",
      "A <a@b",
      "a@b (c",
      "G:;",
      "G: a@b, c@d;",
      "a@b\n",
    ],
  },
  date: {
    reason: "a day that exists",
    good: ["2024-02-29", "0000-01-01", "9999-12-31", "2000-02-29"],
    bad: [
      "",
      "2023-02-29",
      "1900-02-29",
      "2024-13-01",
      "2024-00-01",
      "2024-04-31",
      "2024-1-1",
      "24-01-01",
      "2024-01-01T",
    ],
  },
  "date-time": {
    reason: "a day, a time of day and an offset",
    good: [
      "2024-01-01T00:00:00Z",
      "2024-01-01t23:59:59z",
      "2024-01-01T00:00:00.123+01:00",
      "2024-01-01T00:00:00-99:99",
    ],
    bad: [
      "",
      "2024-01-01",
      "2024-01-01T00:00:00",
      "2024-01-01T24:00:00Z",
      "2024-01-01T00:60:00Z",
      "2024-01-01T00:00:60Z",
      "2024-02-30T00:00:00Z",
      "2024-01-01 00:00:00Z",
    ],
  },
  duration: {
    reason: "as Go writes it, or a number and a word",
    good: ["0", "1h", "1h30m", "-1.5h", "1us", "1µs", "1μs", "3 days", "2 weeks", "10 secs", "about 5 minutes"],
    bad: ["", "1", "h", "5 lightyears", "-", ".", "99999999999999999999 days", "one hour"],
  },
  byte: {
    reason: "base64 with padding",
    good: ["AA==", "AAA=", "AAAA", "+/+/", "AAAAAA=="],
    bad: ["", "A", "AA", "AAA", "A===", "AA=A", "AA-_", "AAAA\n"],
  },
  uuid: {
    reason: "dashes are optional",
    good: ["123e4567-e89b-12d3-a456-426614174000", "123E4567E89B12D3A456426614174000"],
    bad: [
      "",
      "123e4567-e89b-12d3-a456-42661417400",
      "g23e4567-e89b-12d3-a456-426614174000",
      "{123e4567-e89b-12d3-a456-426614174000}",
    ],
  },
  uuid3: {
    reason: "version 3",
    good: ["123e4567-e89b-32d3-0456-426614174000"],
    bad: ["123e4567-e89b-42d3-a456-426614174000"],
  },
  uuid4: {
    reason: "version 4 and its variant",
    good: ["123e4567-e89b-42d3-a456-426614174000"],
    bad: ["123e4567-e89b-42d3-c456-426614174000", "123e4567-e89b-52d3-a456-426614174000"],
  },
  uuid5: {
    reason: "version 5 and its variant",
    good: ["123e4567-e89b-52d3-b456-426614174000"],
    bad: ["123e4567-e89b-52d3-7456-426614174000"],
  },
  bsonobjectid: {
    reason: "twelve bytes",
    good: ["507f1f77bcf86cd799439011"],
    bad: ["", "507f1f77bcf86cd79943901", "507f1f77bcf86cd79943901g"],
  },
  isbn10: {
    reason: "with its check digit",
    good: ["0321751043", "0-321-75104-3", "080442957X"],
    bad: ["0321751044", "X321751043", "978-0321751041", ""],
  },
  isbn13: {
    reason: "with its check digit",
    good: ["978-0321751041", "978 0321751041"],
    bad: ["978-0321751042", "0321751043", ""],
  },
  isbn: { reason: "either", good: ["0321751043", "978-0321751041"], bad: ["12345"] },
  creditcard: {
    reason: "a known issuer and a check digit",
    good: ["4111 1111 1111 1111", "378282246310005", "5555-5555-5555-4444"],
    bad: ["4111111111111112", "1234567890123456", ""],
  },
  ssn: {
    reason: "with both separators",
    good: ["111-22-3333", "111 22 3333"],
    bad: ["111223333", "111-223333", "11-22-33333"],
  },
  hexcolor: { reason: "three or six digits", good: ["#fff", "FFF", "#a1b2c3"], bad: ["", "#ffff", "#ggg", "##fff"] },
  rgbcolor: {
    reason: "three bytes",
    good: ["rgb(0,0,0)", "rgb( 255 , 10,\t9 )"],
    bad: ["rgb(256,0,0)", "rgb(00,0,0)", "rgb(0,0)", "RGB(0,0,0)", "rgb(0,0,0"],
  },
  "k8s-short-name": {
    reason: "a label",
    good: ["a", "a-1", "1", "a".repeat(63)],
    bad: ["", "-a", "a-", "A", "a.b", "a".repeat(64)],
  },
  "k8s-long-name": {
    reason: "labels and dots",
    good: ["a", "a.b-c", "a".repeat(253)],
    bad: ["", "a..b", ".a", "a-.b", "a".repeat(254)],
  },
  password: { reason: "anything", good: ["", "x"], bad: [] },
};

for (const [format, { reason, good, bad }] of Object.entries(rows)) {
  test(`format ${format}: ${reason}`, () => {
    const check = stringFormatCheck(format);
    assert.ok(check);
    assert.deepEqual(
      good.filter((text) => !check(text)),
      [],
      "should be accepted",
    );
    assert.deepEqual(
      bad.filter((text) => check(text)),
      [],
      "should be refused",
    );
  });
}
