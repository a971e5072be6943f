// SPDX-License-Identifier: Apache-2.0
// Files of ConfigMaps, Secrets, tokens and fields of Pods in volumes. The texts are those of kube-apiserver 1.36.
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Check } from "@purlin/kube-apiserver/kinds";
import { fieldErrorText } from "@purlin/kube-objects/errors";
import type { JsonObject } from "@purlin/kube-objects/json";
import { downwardFile, fieldOfPod, fileMode, keyToPath, projected, resourceOfContainer } from "./projected-files.ts";

const errorsOf = (check: Check, object: JsonObject): string[] => check(object, "v").map(fieldErrorText);
const modeText = "must be a number between 0 and 0777 (octal), both inclusive";

test("permission bits are between 0 and 0777", () => {
  const mode = (value: number): string[] => errorsOf(fileMode("mode"), { mode: value });
  assert.deepEqual([mode(0), mode(0o777)], [[], []]);
  assert.deepEqual(mode(-1), [`v.mode: Invalid value: -1: ${modeText}`]);
  assert.deepEqual(mode(0o1000), [`v.mode: Invalid value: 512: ${modeText}`]);
  assert.deepEqual(errorsOf(fileMode("mode"), {}), []);
});

const paths: Readonly<Record<string, readonly string[]>> = {
  a: [],
  "a/b..c/d": [],
  "...": ["must not start with '..'"],
  "..data": ["must not start with '..'"],
  "..": ["must not contain '..'", "must not start with '..'"],
  "../a": ["must not contain '..'"],
  "a/../b": ["must not contain '..'"],
  "/a": ["must be a relative path"],
  "/..": ["must be a relative path", "must not contain '..'"],
};

for (const [path, problems] of Object.entries(paths)) {
  test(`the path of a file: ${path}`, () => {
    const want = problems.map((problem) => `v.path: Invalid value: "${path}": ${problem}`);
    assert.deepEqual(errorsOf(keyToPath, { key: "k", path }), want);
  });
}

test("a file of a key has a key, a path and valid permissions", () => {
  assert.deepEqual(errorsOf(keyToPath, { mode: 999 }), [
    "v.key: Required value",
    "v.path: Required value",
    `v.mode: Invalid value: 999: ${modeText}`,
  ]);
});

type Case = readonly [name: string, object: JsonObject, want: readonly string[]];

const supported = ["metadata.name", "metadata.labels", "spec.nodeName"];
const field = (fieldPath: string): JsonObject => ({ apiVersion: "v1", fieldPath });
const notConverted = (path: string, why: string): string =>
  `v.fieldPath: Invalid value: "${path}": error converting fieldPath: ${why}`;
const keyText =
  "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')";

const fields: readonly Case[] = [
  ["a supported one", field("metadata.name"), []],
  ["no version", { fieldPath: "metadata.name" }, ["v.apiVersion: Required value"]],
  ["no path", { apiVersion: "v1" }, ["v.fieldPath: Required value"]],
  [
    "another version",
    { apiVersion: "v2", fieldPath: "metadata.name" },
    [notConverted("metadata.name", "unsupported pod version: v2")],
  ],
  ["one that no Pod has", field("spec.color"), [notConverted("spec.color", "field label not supported: spec.color")]],
  [
    "one that is not supported here",
    field("status.podIP"),
    [
      'v.fieldPath: Unsupported value: "status.podIP": supported values: "metadata.labels", "metadata.name", "spec.nodeName"',
    ],
  ],
  ["the old name of the node", field("spec.host"), []],
  ["a label", field("metadata.labels['example.org/a']"), []],
  ["a label with an invalid key", field("metadata.labels['a b']"), [`v: Invalid value: "a b": ${keyText}`]],
  ["an annotation, whose key may have any case", field("metadata.annotations['Example.ORG/a']"), []],
  [
    "a label, whose prefix may not",
    field("metadata.labels['Example.ORG/a']"),
    [
      `v: Invalid value: "Example.ORG/a": prefix part a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')`,
    ],
  ],
  [
    "a key with quotes and brackets is one key",
    field("metadata.labels['a']['b']"),
    [`v: Invalid value: "a']['b": ${keyText}`],
  ],
  [
    "a key of what is not a map",
    field("spec.nodeName['a']"),
    [notConverted("spec.nodeName['a']", "field label does not support subscript: spec.nodeName['a']")],
  ],
  ["a key without a map", field("['a']"), [notConverted("['a']", "field label not supported: ['a']")]],
];

