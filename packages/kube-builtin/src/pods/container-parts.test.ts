// SPDX-License-Identifier: Apache-2.0
// Variables, probes and handlers of containers. The texts are those of kube-apiserver 1.36.
import assert from "node:assert/strict";
import { test } from "node:test";
import { fieldErrorText } from "@purlin/kube-objects/errors";
import type { JsonObject } from "@purlin/kube-objects/json";
import { dns1123LabelProblems, dns1123SubdomainProblems } from "@purlin/kube-objects/metadata";
import { env, envFrom, lifeOfContainer, noLifeOfInitContainer } from "./container-parts.ts";

type Case = readonly [name: string, object: JsonObject, want: readonly string[]];

const [labelText, subdomainText] = [String(dns1123LabelProblems("A")), String(dns1123SubdomainProblems("A"))];
const noName = String(dns1123SubdomainProblems(""));
const nameText = "a valid environment variable name must consist only of printable ASCII characters other than '='";
const sources =
  "must specify one of: `fieldRef`, `resourceFieldRef`, `configMapKeyRef`, `secretKeyRef` or `fileKeyRef`";
const from = (valueFrom: JsonObject, more: JsonObject = {}): JsonObject => ({ name: "V", valueFrom, ...more });
const key = { name: "n", key: "k" };
const keyText =
  "a valid config key must consist of alphanumeric characters, '-', '_' or '.' (e.g. 'key.name',  or 'KEY_NAME',  or 'key-name', regex used for validation is '[-._a-zA-Z0-9]+')";

const variables: readonly Case[] = [
  ["a value", { name: "V", value: "x" }, []],
  ["an unusual name", { name: "a b.c-d!~", value: "" }, []],
  ["no name", {}, ["v.name: Required value"]],
  [
    "a name with a sign that separates it from its value",
    { name: "a=b" },
    [`v.name: Invalid value: "a=b": ${nameText}`],
  ],
  ["a name that is not ASCII", { name: "ä" }, [`v.name: Invalid value: "ä": ${nameText}`]],
  ["a name with a line break", { name: "a\n" }, [`v.name: Invalid value: "a\\n": ${nameText}`]],
  ["no source", from({}), [`v.valueFrom: Invalid value: "": ${sources}`]],
  ["a field", from({ fieldRef: { apiVersion: "v1", fieldPath: "status.podIPs" } }), []],
  [
    "a field that variables cannot have",
    from({ fieldRef: { apiVersion: "v1", fieldPath: "metadata.labels" } }),
    [
      'v.valueFrom.fieldRef.fieldPath: Unsupported value: "metadata.labels": supported values: "metadata.name", "metadata.namespace", "metadata.uid", "spec.nodeName", "spec.serviceAccountName", "status.hostIP", "status.hostIPs", "status.podIP", "status.podIPs"',
    ],
  ],
  ["a label", from({ fieldRef: { apiVersion: "v1", fieldPath: "metadata.labels['a']" } }), []],
  ["a resource", from({ resourceFieldRef: { resource: "limits.cpu" } }), []],
  ["a key", from({ configMapKeyRef: key }), []],
  [
    "a key of nothing",
    from({ secretKeyRef: {} }),
    [`v.valueFrom.secretKeyRef.name: Invalid value: "": ${noName}`, "v.valueFrom.secretKeyRef.key: Required value"],
  ],
  [
    "an invalid key",
    from({ configMapKeyRef: { name: "N", key: "a b" } }),
    [
      `v.valueFrom.configMapKeyRef.name: Invalid value: "N": ${subdomainText}`,
      `v.valueFrom.configMapKeyRef.key: Invalid value: "a b": ${keyText}`,
    ],
  ],
  ["a file", from({ fileKeyRef: { key: "K", volumeName: "v", path: "a/b" } }), []],
  [
    "a file without parts",
    from({ fileKeyRef: {} }),
    ["key", "volumeName", "path"].map((name) => `v.valueFrom.fileKeyRef.${name}: Required value`),
  ],
  [
    "an invalid file",
    from({ fileKeyRef: { key: "a=", volumeName: "V", path: "../a" } }),
    [
      `v.valueFrom.fileKeyRef.key: Invalid value: "a=": ${nameText}`,
      `v.valueFrom.fileKeyRef.volumeName: Invalid value: "V": ${labelText}`,
      `v.valueFrom.fileKeyRef.path: Invalid value: "../a": must not contain '..'`,
    ],
  ],
  [
    "a value and a source",
    from({ secretKeyRef: key, configMapKeyRef: key }, { value: "x" }),
    ['v.valueFrom: Invalid value: "": may not be specified when `value` is not empty'],
  ],
  [
    "two sources",
    from({ secretKeyRef: key, configMapKeyRef: key }),
    ['v.valueFrom: Invalid value: "": may not have more than one field specified at a time'],
  ],
];

