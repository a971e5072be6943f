// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { isIP } from "node:net";
import { test } from "node:test";
import fc from "fast-check";
import {
  cidrOf,
  formatIpAddress,
  IpSyntaxError,
  ipAddressOf,
  isMappedIPv4,
  parseCidr,
  parseIpAddress,
} from "./ip-address.ts";

const canonical: Record<string, string> = {
  "10.9.8.7": "10.9.8.7",
  "::": "::",
  "0:0:0:0:0:0:0:1": "::1",
  "2001:DB8:0:0:1:0:0:1": "2001:db8::1:0:0:1",
  "::ffff:10.1.2.3": "::ffff:a01:203",
  "fe80::1%eth0": "fe80::1%eth0",
};
for (const [text, want] of Object.entries(canonical)) {
  test(`${text} is printed as ${want}`, () => assert.equal(formatIpAddress(parseIpAddress(text)), want));
}

const wrong: Record<string, string> = {
  "": "unable to parse IP",
  "1.2.3": "IPv4 address too short",
  "1.2.3.4.5": "IPv4 address too long",
  "1.2.3.256": "IPv4 field has value >255",
  "1.2.03.4": "IPv4 field has octet with leading zero",
  "::12345": "each group must have 4 or less digits",
  "1::2::3": "multiple :: in address",
  "1:2:3:4:5:6:7:8:9": "trailing garbage after address",
  "1:2:3:4:5:6:7::8": "the :: must expand to at least one field of zeros",
  "fe80::1%": "zone must be a non-empty string",
};
for (const [text, message] of Object.entries(wrong)) {
  test(`"${text}" is not an address: ${message}`, () => {
    assert.throws(() => parseIpAddress(text), { message });
    assert.equal(ipAddressOf(text), undefined);
  });
}

test("leading zeros are accepted on request, in addresses and prefixes", () => {
  const syntax = { leadingZeros: true };
  const read = (text: string): string => formatIpAddress(parseIpAddress(text, syntax));
  assert.equal(read("010.009.0000.255"), "10.9.0.255");
  assert.equal(read("00001::00000db8"), "1::db8");
  assert.equal(cidrOf("010.0.0.0/08", syntax)?.length, 8);
  assert.equal(cidrOf("010.0.0.0/8"), undefined);
  assert.equal(cidrOf("10.0.0.0/08"), undefined);
  assert.equal(ipAddressOf("256.1.1.1", syntax), undefined);
});

const prefixes: Record<string, { message: string; of: "address" | "prefix" }> = {
  "10.0.0.0": { message: "no '/'", of: "prefix" },
  "10.0.0/8": { message: "IPv4 address too short", of: "address" },
  "10.0.0.0/33": { message: "prefix length out of range", of: "prefix" },
  "::/129": { message: "prefix length out of range", of: "prefix" },
  "10.0.0.0/x": { message: "bad bits after slash", of: "prefix" },
  "fe80::1%eth0/64": { message: "IPv6 zones cannot be present in a prefix", of: "prefix" },
};
for (const [text, { message, of }] of Object.entries(prefixes)) {
  test(`"${text}" is not a prefix: ${message}`, () => {
    assert.throws(
      () => parseCidr(text),
      (error) => error instanceof IpSyntaxError && error.message === message && error.of === of,
    );
  });
}

test("an IPv6 address may stand for an IPv4 address", () => {
  assert.equal(isMappedIPv4(parseIpAddress("::ffff:10.0.0.1")), true);
  assert.equal(isMappedIPv4(parseIpAddress("::fffe:10.0.0.1")), false);
  assert.equal(isMappedIPv4(parseIpAddress("10.0.0.1")), false);
});

test("Node accepts the same addresses", () => {
  const text = fc.oneof(fc.ipV4(), fc.ipV6(), fc.string({ unit: fc.constantFrom(..."0129af:.") }));
  fc.assert(fc.property(text, (one) => assert.equal(ipAddressOf(one) !== undefined, isIP(one) !== 0, one)));
});
