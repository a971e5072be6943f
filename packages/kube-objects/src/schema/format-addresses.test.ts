// SPDX-License-Identifier: Apache-2.0
// Mail and network addresses at the edges of their grammars.
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import {
  isCidrFormat,
  isEmailFormat,
  isHostnameFormat,
  isIPAddress,
  isIPv4Format,
  isIPv6Format,
  isMacFormat,
} from "./format-addresses.ts";

type Check = (text: string) => boolean;

function testTexts(check: Check, good: Readonly<Record<string, string>>, bad: Readonly<Record<string, string>>): void {
  for (const [why, text] of Object.entries(good)) test(`accepted: ${why}`, () => assert.equal(check(text), true, text));
  for (const [why, text] of Object.entries(bad)) test(`refused: ${why}`, () => assert.equal(check(text), false, text));
}

describe("mail addresses", () => {
  testTexts(
    isEmailFormat,
    {
      "an address": "a@b.c",
      "a domain of one label": "a@localhost",
      "dots in the local part": "a.b.c@d.e",
      "all characters of an atom": "!#$%&'*+-/=?^_`{|}~@b.c",
      "letters beyond ASCII": "é@bücher.example",
      "white space around": " a@b.c ",
      "a display name": "A B <a@b.c>",
      "a display name in quotes": '"A, B." <a@b.c>',
      "an address in angle brackets alone": "<a@b.c>",
      "a quoted local part": '"a b"@c.d',
      "an escape in a quoted local part": '"a\\"b"@c.d',
      "an IPv4 address as the domain": "a@[1.2.3.4]",
      "an IPv6 address as the domain": "a@[::1]",
      "a comment behind the address": "a@b.c (comment)",
      "comments in comments": "a@b.c (one (two) three)",
      "an escaped parenthesis in a comment": "a@b.c (\\))",
      "a group of one address": "friends: a@b.c;",
      "a group of one address with a display name": "friends: A <a@b.c>;",
    },
    {
      "an empty text": "",
      "no at sign": "a.b.c",
      "no local part": "@b.c",
      "no domain": "a@",
      "two at signs": "a@b@c",
      "a dot in front": ".a@b.c",
      "a dot at the end of the local part": "a.@b.c",
      "two dots": "a..b@c.d",
      "a dot at the end of the domain": "a@b.c.",
      "a space in the local part": "a b@c.d",
      "an empty quoted local part": '""@b.c',
      "a quote that does not end": '"a@b.c',
      "an angle bracket that does not end": "A <a@b.c",
      "a display name without an address": "A B",
      "a comment that does not end": "a@b.c (comment",
      "text behind the address": "a@b.c d",
      "two addresses": "a@b.c, d@e.f",
      "a group of none": "friends:;",
      "a group of two": "friends: a@b.c, d@e.f;",
      "a group that does not end": "friends: a@b.c",
      "a group in a group": "one: two: a@b.c;;",
      "a host name in brackets": "a@[b.c]",
      "a control character": "a\u0001@b.c",
    },
  );
});

describe("IPv4 addresses", () => {
  testTexts(
    isIPv4Format,
    {
      "an address": "192.168.0.1",
      "zeros in front": "010.000.0.08",
      "the largest": "255.255.255.255",
      "an IPv6 address that ends in one": "::ffff:1.2.3.4",
    },
    {
      "an empty text": "",
      "three numbers": "1.2.3",
      "five numbers": "1.2.3.4.5",
      "a number beyond a byte": "1.2.3.256",
      "an IPv6 address": "::1",
      "white space": "1.2.3.4 ",
      "a zone": "::ffff:1.2.3.4%eth0",
      "a hexadecimal number": "0x1.2.3.4",
      "an empty number": "1..3.4",
    },
  );
});

