// SPDX-License-Identifier: Apache-2.0
// NetworkPolicies, IngressClasses, IPAddresses and ServiceCIDRs. The texts are those of kube-apiserver 1.36.
import assert from "node:assert/strict";
import { test } from "node:test";
import { fieldErrorText } from "@purlin/kube-objects/errors";
import type { JsonObject } from "@purlin/kube-objects/json";
import { dns1123LabelProblems, dns1123SubdomainProblems } from "@purlin/kube-objects/metadata";
import { networkingKinds } from "./networking-kinds.ts";

type Case = readonly [name: string, object: JsonObject, want: readonly string[]];

const kindOf = (kind: string) => networkingKinds.find(({ type }) => type.kind === kind) ?? assert.fail(kind);
const rulesOf = (kind: string) => kindOf(kind).rules ?? assert.fail(kind);
const errorsOf = (kind: string, object: JsonObject): string[] =>
  (rulesOf(kind).validate?.(object) ?? []).map(fieldErrorText);
const changeOf = (kind: string, now: JsonObject, old: JsonObject): string[] =>
  (rulesOf(kind).validateChange?.(now, old, "") ?? []).map(fieldErrorText);
const [labelText, subdomainText] = [String(dns1123LabelProblems("A")), String(dns1123SubdomainProblems("A"))];
const portText = "must be between 1 and 65535, inclusive";

const ports: readonly Case[] = [
  ["nothing", {}, []],
  ["a number", { protocol: "SCTP", port: 80 }, []],
  ["a name", { port: "http" }, []],
  ["a range", { port: 80, endPort: 80 }, []],
  [
    "an unknown protocol",
    { protocol: "ICMP" },
    ['p.protocol: Unsupported value: "ICMP": supported values: "TCP", "UDP", "SCTP"'],
  ],
  ["a number out of range", { port: 65536 }, [`p.port: Invalid value: 65536: ${portText}`]],
  [
    "an invalid name",
    { port: "HTTP" },
    [
      'p.port: Invalid value: "HTTP": must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)',
      'p.port: Invalid value: "HTTP": must contain at least one letter (a-z)',
    ],
  ],
  [
    "a range that ends before it starts, reported with its start",
    { port: 80, endPort: 79 },
    ["p.endPort: Invalid value: 80: must be greater than or equal to `port`"],
  ],
  ["a range that ends too late", { port: 80, endPort: 65536 }, [`p.endPort: Invalid value: 65536: ${portText}`]],
  [
    "an end without a start",
    { endPort: 80 },
    ["p.endPort: Invalid value: 80: may not be specified when `port` is not specified"],
  ],
  [
    "an end after a name",
    { port: "http", endPort: 80 },
    ["p.endPort: Invalid value: 80: may not be specified when `port` is non-numeric"],
  ],
];

for (const [name, port, want] of ports) {
  test(`a port of a NetworkPolicy: ${name}`, () => {
    for (const list of ["ingress", "egress"]) {
      const errors = errorsOf("NetworkPolicy", { spec: { [list]: [{ ports: [port] }] } });
      assert.deepEqual(
        errors.map((text) => text.replace(`spec.${list}[0].ports[0]`, "p")),
        want,
      );
    }
  });
}

const peers: readonly Case[] = [
  ["selectors", { podSelector: {}, namespaceSelector: { matchLabels: { a: "b" } } }, []],
  ["a block", { ipBlock: { cidr: "10.0.0.0/8", except: ["10.1.0.0/16"] } }, []],
  ["nothing", {}, ["p: Required value: must specify a peer"]],
  [
    "a block and a selector",
    { podSelector: {}, ipBlock: { cidr: "10.0.0.0/8" } },
    ["p: Forbidden: may not specify both ipBlock and another peer"],
  ],
  [
    "an invalid selector",
    { podSelector: { matchExpressions: [{ key: "a", operator: "x" }] } },
    ['p.podSelector.matchExpressions[0].operator: Invalid value: "x": not a valid selector operator'],
  ],
  ["a block without a range", { ipBlock: {} }, ["p.ipBlock.cidr: Required value"]],
  [
    "an invalid range",
    { ipBlock: { cidr: "x", except: ["y"] } },
    ['p.ipBlock.cidr: Invalid value: "x": must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)'],
  ],
  [
    "exceptions that are not inside",
    { ipBlock: { cidr: "10.0.0.0/8", except: ["10.0.0.0/8", "11.0.0.0/16", "z"] } },
    [
      'p.ipBlock.except[0]: Invalid value: "10.0.0.0/8": must be a strict subset of `cidr`',
      'p.ipBlock.except[1]: Invalid value: "11.0.0.0/16": must be a strict subset of `cidr`',
      'p.ipBlock.except[2]: Invalid value: "z": must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)',
    ],
  ],
];

