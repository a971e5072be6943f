// SPDX-License-Identifier: Apache-2.0
// Every error of net/netip with the text from the first wrong character on, and addresses at the limits of the syntax.
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import fc from "fast-check";
import { cidrOf, formatIpAddress, IpSyntaxError, ipAddressOf, parseCidr, parseIpAddress } from "./ip-address.ts";

const problemOf = (parse: () => unknown): readonly [message: string, rest: string, of: string] => {
  try {
    parse();
  } catch (error) {
    if (error instanceof IpSyntaxError) return [error.message, error.rest, error.of];
    throw error;
  }
  return assert.fail("it was accepted");
};

describe("an address that is wrong", () => {
  const noDigit = "IPv4 field must have at least one digit";
  const noHexDigit = "each colon-separated field must have at least one digit";
  const embedded = "embedded IPv4 address must replace the final 2 fields of the address";
  const wrong: Readonly<Record<string, readonly [message: string, rest: string]>> = {
    "": ["unable to parse IP", ""],
    localhost: ["unable to parse IP", ""],
    "10": ["unable to parse IP", ""],
    "%eth0": ["missing IPv6 address", ""],
    ".1.2.3": [noDigit, ".1.2.3"],
    "1..2.3": [noDigit, ".2.3"],
    "1.2.3.": [noDigit, "."],
    "1.2.3.4.": [noDigit, "."],
    "1.2.3.4.5": ["IPv4 address too long", ""],
    "1.2.3": ["IPv4 address too short", ""],
    "1.2.3.4%eth0": ["unexpected character", "%eth0"],
    "1.2.3.4/8": ["unexpected character", "/8"],
    "1.2.3.-4": ["unexpected character", "-4"],
    "1.2.3.٤": ["unexpected character", "٤"],
    "1.2.3.00": ["IPv4 field has octet with leading zero", ""],
    "1.2.3.256": ["IPv4 field has value >255", ""],
    ":": [noHexDigit, ":"],
    ":1": [noHexDigit, ":1"],
    ":::": [noHexDigit, ":"],
    "g::": [noHexDigit, "g::"],
    "::g": [noHexDigit, "g"],
    "1:": ["colon must be followed by more characters", ":"],
    "1:2:3:4:5:6:7:8:": ["colon must be followed by more characters", ":"],
    "1:2x": ["unexpected character, want colon", "x"],
    "1::2::3": ["multiple :: in address", ":3"],
    "12345::": ["each group must have 4 or less digits", "12345::"],
    "1:00000::": ["each group must have 4 or less digits", "00000::"],
    "1:2:3:4:5:6:7": ["address string too short", ""],
    "1:2:3:4:5:6:7:8:9": ["trailing garbage after address", "9"],
    "1:2:3:4:5:6:7:8::": ["the :: must expand to at least one field of zeros", ""],
    "::1:2:3:4:5:6:7:8": ["the :: must expand to at least one field of zeros", ""],
    "1:2:3:4:5:6:7:1.2.3.4": [embedded, "1.2.3.4"],
    "1:1.2.3.4": [embedded, "1.2.3.4"],
    "1::2:3:4:5:6:7:1.2.3.4": ["too many hex fields to fit an embedded IPv4 at the end of the address", "1.2.3.4"],
    "::1:2:3:4:5:6:1.2.3.4": ["the :: must expand to at least one field of zeros", ""],
    "::1.2.3": ["IPv4 address too short", ""],
    "::1.2.3.4:5": ["unexpected character", ":5"],
    "::1.2.3.256": ["IPv4 field has value >255", ""],
    "::%": ["zone must be a non-empty string", ""],
  };
  for (const [text, [message, rest]] of Object.entries(wrong)) {
    test(`${JSON.stringify(text)}: ${message}`, () => {
      assert.deepEqual(
        problemOf(() => parseIpAddress(text)),
        [message, rest, "address"],
      );
      assert.equal(ipAddressOf(text), undefined);
    });
  }
});

