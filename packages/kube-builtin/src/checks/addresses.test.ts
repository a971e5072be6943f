// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import { fieldErrorText } from "@purlin/kube-objects/errors";
import type { JsonObject } from "@purlin/kube-objects/json";
import { dns1123SubdomainProblems } from "@purlin/kube-objects/metadata";
import {
  addressErrors,
  addressProblem,
  canonicalAddressProblem,
  isOfFamily,
  isStrictlyInside,
  loadBalancer,
  localKindOf,
  plainAddress,
  rangeErrors,
  rangeOf,
} from "./addresses.ts";

const invalid = "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)";

/** Each address with its plain form, its problem, and its problem where only the canonical form is accepted. */
const addresses: readonly (readonly [text: string, plain: string, problem: string | undefined, strict?: string])[] = [
  ["10.0.0.1", "10.0.0.1", undefined],
  ["010.0.0.1", "10.0.0.1", "must not have leading 0s"],
  ["10.0.0.00", "10.0.0.0", "must not have leading 0s"],
  ["256.0.0.1", "256.0.0.1", invalid],
  ["10.0.0", "10.0.0", invalid],
  ["", "", invalid],
  ["fd00::1", "fd00::1", undefined],
  ["FD00::1", "FD00::1", undefined, 'must be in canonical form ("fd00::1")'],
  ["fd00:0::1", "fd00:0::1", undefined, 'must be in canonical form ("fd00::1")'],
  ["::ffff:1.2.3.4", "1.2.3.4", "must not be an IPv4-mapped IPv6 address"],
  ["fe80::1%eth0", "fe80::1%eth0", invalid],
  ["1.2.3.4 ", "1.2.3.4 ", invalid],
  ["x", "x", invalid],
];

for (const [text, plain, problem, strict = problem] of addresses) {
  test(`the address ${JSON.stringify(text)}`, () => {
    assert.equal(plainAddress(text), plain);
    assert.equal(addressProblem(text), problem);
    assert.equal(canonicalAddressProblem(text), strict);
    const want = problem === undefined ? [] : [`a: Invalid value: ${JSON.stringify(text)}: ${problem}`];
    assert.deepEqual(addressErrors(text, "a").map(fieldErrorText), want);
  });
}

test("families of addresses", () => {
  assert.deepEqual(
    ["1.2.3.4", "01.2.3.4", "::1", "x", "fe80::1%a"].map((text) => [isOfFamily(text, 4), isOfFamily(text, 6)]),
    [
      [true, false],
      [true, false],
      [false, true],
      [false, false],
      [false, false],
    ],
  );
});

const kinds: Readonly<Record<string, string | undefined>> = {
  "0.0.0.0": "unspecified",
  "::": "unspecified",
  "0:0:0:0:0:0:0:0": "unspecified",
  "127.0.0.1": "loopback",
  "127.255.255.255": "loopback",
  "128.0.0.1": undefined,
  "::1": "loopback",
  "0:0::1": "loopback",
  "::2": undefined,
  "::ffff:127.0.0.1": "loopback",
  "169.254.1.1": "link-local",
  "169.255.1.1": undefined,
  "fe80::1": "link-local",
  "FEBF::1": "link-local",
  "fec0::1": undefined,
  "224.0.0.1": "link-local multicast",
  "224.0.1.1": undefined,
  "ff02::1": "link-local multicast",
  "ff12::1": "link-local multicast",
  "ff05::1": undefined,
  x: undefined,
};

for (const [text, want] of Object.entries(kinds)) {
  test(`the kind of the address ${text}`, () => {
    assert.equal(localKindOf(text), want);
  });
}

const ranges: readonly (readonly [text: string, problem: string | undefined, canonical?: string])[] = [
  ["10.0.0.0/8", undefined],
  ["10.0.0.0/0", "must not have bits set beyond the prefix length"],
  ["0.0.0.0/0", undefined],
  ["10.0.0.1/8", "must not have bits set beyond the prefix length"],
  ["10.0.0.1/32", undefined],
  ["10.0.0.0/33", "must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)"],
  ["10.0.0.0", "must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)"],
  ["010.0.0.0/8", "must not have leading 0s in IP or prefix length"],
  ["10.0.0.0/08", "must not have leading 0s in IP or prefix length"],
  ["::ffff:10.0.0.0/104", "must not have an IPv4-mapped IPv6 address"],
  ["fd00::/8", undefined],
  ["FD00::/8", undefined, 'must be in canonical form ("fd00::/8")'],
  ["fd00::1/8", "must not have bits set beyond the prefix length"],
  ["fd00::/129", "must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)"],
];

for (const [text, problem, canonical = problem] of ranges) {
  test(`the range ${text}`, () => {
    const lines = (why: string | undefined): string[] =>
      why === undefined ? [] : [`r: Invalid value: "${text}": ${why}`];
    assert.deepEqual(rangeErrors(text, "r").map(fieldErrorText), lines(problem));
    assert.deepEqual(rangeErrors(text, "r", { canonical: true }).map(fieldErrorText), lines(canonical));
  });
}

test("a range is inside another one when it is smaller and has its prefix", () => {
  const inside = (inner: string, outer: string): boolean => {
    const [a, b] = [rangeOf(inner), rangeOf(outer)];
    return a !== undefined && b !== undefined && isStrictlyInside(a, b);
  };
  assert.equal(inside("10.1.0.0/16", "10.0.0.0/8"), true);
  assert.equal(inside("10.0.0.0/8", "10.0.0.0/8"), false, "not smaller");
  assert.equal(inside("11.0.0.0/16", "10.0.0.0/8"), false, "beside it");
  assert.equal(inside("10.0.0.0/8", "10.1.0.0/16"), false, "the other way round");
  assert.equal(inside("a00::/16", "10.0.0.0/8"), false, "another family");
  assert.equal(inside("fd00::/16", "fd00::/8"), true);
});

test("a load balancer has valid addresses and names that are not addresses", () => {
  const errors = (...ingress: JsonObject[]): string[] =>
    loadBalancer({ loadBalancer: { ingress } }, "s").map(fieldErrorText);
  assert.deepEqual(errors({ ip: "1.2.3.4" }, { hostname: "a.example.org" }, {}), []);
  assert.deepEqual(errors({ ip: "x", hostname: "A" }), [
    `s.loadBalancer.ingress[0].ip: Invalid value: "x": ${invalid}`,
    `s.loadBalancer.ingress[0].hostname: Invalid value: "A": ${String(dns1123SubdomainProblems("A"))}`,
  ]);
  assert.deepEqual(errors({ hostname: "1.2.3.4" }), [
    's.loadBalancer.ingress[0].hostname: Invalid value: "1.2.3.4": must be a DNS name, not an IP address',
  ]);
});