for (const [name, peer, want] of peers) {
  test(`a peer of a NetworkPolicy: ${name}`, () => {
    for (const [list, member] of [
      ["ingress", "from"],
      ["egress", "to"],
    ] as const) {
      const errors = errorsOf("NetworkPolicy", { spec: { [list]: [{ [member]: [peer] }] } });
      assert.deepEqual(
        errors.map((text) => text.replace(`spec.${list}[0].${member}[0]`, "p")),
        want,
      );
    }
  });
}

test("the types of a NetworkPolicy", () => {
  const types = (...policyTypes: string[]): string[] => errorsOf("NetworkPolicy", { spec: { policyTypes } });
  assert.deepEqual(types("Egress", "Ingress"), []);
  assert.deepEqual(types("Ingress", "x"), [
    'spec.policyTypes[1]: Unsupported value: "x": supported values: "Ingress", "Egress"',
  ]);
  assert.deepEqual(types("x", "x", "x"), [
    'spec.policyTypes: Invalid value: ["x","x","x"]: may not specify more than two policyTypes',
  ]);
});

const prefixed = 'must be a domain-prefixed path (such as "acme.io/foo")';
const controllers: Readonly<Record<string, readonly string[]>> = {
  "example.org/a/b": [],
  "": ["spec.controller: Required value"],
  example: [`spec.controller: Invalid value: "example": ${prefixed}`],
  "/a": [`spec.controller: Invalid value: "/a": ${prefixed}`],
  "example.org/": [`spec.controller: Invalid value: "example.org/": ${prefixed}`],
  "A/b c": [
    `spec.controller: Invalid value: "A": ${subdomainText}`,
    `spec.controller: Invalid value: "b c": Invalid path (regex used for validation is '[A-Za-z0-9/\\-._~%!$&'()*+,;=:]+')`,
  ],
  [`a/${"b".repeat(248)}`]: [],
  [`a/${"b".repeat(249)}`]: ["spec.controller: Too long: may not be more than 250 bytes"],
};

for (const [controller, want] of Object.entries(controllers)) {
  test(`the controller ${JSON.stringify(controller).slice(0, 30)} of an IngressClass`, () => {
    assert.deepEqual(errorsOf("IngressClass", { spec: { controller } }), want);
  });
}

const reference = { kind: "K", name: "n" };
const parameters: readonly Case[] = [
  ["of the cluster", { ...reference, scope: "Cluster" }, []],
  ["of a namespace", { ...reference, apiGroup: "a.b", scope: "Namespace", namespace: "n" }, []],
  ["without a scope", reference, ["p.scope: Required value"]],
  [
    "of an unknown scope",
    { ...reference, scope: "x" },
    ['p.scope: Unsupported value: "x": supported values: "Cluster", "Namespace"'],
  ],
  [
    "of the cluster with a namespace",
    { ...reference, scope: "Cluster", namespace: "n" },
    ["p.namespace: Forbidden: `parameters.scope` is set to 'Cluster'"],
  ],
  [
    "of a namespace without one",
    { ...reference, scope: "Namespace" },
    ["p.namespace: Required value: `parameters.scope` is set to 'Namespace'"],
  ],
  [
    "of an invalid namespace",
    { ...reference, scope: "Namespace", namespace: "A" },
    [`p.namespace: Invalid value: "A": ${labelText}`],
  ],
  [
    "that do not say what they are",
    { apiGroup: "A", scope: "Cluster" },
    [`p.apiGroup: Invalid value: "A": ${subdomainText}`, "p.kind: Required value", "p.name: Required value"],
  ],
  [
    "with names that no path can have",
    { kind: "..", name: "a/b", scope: "Cluster" },
    ["p.kind: Invalid value: \"..\": may not be '..'", "p.name: Invalid value: \"a/b\": may not contain '/'"],
  ],
];

for (const [name, object, want] of parameters) {
  test(`parameters of an IngressClass ${name}`, () => {
    const errors = errorsOf("IngressClass", { spec: { controller: "a/b", parameters: object } });
    assert.deepEqual(
      errors.map((text) => text.replace("spec.parameters", "p")),
      want,
    );
  });
}