describe("IPv6 addresses", () => {
  testTexts(
    isIPv6Format,
    {
      "a full address": "1:2:3:4:5:6:7:8",
      "a gap": "1::8",
      "nothing but a gap": "::",
      "capital letters": "FE80::ABCD",
      "an IPv4 address at the end": "64:ff9b::192.0.2.1",
    },
    {
      "an IPv4 address": "1.2.3.4",
      "two gaps": "1::2::3",
      "seven parts": "1:2:3:4:5:6:7",
      "nine parts": "1:2:3:4:5:6:7:8:9",
      "a gap in a full address": "1:2:3:4::5:6:7:8",
      "five digits": "12345::",
      "a letter beyond f": "::g",
      "a zone": "fe80::1%eth0",
      "a zero in front of an IPv4 number": "::ffff:01.2.3.4",
      brackets: "[::1]",
    },
  );

  test("any address is of one of the two", () => {
    assert.deepEqual(["1.2.3.4", "::1", "01.2.3.4", "fe80::1%0", "host"].map(isIPAddress), [
      true,
      true,
      false,
      false,
      false,
    ]);
  });
});

describe("ranges of addresses", () => {
  testTexts(
    isCidrFormat,
    {
      "a range": "10.0.0.0/8",
      "an address within it": "10.1.2.3/8",
      "the longest prefixes": "1.2.3.4/32",
      "an IPv6 range": "2001:db8::/128",
      "no prefix": "0.0.0.0/0",
      "zeros in front": "010.0.0.0/08",
    },
    {
      "an address": "10.0.0.0",
      "a prefix that is too long": "10.0.0.0/33",
      "an IPv6 prefix that is too long": "::/129",
      "a negative prefix": "10.0.0.0/-1",
      "an empty prefix": "10.0.0.0/",
      "a mask": "10.0.0.0/255.0.0.0",
      "two prefixes": "10.0.0.0/8/8",
    },
  );
});

describe("hardware addresses", () => {
  testTexts(
    isMacFormat,
    {
      "6 bytes with colons": "00:1A:2b:3c:4d:5e",
      "6 bytes with dashes": "00-1a-2b-3c-4d-5e",
      "6 bytes with dots": "001a.2b3c.4d5e",
      "8 bytes": "02:00:5e:10:00:00:00:01",
      "20 bytes": Array.from({ length: 20 }, () => "ab").join(":"),
    },
    {
      "an empty text": "",
      "5 bytes": "00:1a:2b:3c:4d",
      "7 bytes": "00:1a:2b:3c:4d:5e:6f",
      "mixed separators": "00:1a-2b:3c:4d:5e",
      "no separators": "001a2b3c4d5e",
      "a single digit": "0:1a:2b:3c:4d:5e",
      "a letter beyond f": "00:1a:2b:3c:4d:5g",
      "a separator at the end": "00:1a:2b:3c:4d:5e:",
    },
  );
});

describe("host names", () => {
  const label = (length: number): string => "a".repeat(length);
  testTexts(
    isHostnameFormat,
    {
      "a label": "host",
      "a name": "www.example.com",
      "capital letters and digits": "A1.B2.Com",
      "dashes inside": "a-b.c-d.org",
      "letters beyond ASCII": "bücher.example",
      "a label of 63 characters": `${label(63)}.com`,
      "one label of digits": "123",
    },
    {
      "an empty text": "",
      "a dash in front": "-a.com",
      "a dash at the end of a label": "a-.com",
      "an underscore": "a_b.com",
      "two dots": "a..com",
      "a dot at the end": "a.com.",
      "a top-level domain of digits": "a.123",
      "a top-level domain of one letter": "a.b",
      "a label of 64 characters": `${label(64)}.com`,
      "more than 255 bytes": `${Array.from({ length: 64 }, () => "aaa").join(".")}.com`,
      "a space": "a b.com",
    },
  );
});

test("hostile addresses are judged in time linear in their length", () => {
  assert.equal(isEmailFormat(`a@b.c ${"(".repeat(500_000)}`), false);
  assert.equal(isEmailFormat(`${"a.".repeat(500_000)}@`), false);
  assert.equal(isHostnameFormat("a-".repeat(500_000)), false);
  assert.equal(isMacFormat("00:".repeat(500_000)), false);
});