for (const [name, ref, want] of fields) {
  test(`a field of a Pod: ${name}`, () => {
    assert.deepEqual(errorsOf(fieldOfPod(supported), ref), want);
  });
}

const resourceNames =
  'supported values: "limits.cpu", "limits.ephemeral-storage", "limits.memory", "requests.cpu", "requests.ephemeral-storage", "requests.memory"';
const units = "only divisor's values 1, 1k, 1M, 1G, 1T, 1P, 1E, 1Ki, 1Mi, 1Gi, 1Ti, 1Pi, 1Ei are supported with the";

const resources: readonly Case[] = [
  ["an amount", { resource: "limits.cpu" }, []],
  ["no amount", {}, ["v.resource: Required value"]],
  ["huge pages", { resource: "requests.hugepages-2Mi" }, []],
  [
    "an unknown amount",
    { resource: "limits.gpu", divisor: "7" },
    [`v.resource: Unsupported value: "limits.gpu": ${resourceNames}`],
  ],
  ["a divisor of zero counts as none", { resource: "limits.cpu", divisor: "0" }, []],
  ["thousandths of cpu", { resource: "limits.cpu", divisor: "1m" }, []],
  ["a divisor in another notation", { resource: "limits.cpu", divisor: "1000m" }, []],
  ["a divisor that is a number", { resource: "requests.cpu", divisor: 1 }, []],
  [
    "thousands of cpu",
    { resource: "requests.cpu", divisor: "1k" },
    [`v.divisor: Invalid value: "requests.cpu": only divisor's values 1m and 1 are supported with the cpu resource`],
  ],
  ["mebibytes of memory", { resource: "limits.memory", divisor: "1Mi" }, []],
  [
    "two mebibytes",
    { resource: "limits.memory", divisor: "2Mi" },
    [`v.divisor: Invalid value: "limits.memory": ${units} memory resource`],
  ],
  [
    "thousandths of storage",
    { resource: "limits.ephemeral-storage", divisor: "1m" },
    [`v.divisor: Invalid value: "limits.ephemeral-storage": ${units} local ephemeral storage resource`],
  ],
  [
    "thousandths of huge pages",
    { resource: "limits.hugepages-1Gi", divisor: "1m" },
    [`v.divisor: Invalid value: "limits.hugepages-1Gi": ${units} hugepages resource`],
  ],
];

for (const [name, ref, want] of resources) {
  test(`a resource of a container: ${name}`, () => {
    assert.deepEqual(errorsOf(resourceOfContainer({ isFile: false }), ref), want);
  });
}

test("a file with a resource names the container first", () => {
  const check = resourceOfContainer({ isFile: true });
  assert.deepEqual(errorsOf(check, { resource: "limits.gpu" }), ["v.containerName: Required value"]);
  assert.deepEqual(errorsOf(check, { containerName: "c" }), ["v.resource: Required value"]);
  assert.deepEqual(errorsOf(check, { containerName: "c", resource: "limits.cpu" }), []);
});