test("the controller of an IngressClass stays", () => {
  const spec = (controller: string): JsonObject => ({ spec: { controller } });
  assert.deepEqual(changeOf("IngressClass", spec("a/b"), spec("a/b")), []);
  assert.deepEqual(changeOf("IngressClass", spec("a/c"), spec("a/b")), [
    'spec.controller: Invalid value: "a/c": field is immutable',
  ]);
  assert.deepEqual(changeOf("IngressClass", { spec: {} }, spec("a/b")), [
    'spec.controller: Invalid value: "": field is immutable',
  ]);
});

test("the name of an IPAddress is an address in canonical form", () => {
  const problems = (name: string): readonly string[] => kindOf("IPAddress").type.rules.name(name, false);
  assert.deepEqual([problems("10.0.0.1"), problems("fd00::1")], [[], []]);
  assert.deepEqual(problems("FD00::1"), ['must be in canonical form ("fd00::1")']);
  assert.deepEqual(problems("010.0.0.1"), ["must not have leading 0s"]);
  assert.deepEqual(problems("a"), ["must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)"]);
});

test("an IPAddress has an owner, which stays", () => {
  const owner = (parentRef: JsonObject): JsonObject => ({ spec: { parentRef } });
  const service = { resource: "services", namespace: "n", name: "s" };
  assert.deepEqual(errorsOf("IPAddress", owner(service)), []);
  assert.deepEqual(errorsOf("IPAddress", { spec: {} }), ["spec.parentRef: Required value"]);
  assert.deepEqual(errorsOf("IPAddress", owner({ group: "A", namespace: "." })), [
    `spec.parentRef.group: Invalid value: "A": ${subdomainText}`,
    "spec.parentRef.resource: Required value",
    "spec.parentRef.name: Required value",
    "spec.parentRef.namespace: Invalid value: \".\": may not be '.'",
  ]);
  assert.deepEqual(changeOf("IPAddress", owner({ ...service, name: "t" }), owner(service)), [
    'spec.parentRef: Invalid value: {"Group":"","Resource":"services","Namespace":"n","Name":"t"}: field is immutable',
  ]);
  assert.deepEqual(changeOf("IPAddress", { spec: {} }, owner(service)), [
    "spec.parentRef: Invalid value: null: field is immutable",
  ]);
});

test("a new ServiceCIDR has one range of each family, in canonical form", () => {
  const errors = (...cidrs: string[]): string[] =>
    (rulesOf("ServiceCIDR").validateNew?.({ spec: { cidrs } }) ?? []).map(fieldErrorText);
  assert.deepEqual([errors("10.0.0.0/24"), errors("fd00::/64", "10.0.0.0/24")], [[], []]);
  assert.deepEqual(errors(), ["spec.cidrs: Required value: at least one CIDR required"]);
  assert.deepEqual(errors("a", "b", "c"), [
    'spec.cidrs: Invalid value: {"CIDRs":["a","b","c"]}: may only hold up to 2 values',
  ]);
  assert.deepEqual(errors("10.0.0.0/24", "10.1.0.0/24"), [
    'spec.cidrs: Invalid value: ["10.0.0.0/24","10.1.0.0/24"]: may specify no more than one IP for each IP family, i.e 192.168.0.0/24 and 2001:db8::/64',
  ]);
  assert.deepEqual(errors("FD00::/64"), [
    'spec.cidrs[0]: Invalid value: "FD00::/64": must be in canonical form ("fd00::/64")',
  ]);
});

test("a ServiceCIDR can get a range of the other family, and nothing else changes", () => {
  const change = (now: readonly string[], old: readonly string[]): string[] =>
    changeOf("ServiceCIDR", { spec: { cidrs: [...now] } }, { spec: { cidrs: [...old] } });
  assert.deepEqual(change(["10.0.0.0/24", "fd00::/64"], ["10.0.0.0/24"]), []);
  assert.deepEqual(change(["10.0.1.0/24", "fd00::/64"], ["10.0.0.0/24"]), [
    'spec.cidrs[0]: Invalid value: "10.0.1.0/24": field is immutable',
  ]);
  assert.deepEqual(change(["10.0.1.0/24"], ["10.0.0.0/24"]), [
    'spec.cidrs[0]: Invalid value: "10.0.1.0/24": field is immutable',
  ]);
  assert.deepEqual(change(["10.0.0.0/24"], ["10.0.0.0/24", "fd00::/64"]), [
    'spec.cidrs: Invalid value: ["10.0.0.0/24"]: field is immutable',
  ]);
  assert.deepEqual(rulesOf("ServiceCIDR").validateChange?.({}, { spec: { cidrs: ["a"] } }, "status"), []);
});
