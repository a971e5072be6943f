// SPDX-License-Identifier: Apache-2.0
// Ingresses. The texts are those of kube-apiserver 1.36.
import assert from "node:assert/strict";
import { test } from "node:test";
import { fieldErrorText } from "@purlin/kube-objects/errors";
import type { JsonObject } from "@purlin/kube-objects/json";
import { dns1123LabelProblems, dns1123SubdomainProblems } from "@purlin/kube-objects/metadata";
import { ingressRules } from "./ingress-rules.ts";

type Case = readonly [name: string, object: JsonObject, want: readonly string[]];

const [labelText, subdomainText] = [String(dns1123LabelProblems("A")), String(dns1123SubdomainProblems("A"))];
const service = { service: { name: "s", port: { number: 80 } } };
const errorsOf = (spec: JsonObject): string[] => (ingressRules.validate?.({ spec }) ?? []).map(fieldErrorText);
const wildcardText =
  "a wildcard DNS-1123 subdomain must start with '*.', followed by a valid DNS subdomain, which must consist of lower case alphanumeric characters, '-' or '.' and end with an alphanumeric character (e.g. '*.example.com', regex used for validation is '\\*\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')";

test("an Ingress has rules or a default", () => {
  const none = "either `defaultBackend` or `rules` must be specified";
  assert.deepEqual(errorsOf({ defaultBackend: service }), []);
  assert.deepEqual(errorsOf({ rules: [{ host: "a.example.org" }] }), []);
  assert.deepEqual(errorsOf({}), [`spec: Invalid value: null: ${none}`]);
  assert.deepEqual(errorsOf({ rules: [] }), [`spec: Invalid value: []: ${none}`]);
});

const backends: readonly Case[] = [
  ["a port by number", service, []],
  ["a port by name", { service: { name: "s", port: { name: "http" } } }, []],
  ["a resource", { resource: { apiGroup: "a.b", kind: "K", name: "n" } }, []],
  ["nothing", {}, ['b: Invalid value: "": resource or service backend is required']],
  ["both", { ...service, resource: {} }, ['b: Invalid value: "": cannot set both resource and service backends']],
  [
    "an invalid resource",
    { resource: { apiGroup: "" } },
    [
      `b.resource.apiGroup: Invalid value: "": ${String(dns1123SubdomainProblems(""))}`,
      "b.resource.kind: Required value",
      "b.resource.name: Required value",
    ],
  ],
  [
    "no name and no port",
    { service: {} },
    ["b.service.name: Required value", "b: Required value: port name or number is required"],
  ],
  [
    "an invalid name",
    { service: { name: "A", port: { number: 80 } } },
    [`b.service.name: Invalid value: "A": ${labelText}`],
  ],
  [
    "a name and a number",
    { service: { name: "s", port: { name: "http", number: 80 } } },
    ['b: Invalid value: "": cannot set both port name & port number'],
  ],
  [
    "a number out of range",
    { service: { name: "s", port: { number: 65536 } } },
    ["b.service.port.number: Invalid value: 65536: must be between 1 and 65535, inclusive"],
  ],
  [
    "an invalid name of a port",
    { service: { name: "s", port: { name: "a--b" } } },
    ['b.service.port.name: Invalid value: "a--b": must not contain consecutive hyphens'],
  ],
];

for (const [name, backend, want] of backends) {
  test(`a backend: ${name}`, () => {
    assert.deepEqual(
      errorsOf({ defaultBackend: backend }).map((text) => text.replace("spec.defaultBackend", "b")),
      want,
    );
  });
}

const hosts: Readonly<Record<string, readonly string[]>> = {
  "": [],
  "a.example.org": [],
  "*.example.org": [],
  "A.example.org": [subdomainText],
  "1.2.3.4": ["must be a DNS name, not an IP address"],
  "::1": ["must be a DNS name, not an IP address", subdomainText],
  "*": [wildcardText],
  "a.*.org": [wildcardText],
  "*.*.org": [wildcardText],
  [`*.${"a".repeat(252)}`]: ["must be no more than 253 characters"],
};

for (const [host, want] of Object.entries(hosts)) {
  test(`the host ${JSON.stringify(host).slice(0, 30)}`, () => {
    assert.deepEqual(
      errorsOf({ rules: [{ host }] }),
      want.map((problem) => `spec.rules[0].host: Invalid value: "${host}": ${problem}`),
    );
  });
}