describe("an address is printed in its canonical form (RFC 5952)", () => {
  const canonical: Readonly<Record<string, string>> = {
    "0.0.0.0": "0.0.0.0",
    "255.255.255.255": "255.255.255.255",
    "1:2:3:4:5:6:7:8": "1:2:3:4:5:6:7:8",
    "1:0:3:4:5:6:7:8": "1:0:3:4:5:6:7:8",
    "1:0:0:4:5:6:7:8": "1::4:5:6:7:8",
    "0:0:0:4:0:0:0:0": "0:0:0:4::",
    "0:0:0:0:4:0:0:0": "::4:0:0:0",
    "1:0:0:4:0:0:7:8": "1::4:0:0:7:8",
    "1::": "1::",
    "::8": "::8",
    "1:2:3:4:5:6:7::": "1:2:3:4:5:6:7:0",
    "::2:3:4:5:6:7:8": "0:2:3:4:5:6:7:8",
    "ABCD:EF01::": "abcd:ef01::",
    "0001:002:03:4::": "1:2:3:4::",
    "::255.255.255.255": "::ffff:ffff",
    "1:2:3:4:5:6:1.2.3.4": "1:2:3:4:5:6:102:304",
    "fe80::1%25eth0": "fe80::1%25eth0",
    "1::2%a%b": "1::2%a%b",
  };
  for (const [text, printed] of Object.entries(canonical)) {
    test(`${text} is ${printed}`, () => assert.equal(formatIpAddress(parseIpAddress(text)), printed));
  }

  test("and the canonical form is the same address", () => {
    fc.assert(
      fc.property(fc.oneof(fc.ipV4(), fc.ipV6()), (text) => {
        const address = parseIpAddress(text);
        assert.deepEqual(parseIpAddress(formatIpAddress(address)), address);
      }),
    );
  });
});

test("an address is a number of its bits, with its zone", () => {
  assert.deepEqual(parseIpAddress("1.2.3.4"), { bits: 32, value: 0x01020304n, zone: "" });
  assert.deepEqual(parseIpAddress("::1%lo"), { bits: 128, value: 1n, zone: "lo" });
  assert.deepEqual(parseIpAddress("ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff").value, 2n ** 128n - 1n);
  assert.deepEqual(parseIpAddress("1::2").value, (1n << 112n) | 2n);
});

describe("a prefix", () => {
  test("has a length of 0 to the bits of its address", () => {
    for (const [text, length] of [
      ["0.0.0.0/0", 0],
      ["10.0.0.1/32", 32],
      ["::/0", 0],
      ["::1/128", 128],
      ["10.0.0.0/8", 8],
    ] as const) {
      assert.equal(parseCidr(text).length, length, text);
    }
    assert.equal(parseCidr("10.1.2.3/8").address.value, 0x0a010203n, "the bits behind the prefix stay");
  });

  const wrong: Readonly<Record<string, readonly [message: string, rest: string]>> = {
    "10.0.0.0": ["no '/'", ""],
    "10.0.0.0/": ["bad bits after slash", ""],
    "10.0.0.0/-1": ["bad bits after slash", "-1"],
    "10.0.0.0/+8": ["bad bits after slash", "+8"],
    "10.0.0.0/08": ["bad bits after slash", "08"],
    "10.0.0.0/8 ": ["bad bits after slash", "8 "],
    "10.0.0.0/1e1": ["bad bits after slash", "1e1"],
    "10.0.0.0/33": ["prefix length out of range", ""],
    "::/129": ["prefix length out of range", ""],
    "::/999999999999999999": ["prefix length out of range", ""],
    "::/9999999999999999999": ["bad bits after slash", "9999999999999999999"],
    "fe80::%eth0/64": ["IPv6 zones cannot be present in a prefix", ""],
  };
  for (const [text, [message, rest]] of Object.entries(wrong)) {
    test(`${JSON.stringify(text)}: ${message}`, () => {
      assert.deepEqual(
        problemOf(() => parseCidr(text)),
        [message, rest, "prefix"],
      );
      assert.equal(cidrOf(text), undefined);
    });
  }

  test("with a wrong address has the error of the address", () => {
    assert.deepEqual(
      problemOf(() => parseCidr("10.0.0/8")),
      ["IPv4 address too short", "", "address"],
    );
    assert.deepEqual(
      problemOf(() => parseCidr("10.0.0.0/8/8")),
      ["unexpected character", "/8", "address"],
    );
    assert.equal(problemOf(() => parseCidr("/8"))[0], "unable to parse IP");
  });
});