const files: readonly Case[] = [
  ["a field", { path: "a", fieldRef: field("metadata.labels") }, []],
  ["a resource", { path: "a", resourceFieldRef: { containerName: "c", resource: "limits.cpu" } }, []],
  ["nothing", { path: "a" }, ["v: Required value: one of fieldRef and resourceFieldRef is required"]],
  [
    "both",
    { path: "a", fieldRef: field("metadata.uid"), resourceFieldRef: {} },
    ['v: Invalid value: "resource": fieldRef and resourceFieldRef can not be specified simultaneously'],
  ],
  [
    "a field that only variables can have",
    { path: "a", fieldRef: field("status.podIP") },
    [
      'v.fieldRef.fieldPath: Unsupported value: "status.podIP": supported values: "metadata.annotations", "metadata.labels", "metadata.name", "metadata.namespace", "metadata.uid"',
    ],
  ],
  [
    "no path and invalid permissions",
    { fieldRef: field("metadata.name"), mode: 1000 },
    ["v.path: Required value", `v.mode: Invalid value: 1000: ${modeText}`],
  ],
];

for (const [name, file, want] of files) {
  test(`a file with a part of the Pod: ${name}`, () => {
    assert.deepEqual(errorsOf(downwardFile, file), want);
  });
}

const key = (path: string): JsonObject => ({ key: "k", path });
const token = (more: JsonObject): JsonObject => ({
  serviceAccountToken: { path: "t", expirationSeconds: 600, ...more },
});
const twice = (name: string): string => `v: Invalid value: "${name}": conflicting duplicate paths`;

const volumes: readonly Case[] = [
  ["no sources", { sources: [], defaultMode: 0o644 }, []],
  ["invalid permissions", { defaultMode: -1 }, [`v.defaultMode: Invalid value: -1: ${modeText}`]],
  [
    "sources without names",
    { sources: [{ secret: {} }, { configMap: {} }] },
    ["v.sources[0].secret.name: Required value", "v.sources[1].configMap.name: Required value"],
  ],
  [
    "files of one source with one path",
    { sources: [{ secret: { name: "s", items: [key("a"), key("a")] } }] },
    [twice("s")],
  ],
  [
    "files of two sources with one path",
    {
      sources: [
        { configMap: { name: "c", items: [key("a")] } },
        { downwardAPI: { items: [{ path: "a", fieldRef: field("metadata.name") }] } },
      ],
    },
    [twice("a")],
  ],
  [
    "files without paths do not collide",
    { sources: [{ secret: { name: "s", items: [{ key: "a" }, { key: "b" }] } }] },
    ["v.sources[0].secret.items[0].path: Required value", "v.sources[0].secret.items[1].path: Required value"],
  ],
  [
    "two kinds in one source",
    { sources: [{ secret: { name: "s" }, configMap: { name: "c" } }] },
    ["v.sources[0]: Forbidden: may not specify more than 1 volume type per source"],
  ],
  [
    "files with parts of the Pod share the path of their source",
    { sources: [{}, { downwardAPI: { items: [{ path: "a" }, {}] } }] },
    [
      "v.sources[1].downwardAPI: Required value: one of fieldRef and resourceFieldRef is required",
      "v.sources[1].downwardAPI.path: Required value",
      "v.sources[1].downwardAPI: Required value: one of fieldRef and resourceFieldRef is required",
    ],
  ],
  ["a token for ten minutes", { sources: [token({})] }, []],
  ["a token for 2^32 seconds", { sources: [token({ expirationSeconds: 4294967296 })] }, []],
  [
    "a token for a second less than ten minutes",
    { sources: [token({ expirationSeconds: 599 })] },
    [
      "v.sources[0].serviceAccountToken.expirationSeconds: Invalid value: 599: may not specify a duration less than 10 minutes",
    ],
  ],
  [
    "a token for more than 2^32 seconds",
    { sources: [token({ expirationSeconds: 4294967297 })] },
    [
      "v.sources[0].serviceAccountToken.expirationSeconds: Invalid value: 4294967297: may not specify a duration larger than 2^32 seconds",
    ],
  ],
  [
    "the path of a token is shown as that of the volume",
    { sources: [token({ path: "" }), token({ path: "../t" })] },
    ["v.path: Required value", `v.path: Invalid value: "../t": must not contain '..'`],
  ],
];

for (const [name, volume, want] of volumes) {
  test(`a volume with several sources: ${name}`, () => {
    assert.deepEqual(errorsOf(projected, volume), want);
  });
}
