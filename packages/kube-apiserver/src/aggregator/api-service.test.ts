// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import { fieldErrorText } from "@purlin/kube-objects/errors";
import type { JsonObject } from "@purlin/kube-objects/json";
import { deepFreeze } from "@purlin/kube-objects/object";
import { apiServiceRules, availableCondition, remoteApiOf } from "./api-service.ts";

const local = { group: "example.org", version: "v1", groupPriorityMinimum: 1000, versionPriority: 15 };
const service = { namespace: "ns", name: "api" };
const remote = { ...local, service };

const named = (spec: JsonObject): JsonObject => ({ metadata: { name: `${spec["version"]}.${spec["group"]}` }, spec });

test("an APIService with a Service is another server, with port 443 where it states none", () => {
  const bundle = { caBundle: "Zm9v", insecureSkipTLSVerify: true };
  assert.deepEqual(remoteApiOf(named({ ...remote, ...bundle })), {
    name: "v1.example.org",
    group: "example.org",
    version: "v1",
    groupPriority: 1000,
    versionPriority: 15,
    service: { ...service, port: 443 },
    caBundle: "Zm9v",
    skipsVerification: true,
  });
  assert.equal(remoteApiOf(named({ ...remote, service: { ...service, port: 8443 } }))?.service.port, 8443);
  assert.equal(remoteApiOf(named(remote))?.skipsVerification, false);
});

test("an APIService without a Service is this server", () => {
  assert.equal(remoteApiOf(named(local)), undefined);
  assert.equal(remoteApiOf(named({ ...local, service: null })), undefined);
  assert.equal(remoteApiOf({}), undefined);
});

test("the default port is set once", () => {
  const object = deepFreeze(named(remote));
  assert.deepEqual(apiServiceRules.defaults?.(object), named({ ...remote, service: { ...service, port: 443 } }));
  for (const spec of [local, { ...remote, service: { ...service, port: 8443 } }]) {
    const complete = named(spec);
    assert.equal(apiServiceRules.defaults?.(complete), complete);
  }
});

const subdomain =
  "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')";
const label =
  "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for validation is '[a-z]([-a-z0-9]*[a-z0-9])?')";

const specs: readonly (readonly [string, JsonObject, readonly string[]])[] = [
  ["of this server", local, []],
  ["of another server", remote, []],
  ["the core group", { ...local, group: "", version: "v1" }, []],
  [
    "no group in another version",
    { ...local, group: "", version: "v2" },
    ["spec.group: Required value: only v1 may have an empty group and it better be legacy kube"],
  ],
  ["a bad group", { ...local, group: "Example" }, [`spec.group: Invalid value: "Example": ${subdomain}`]],
  ["a bad version", { ...local, version: "1" }, [`spec.version: Invalid value: "1": ${label}`]],
  [
    "priorities that are too low",
    { ...local, groupPriorityMinimum: 0, versionPriority: -1 },
    [
      "spec.groupPriorityMinimum: Invalid value: 0: must be positive and less than 20000",
      "spec.versionPriority: Invalid value: -1: must be positive and less than 1000",
    ],
  ],
  ["the lowest and the highest priority", { ...local, groupPriorityMinimum: 20_000, versionPriority: 1 }, []],
  [
    "priorities that are too high",
    { ...local, groupPriorityMinimum: 20_001, versionPriority: 1001 },
    [
      "spec.groupPriorityMinimum: Invalid value: 20001: must be positive and less than 20000",
      "spec.versionPriority: Invalid value: 1001: must be positive and less than 1000",
    ],
  ],
  [
    "a Service without a place",
    { ...local, service: {} },
    ["spec.service.namespace: Required value", "spec.service.name: Required value"],
  ],
  [
    "a port that is too high",
    { ...local, service: { ...service, port: 65_536 } },
    ["spec.service.port: Invalid value: 65536: port is not valid: must be between 1 and 65535, inclusive"],
  ],
  ["the highest port", { ...local, service: { ...service, port: 65_535 } }, []],
  [
    "no verification with authorities",
    { ...remote, insecureSkipTLSVerify: true, caBundle: "Zm9v" },
    ["spec.insecureSkipTLSVerify: Invalid value: true: may not be true if caBundle is present"],
  ],
  ["no verification", { ...remote, insecureSkipTLSVerify: true }, []],
  [
    "authorities of this server",
    { ...local, insecureSkipTLSVerify: true, caBundle: "Zm9v" },
    [
      'spec.caBundle: Invalid value: "3 bytes": local APIServices may not have a caBundle',
      "spec.insecureSkipTLSVerify: Invalid value: true: local APIServices may not have insecureSkipTLSVerify",
    ],
  ],
];

for (const [name, spec, expected] of specs) {
  test(`the spec of an APIService: ${name}`, () => {
    assert.deepEqual(apiServiceRules.validate?.(named(spec)).map(fieldErrorText), expected);
  });
}

test("the name is made of version and group", () => {
  assert.deepEqual(apiServiceRules.validate?.({ metadata: { name: "x" }, spec: local }).map(fieldErrorText), [
    'metadata.name: Invalid value: "x": must be `spec.version+"."+spec.group`: "v1.example.org"',
  ]);
});

test("the table shows where the API is served and whether it is available", () => {
  const conditions = (...list: JsonObject[]): JsonObject => ({ status: { conditions: list } });
  const cells = (object: JsonObject): unknown =>
    apiServiceRules.printer?.cells({ metadata: { name: "x" }, ...object }, 0).slice(0, 3);
  assert.deepEqual(cells({ spec: local }), ["x", "Local", "Unknown"]);
  assert.deepEqual(cells({ spec: remote, ...conditions({ type: "Available", status: "True", reason: "Passed" }) }), [
    "x",
    "ns/api",
    "True",
  ]);
  const failed = conditions(
    { type: "Other", status: "True" },
    { type: "Available", status: "False", reason: "ServiceNotFound" },
  );
  assert.deepEqual(cells({ spec: remote, ...failed }), ["x", "ns/api", "False (ServiceNotFound)"]);
});

test("the condition is found by its type", () => {
  const condition = { type: "Available", status: "False" };
  assert.deepEqual(availableCondition({ status: { conditions: [{ type: "X" }, condition] } }), condition);
  assert.equal(availableCondition({ status: { conditions: [] } }), undefined);
  assert.equal(availableCondition({}), undefined);
});