for (const [name, variable, want] of variables) {
  test(`a variable: ${name}`, () => {
    const errors = env({ env: [variable] }, "c");
    assert.deepEqual(
      errors.map((error) => fieldErrorText(error).replace("c.env[0]", "v")),
      want,
    );
  });
}

const sets: readonly Case[] = [
  ["a config map and a prefix", { prefix: "a.", configMapRef: { name: "n" } }, []],
  ["a name that ends with a hyphen", { secretRef: { name: "n-" } }, []],
  [
    "an invalid prefix",
    { prefix: "=", configMapRef: { name: "n" } },
    [`c.envFrom[0].prefix: Invalid value: "=": ${nameText}`],
  ],
  ["no name", { secretRef: {} }, ["c.envFrom[0].secretRef.name: Required value"]],
  [
    "an invalid name",
    { configMapRef: { name: "N" } },
    [`c.envFrom[0].configMapRef.name: Invalid value: "N": ${subdomainText}`],
  ],
  ["no source", {}, ['c.envFrom: Invalid value: "": must specify one of: `configMapRef` or `secretRef`']],
  [
    "two sources",
    { configMapRef: { name: "a" }, secretRef: { name: "b" } },
    ['c.envFrom: Invalid value: "": may not have more than one field specified at a time'],
  ],
];

for (const [name, source, want] of sets) {
  test(`a set of variables: ${name}`, () => {
    assert.deepEqual(envFrom({ envFrom: [source] }, "c").map(fieldErrorText), want);
  });
}

const exec = { exec: { command: ["true"] } };
const portText = "must be between 1 and 65535, inclusive";
const life = (container: JsonObject, spec: JsonObject = { terminationGracePeriodSeconds: 30 }): string[] =>
  lifeOfContainer(spec)(container, "c").map(fieldErrorText);

const handlers: readonly Case[] = [
  ["a command", exec, []],
  ["no command", { exec: { command: [] } }, ["h.exec.command: Required value"]],
  [
    "a request",
    { httpGet: { path: "/", port: "http", scheme: "HTTPS", httpHeaders: [{ name: "X-A", value: "" }] } },
    [],
  ],
  [
    "an invalid request",
    { httpGet: { port: 0, scheme: "FTP", httpHeaders: [{ name: "a b" }, {}] } },
    [
      "h.httpGet.path: Required value",
      `h.httpGet.port: Invalid value: 0: ${portText}`,
      'h.httpGet.scheme: Unsupported value: "FTP": supported values: "HTTP", "HTTPS"',
      ...["a b", ""].map(
        (header) =>
          `h.httpGet.httpHeaders: Invalid value: "${header}": a valid HTTP header must consist of alphanumeric characters or '-' (e.g. 'X-Header-Name', regex used for validation is '[-A-Za-z0-9]+')`,
      ),
    ],
  ],
  ["the lowest and the highest port", { tcpSocket: { port: 65535 } }, []],
  ["a port too high", { tcpSocket: { port: 65536 } }, [`h.tcpSocket.port: Invalid value: 65536: ${portText}`]],
  [
    "a port whose name has no letter",
    { tcpSocket: { port: "80" } },
    ['h.tcpSocket.port: Invalid value: "80": must contain at least one letter (a-z)'],
  ],
  ["nothing", {}, ["h: Required value: must specify a handler type"]],
  [
    "two, of which the first is checked",
    { exec: {}, tcpSocket: {} },
    ["h.exec.command: Required value", "h.tcpSocket: Forbidden: may not specify more than 1 handler type"],
  ],
  ["a sleep as long as the Pod has", { sleep: { seconds: 30 } }, []],
  ["no sleep at all", { sleep: {} }, []],
  [
    "a sleep longer than that",
    { sleep: { seconds: 31 } },
    ["h.sleep: Invalid value: 31: must be non-negative and less than terminationGracePeriodSeconds (30)"],
  ],
  [
    "a negative sleep",
    { sleep: { seconds: -1 } },
    ["h.sleep: Invalid value: -1: must be non-negative and less than terminationGracePeriodSeconds (30)"],
  ],
];

