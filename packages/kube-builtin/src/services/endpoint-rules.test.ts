// SPDX-License-Identifier: Apache-2.0
// Endpoints and EndpointSlices. The texts are those of kube-apiserver 1.36.
import assert from "node:assert/strict";
import { test } from "node:test";
import { fieldErrorText } from "@purlin/kube-objects/errors";
import type { JsonObject } from "@purlin/kube-objects/json";
import {
  dns1123LabelProblems,
  dns1123SubdomainProblems,
  labelKeyProblems,
  labelValueProblems,
} from "@purlin/kube-objects/metadata";
import { endpointSliceRules, endpointsRules, specialErrors } from "./endpoint-rules.ts";

type Case = readonly [name: string, object: JsonObject, want: readonly string[]];

const [labelText, subdomainText] = [String(dns1123LabelProblems("A")), String(dns1123SubdomainProblems("A"))];
const portText = "must be between 1 and 65535, inclusive";
const addressText = "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)";

test("addresses that are local to each machine are refused", () => {
  const body = (address: string): string | undefined => specialErrors(address, "a")[0]?.body;
  assert.equal(body("10.0.0.1"), undefined);
  assert.equal(body("0.0.0.0"), 'Invalid value: "0.0.0.0": may not be unspecified (0.0.0.0)');
  assert.equal(
    body("127.0.0.1"),
    'Invalid value: "127.0.0.1": may not be in the loopback range (127.0.0.0/8, ::1/128)',
  );
  assert.equal(
    body("fe80::1"),
    'Invalid value: "fe80::1": may not be in the link-local range (169.254.0.0/16, fe80::/10)',
  );
  assert.equal(
    body("224.0.0.7"),
    'Invalid value: "224.0.0.7": may not be in the link-local multicast range (224.0.0.0/24, ff02::/10)',
  );
});

const subsets: readonly Case[] = [
  ["a plain one", { addresses: [{ ip: "10.0.0.1" }], ports: [{ port: 80, protocol: "TCP" }] }, []],
  ["no addresses", { ports: [{ port: 80 }] }, ["s: Required value: must specify `addresses` or `notReadyAddresses`"]],
  ["only addresses that are not ready", { notReadyAddresses: [{ ip: "10.0.0.1" }] }, []],
  [
    "a text that is not an address, reported twice",
    { addresses: [{ ip: "x" }] },
    [
      `s.addresses[0].ip: Invalid value: "x": ${addressText}`,
      's.addresses[0].ip: Invalid value: "x": must be a valid IP address',
    ],
  ],
  [
    "an address with zeros in front",
    { addresses: [{ ip: "010.0.0.1" }] },
    ['s.addresses[0].ip: Invalid value: "010.0.0.1": must not have leading 0s'],
  ],
  [
    "names",
    { notReadyAddresses: [{ ip: "10.0.0.1", hostname: "A", nodeName: "A" }] },
    [
      `s.notReadyAddresses[0].hostname: Invalid value: "A": ${labelText}`,
      `s.notReadyAddresses[0].nodeName: Invalid value: "A": ${subdomainText}`,
    ],
  ],
  [
    "several ports, which then have names",
    { addresses: [{ ip: "10.0.0.1" }], ports: [{ port: 1, name: "a" }, { port: 0 }] },
    ["s.ports[1].name: Required value", `s.ports[1].port: Invalid value: 0: ${portText}`],
  ],
  [
    "an invalid port",
    { addresses: [{ ip: "10.0.0.1" }], ports: [{ port: 65536, name: "A", protocol: "ICMP", appProtocol: "" }] },
    [
      `s.ports[0].name: Invalid value: "A": ${labelText}`,
      `s.ports[0].port: Invalid value: 65536: ${portText}`,
      's.ports[0].protocol: Unsupported value: "ICMP": supported values: "SCTP", "TCP", "UDP"',
      ...labelKeyProblems("").map((problem) => `s.ports[0].appProtocol: Invalid value: "": ${problem}`),
    ],
  ],
];

for (const [name, subset, want] of subsets) {
  test(`a subset of Endpoints: ${name}`, () => {
    const errors = endpointsRules.validate?.({ subsets: [subset] }) ?? [];
    assert.deepEqual(
      errors.map((error) => fieldErrorText(error).replace("subsets[0]", "s")),
      want,
    );
  });
}

const slice = (addressType: string, ...endpoints: JsonObject[]): JsonObject => ({ addressType, endpoints });
const fresh = (object: JsonObject): string[] => (endpointSliceRules.validateNew?.(object) ?? []).map(fieldErrorText);
const at = "endpoints[0].addresses";

const addresses: readonly (readonly [type: string, address: string, want: readonly string[]])[] = [
  ["IPv4", "10.0.0.1", []],
  ["IPv4", "fd00::1", [`${at}: Invalid value: "fd00::1": must be an IPv4 address`]],
  [
    "IPv4",
    "127.0.0.1",
    [`${at}[0]: Invalid value: "127.0.0.1": may not be in the loopback range (127.0.0.0/8, ::1/128)`],
  ],
  ["IPv6", "fd00::1", []],
  ["IPv6", "10.0.0.1", [`${at}: Invalid value: "10.0.0.1": must be an IPv6 address`]],
  ["IPv6", "FD00::1", [`${at}[0]: Invalid value: "FD00::1": must be in canonical form ("fd00::1")`]],
  ["IPv6", "x", [`${at}[0]: Invalid value: "x": ${addressText}`]],
  ["FQDN", "a.example.org", []],
  ["FQDN", "a.example.org.", []],
  ["FQDN", "", [`${at}[0]: Required value`]],
  [
    "FQDN",
    "localhost",
    [`${at}[0]: Invalid value: "localhost": should be a domain with at least two segments separated by dots`],
  ],
  ["FQDN", "A.example.org", [`${at}[0]: Invalid value: "A.example.org": ${subdomainText}`]],
  [
    "FQDN",
    `${"a".repeat(64)}.org`,
    [`${at}[0]: Invalid value: "${"a".repeat(64)}": must be no more than 63 characters`],
  ],
  ["other", "anything", []],
];

