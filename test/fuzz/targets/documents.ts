// SPDX-License-Identifier: Apache-2.0
// JSON and YAML, as bodies of requests, as files and as packages.
import { parseYaml } from "../../../packages/cli/src/files/yaml-file.ts";
import { isUserError } from "../../../packages/cli/src/user-error.ts";
import {
  decodeBytes,
  jsonType,
  protobufType,
  UndecodableBodyError,
  yamlType,
} from "../../../packages/kube-apiserver/src/rest/request-body.ts";
import { isRequestEntityTooLarge } from "../../../packages/kube-objects/src/errors/status-error.ts";
import {
  JsonSyntaxError,
  type JsonValue,
  jsonEqual,
  parseJson,
  parseJsonStrict,
  printJson,
} from "../../../packages/kube-objects/src/json/index.ts";
import { isPackageError, parsePackage } from "../../../packages/oci/src/index.ts";
import { accepted, acceptedAsync, property, type Target } from "../engine/target.ts";

const isJsonError = (error: unknown): boolean => error instanceof JsonSyntaxError;
const isBodyError = (error: unknown): boolean =>
  error instanceof UndecodableBodyError || isRequestEntityTooLarge(error);

const jsonTokens = [
  '{"',
  '":',
  '",',
  "[",
  "]",
  "{",
  "}",
  "null",
  "true",
  "false",
  "1",
  "-1.5e3",
  '"a"',
  "\\u0000",
  "\\ud800",
  ",",
];

export const json: Target = {
  covers: ["kube-objects"],
  dictionary: jsonTokens,
  seeds: [
    '{"a":[1,-2.5e3,null,true,"\\u00e9"],"a":{"__proto__":{}},"b":12345678901234567890}',
    "[[[[]]]]",
    '"\\ud83d\\ude00"',
  ],
  growth: {
    "duplicate keys": (count) => `{${'"a":1,'.repeat(count)}"a":1}`,
    "different keys": (count) => `{${Array.from({ length: count }, (_, at) => `"k${at}":1.5`).join()}}`,
    escapes: (count) => `"${"\\u00e9".repeat(count)}"`,
    lists: (count) => `[${"[],".repeat(count)}1]`,
  },
  run(input) {
    const text = input.toString();
    const strict = accepted(() => parseJsonStrict(text), isJsonError);
    const value = accepted(() => parseJson(text), isJsonError);
    property((strict === undefined) === (value === undefined), "the strict and the plain reader disagree");
    if (value === undefined) return;
    property(jsonEqual(parseJson(printJson(value)), value), "a printed value is read as another");
  },
};

const manifest = `apiVersion: v1
kind: ConfigMap
metadata: {name: a, labels: &l {x: "1"}}
data:
  a: |
    text
  b: >-
    folded
---
- *l
- !!binary aGk=
- 0x1F
- 2026-01-01
- <<: {a: b}
`;
const yamlTokens = [
  "&a ",
  "*a",
  "<<: ",
  "---\n",
  "...\n",
  "- ",
  ": ",
  "? ",
  "|\n",
  ">-\n",
  "!!map ",
  "!!int ",
  "{",
  "}",
  "[",
  "]",
  "#",
  "%YAML 1.2\n",
  "\n  ",
  "'",
  '"',
  "~",
];
const yamlGrowth = {
  lines: (count: number) => "a: b\n".repeat(1) + Array.from({ length: count }, (_, at) => `k${at}: [1, 2]\n`).join(""),
  items: (count: number) => `a:\n${"- {x: 1}\n".repeat(count)}`,
  "duplicate keys": (count: number) => "a: 1\n".repeat(count),
  anchors: (count: number) => Array.from({ length: count }, (_, at) => `- &a${at} x\n- *a${at}\n`).join(""),
  "merge keys": (count: number) => `b: &b {x: 1}\nl:\n${"- {<<: *b, y: 2}\n".repeat(count)}`,
};

export const yamlBody: Target = {
  covers: ["kube-apiserver/src/rest", "kube-objects/src/yaml"],
  dictionary: yamlTokens,
  seeds: [manifest, manifest.split("---")[0] ?? "", "a: *a", "? [a]\n: b", "a: .inf"],
  growth: yamlGrowth,
  run(input) {
    const reading = accepted(() => decodeBytes(input, yamlType), isBodyError);
    if (reading !== undefined) property(isJson(reading.value), "YAML is read as something JSON cannot say");
  },
};

function isJson(value: unknown): value is JsonValue {
  if (value === null || typeof value === "string" || typeof value === "boolean") return true;
  if (typeof value === "number") return Number.isFinite(value);
  if (typeof value === "bigint") return true;
  if (Array.isArray(value)) return value.every(isJson);
  const isPlain = typeof value === "object" && [Object.prototype, null].includes(Object.getPrototypeOf(value) as null);
  return isPlain && Object.values(value).every(isJson);
}

export const jsonBody: Target = {
  covers: ["kube-apiserver/src/rest", "kube-objects/src/json"],
  dictionary: jsonTokens,
  seeds: ['{"apiVersion":"v1","kind":"A"}', "{}", "[]"],
  run(input) {
    accepted(() => decodeBytes(input, jsonType), isBodyError);
  },
};

export const yamlFile: Target = {
  covers: ["cli/src/files"],
  dictionary: yamlTokens,
  seeds: [manifest, "a: &a [*a]", '{"a": 1}'],
  growth: yamlGrowth,
  run(input) {
    const documents = accepted(() => parseYaml(input.toString(), "a.yaml"), isUserError);
    for (const document of documents?.slice(0, 4) ?? []) {
      property(/^a\.yaml:\d+:\d+$/.test(document.at(["metadata", "name", 0])), "a place is not file:line:column");
    }
  },
};

const packageText = `apiVersion: meta.pkg.crossplane.io/v1
kind: Function
metadata: {name: f}
spec:
  crossplane: {version: ">=v1.0.0"}
  dependsOn:
  - {provider: xpkg.example.org/a/b, version: ">=v0.1.0"}
---
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: a.b}
`;

export const packageYaml: Target = {
  covers: ["oci/src/xpkg"],
  dictionary: [...yamlTokens, "meta.pkg.crossplane.io/v1", "Configuration", "dependsOn:", "capabilities:"],
  seeds: [packageText, packageText.replace("Function", "Provider")],
  growth: { documents: (count) => packageText + "---\n# nothing\n".repeat(count), ...yamlGrowth },
  async run(input) {
    await acceptedAsync(() => parsePackage(input.toString()), isPackageError);
  },
};

const pod = Buffer.concat([
  Buffer.from("k8s\0"),
  Buffer.from("0a0f0a02763112094e616d657370616365", "hex"),
  Buffer.from("120b0a090a0161120018002200", "hex"),
  Buffer.from("1a002200", "hex"),
]);

export const kubernetesProtobuf: Target = {
  covers: ["kube-objects/src/protobuf"],
  dictionary: [
    "k8s\0",
    "\x0a\x02v1",
    "\x12\x09Namespace",
    "\x12\x03Pod",
    "\x12\x06Secret",
    "\x0a",
    "\x12",
    "\x1a",
    "apps/v1",
  ],
  seeds: [pod, Buffer.from("k8s\0\x0a\x0a\x0a\x02v1\x12\x04Pod\x12\x04\x0a\x02\x0a\x00", "latin1")],
  run(input) {
    accepted(() => decodeBytes(input, protobufType), isBodyError);
    accepted(() => decodeBytes(Buffer.concat([Buffer.from("k8s\0"), input]), protobufType), isBodyError);
  },
};