for (const [name, handler, want] of handlers) {
  test(`a handler: ${name}`, () => {
    const errors = life({ lifecycle: { preStop: handler } });
    assert.deepEqual(
      errors.map((text) => text.replace("c.lifecycle.preStop", "h")),
      want,
    );
  });
}

test("a service that answers gRPC has a number of a port", () => {
  const grpc = (port: number | string): string[] => life({ readinessProbe: { grpc: { port } } });
  assert.deepEqual(grpc(1), []);
  assert.deepEqual(grpc(65_536), [`c.readinessProbe.grpc.port: Invalid value: 65536: ${portText}`]);
  assert.deepEqual(life({ readinessProbe: { grpc: {} } }), [
    `c.readinessProbe.grpc.port: Invalid value: 0: ${portText}`,
  ]);
});

const numbers = ["initialDelaySeconds", "timeoutSeconds", "periodSeconds", "successThreshold", "failureThreshold"];
const probe = (more: JsonObject): JsonObject => ({ ...exec, successThreshold: 1, ...more });

test("the numbers of a probe are not negative", () => {
  const negative = Object.fromEntries(numbers.map((name) => [name, -1]));
  assert.deepEqual(
    life({ readinessProbe: { ...exec, ...negative } }),
    numbers.map((name) => `c.readinessProbe.${name}: Invalid value: -1: must be greater than or equal to 0`),
  );
});

test("one success is enough for liveness and start, not for readiness", () => {
  assert.deepEqual(
    life({ readinessProbe: probe({ successThreshold: 3 }), livenessProbe: probe({}), startupProbe: probe({}) }),
    [],
  );
  assert.deepEqual(life({ livenessProbe: probe({ successThreshold: 2 }), startupProbe: exec }), [
    "c.livenessProbe.successThreshold: Invalid value: 2: must be 1",
    "c.startupProbe.successThreshold: Invalid value: 0: must be 1",
  ]);
});

test("a grace period is for probes that end a container", () => {
  assert.deepEqual(life({ livenessProbe: probe({ terminationGracePeriodSeconds: 1 }) }), []);
  assert.deepEqual(
    life({
      livenessProbe: probe({ terminationGracePeriodSeconds: 0 }),
      readinessProbe: probe({ terminationGracePeriodSeconds: 1 }),
    }),
    [
      "c.livenessProbe.terminationGracePeriodSeconds: Invalid value: 0: must be greater than 0",
      "c.readinessProbe.terminationGracePeriodSeconds: Invalid value: 1: must not be set for readinessProbes",
    ],
  );
});

test("a container that ends before the others has no probes and no lifecycle", () => {
  const container = { lifecycle: {}, livenessProbe: {}, readinessProbe: {}, startupProbe: {} };
  assert.deepEqual(
    noLifeOfInitContainer(container, "c").map(fieldErrorText),
    Object.keys(container).map(
      (name) => `c.${name}: Forbidden: may not be set for init containers without restartPolicy=Always`,
    ),
  );
  assert.deepEqual(noLifeOfInitContainer({ lifecycle: null }, "c"), []);
});