for (const [type, address, want] of addresses) {
  test(`the address ${JSON.stringify(address).slice(0, 30)} of the type ${type}`, () => {
    assert.deepEqual(fresh(slice(type, { addresses: [address] })), want);
  });
}

test("an endpoint has 1 to 100 addresses, a slice up to 1,000 endpoints and 20,000 ports", () => {
  const many = (count: number): string[] => Array.from({ length: count }, (_, index) => `10.0.0.${index + 1}`);
  assert.deepEqual(fresh(slice("IPv4", { addresses: many(100) })), []);
  assert.deepEqual(fresh(slice("IPv4", { addresses: many(101) })), [
    `${at}: Too many: 101: must have at most 100 items`,
  ]);
  assert.deepEqual(fresh(slice("IPv4", {})), [`${at}: Required value: must contain at least 1 address`]);
  const endpoints = (count: number): string[] =>
    fresh(slice("IPv4", ...Array<JsonObject>(count).fill({ addresses: ["10.0.0.1"] })));
  assert.deepEqual(endpoints(1000), []);
  assert.deepEqual(endpoints(1001), ["endpoints: Too many: 1001: must have at most 1000 items"]);
  const ports = (count: number): string[] =>
    (
      endpointSliceRules.validate?.({
        addressType: "IPv4",
        ports: Array.from({ length: count }, (_, index) => ({ name: `p${index}` })),
      }) ?? []
    ).map(fieldErrorText);
  assert.deepEqual(ports(20_000), []);
  assert.deepEqual(ports(20_001), ["ports: Too many: 20001: must have at most 20000 items"]);
});

test("the names and hints of an endpoint", () => {
  const endpoint = (more: JsonObject): string[] =>
    fresh(slice("IPv4", { addresses: ["10.0.0.1"], ...more })).map((text) => text.replace("endpoints[0]", "e"));
  const zones = (count: number): JsonObject[] => Array.from({ length: count }, (_, index) => ({ name: `z${index}` }));
  assert.deepEqual(endpoint({ hostname: "A", nodeName: "A" }), [
    `e.nodeName: Invalid value: "A": ${subdomainText}`,
    `e.hostname: Invalid value: "A": ${labelText}`,
  ]);
  assert.deepEqual(endpoint({ hints: { forZones: zones(8), forNodes: zones(8) } }), []);
  assert.deepEqual(endpoint({ hints: { forZones: [{ name: "a" }, { name: "a" }, { name: "a b" }] } }), [
    'e.hints.forZones[1].name: Duplicate value: "a"',
    `e.hints.forZones[2].name: Invalid value: "a b": ${String(labelValueProblems("a b"))}`,
  ]);
  assert.deepEqual(endpoint({ hints: { forNodes: [{ name: "A" }] } }), [
    `e.hints.forNodes[0].name: Invalid value: "A": ${subdomainText}`,
  ]);
  assert.deepEqual(endpoint({ hints: { forZones: zones(9), forNodes: [{ name: "A" }] } }), [
    "e.hints.forZones: Too many: 9: must have at most 8 items",
  ]);
  assert.deepEqual(endpoint({ hints: { forNodes: zones(9) } }), [
    "e.hints.forNodes: Too many: 9: must have at most 8 items",
  ]);
});

test("the type and the ports of a slice", () => {
  const errors = (object: JsonObject): string[] => (endpointSliceRules.validate?.(object) ?? []).map(fieldErrorText);
  assert.deepEqual(errors({}), ["addressType: Required value"]);
  assert.deepEqual(errors({ addressType: "x" }), [
    'addressType: Unsupported value: "x": supported values: "FQDN", "IPv4", "IPv6"',
  ]);
  assert.deepEqual(
    errors({ addressType: "IPv4", ports: [{ name: "a" }, { name: "a", protocol: "x" }, {}, {}, { name: "A" }] }),
    [
      'ports[1].name: Duplicate value: "a"',
      'ports[1].protocol: Unsupported value: "x": supported values: "SCTP", "TCP", "UDP"',
      'ports[3].name: Duplicate value: ""',
      `ports[4].name: Invalid value: "A": ${labelText}`,
    ],
  );
});

test("endpoints that do not change are not validated again, and the type stays", () => {
  const change = (now: JsonObject, old: JsonObject): string[] =>
    (endpointSliceRules.validateChange?.(now, old, "") ?? []).map(fieldErrorText);
  const invalid = slice("IPv4", { addresses: ["127.0.0.1"] });
  assert.deepEqual(change(invalid, invalid), []);
  assert.equal(change(slice("IPv4", { addresses: ["127.0.0.2"] }), invalid).length, 1);
  assert.deepEqual(change(slice("IPv6"), slice("IPv4")), ['addressType: Invalid value: "IPv6": field is immutable']);
});

test("names as endpoints give a warning, and the older form of topology is dropped", () => {
  assert.deepEqual(endpointSliceRules.warnings?.(slice("FQDN"), undefined, ""), [
    "spec.addressType: FQDN endpoints are deprecated",
  ]);
  assert.deepEqual(endpointSliceRules.warnings?.(slice("IPv4"), undefined, ""), []);
  const old = slice("IPv4", { addresses: ["10.0.0.1"], deprecatedTopology: { a: "b" } });
  assert.deepEqual(endpointSliceRules.withoutDisabled?.(old), slice("IPv4", { addresses: ["10.0.0.1"] }));
});