const paths: readonly (readonly [type: string, path: string, want: readonly string[]])[] = [
  ["Prefix", "/", []],
  ["Prefix", "/a/b/", []],
  ["Exact", "", ["must be an absolute path"]],
  ["Exact", "a", ["must be an absolute path"]],
  ["Prefix", "/a//b", ["must not contain '//'"]],
  ["Prefix", "/a/./b/../c", ["must not contain '/./'", "must not contain '/../'"]],
  ["Exact", "/a%2fb%2Fc", ["must not contain '%2f'", "must not contain '%2F'"]],
  ["Exact", "/a/..", ["cannot end with '/..'"]],
  ["Exact", "/a/.", ["cannot end with '/.'"]],
  ["ImplementationSpecific", "", []],
  ["ImplementationSpecific", "/a//../%2f", []],
  ["ImplementationSpecific", "a", ["must be an absolute path"]],
];

for (const [pathType, path, want] of paths) {
  test(`the path ${JSON.stringify(path)} of the type ${pathType}`, () => {
    const errors = errorsOf({ rules: [{ http: { paths: [{ pathType, path, backend: service }] } }] });
    assert.deepEqual(
      errors,
      want.map((problem) => `spec.rules[0].http.paths[0].path: Invalid value: "${path}": ${problem}`),
    );
  });
}

test("a path has a known type and a backend", () => {
  const at = "spec.rules[0].http.paths";
  const http = (...list: JsonObject[]): string[] => errorsOf({ rules: [{ http: { paths: list } }] });
  assert.deepEqual(http(), [`${at}: Required value`]);
  assert.deepEqual(http({ path: "/" }), [`${at}[0].pathType: Required value: pathType must be specified`]);
  assert.deepEqual(http({ path: "x", pathType: "x" }), [
    `${at}[0].pathType: Unsupported value: "x": supported values: "Exact", "ImplementationSpecific", "Prefix"`,
    `${at}[0].backend: Invalid value: "": resource or service backend is required`,
  ]);
});

test("certificates are for valid hosts, from a valid Secret", () => {
  const errors = errorsOf({
    defaultBackend: service,
    tls: [
      { hosts: ["a.org", "*.b.org"], secretName: "s" },
      { hosts: ["A", "*"], secretName: "A" },
    ],
  });
  assert.deepEqual(errors, [
    `spec.tls[1].hosts[0]: Invalid value: "A": ${subdomainText}`,
    `spec.tls[1].hosts[1]: Invalid value: "*": ${wildcardText}`,
    `spec.tls[1].secretName: Invalid value: "A": ${subdomainText}`,
  ]);
});

test("the name of a class is valid, also when it is empty", () => {
  const named = (ingressClassName: string): string[] => errorsOf({ defaultBackend: service, ingressClassName });
  assert.deepEqual(named("c"), []);
  assert.deepEqual(named(""), [`spec.ingressClassName: Invalid value: "": ${String(dns1123SubdomainProblems(""))}`]);
});

test("the old annotation for the class of a new Ingress says the same as the field", () => {
  const errors = (annotation: string, spec: JsonObject): string[] =>
    (
      ingressRules.validateNew?.({ metadata: { annotations: { "kubernetes.io/ingress.class": annotation } }, spec }) ??
      []
    ).map(fieldErrorText);
  assert.deepEqual([errors("a", {}), errors("a", { ingressClassName: "a" })], [[], []]);
  assert.deepEqual(errors("a", { ingressClassName: "b" }), [
    'annotations.kubernetes.io/ingress.class: Invalid value: "a": must match `ingressClassName` when both are specified',
  ]);
});

test("the status has valid addresses", () => {
  const status = { loadBalancer: { ingress: [{ ip: "x" }] } };
  const errors = (endpoint: "" | "status"): string[] =>
    (ingressRules.validateChange?.({ status }, {}, endpoint) ?? []).map(fieldErrorText);
  assert.deepEqual(errors("status"), [
    'status.loadBalancer.ingress[0].ip: Invalid value: "x": must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)',
  ]);
  assert.deepEqual(errors(""), []);
});
