// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import type { JsonObject, JsonValue } from "@purlin/kube-objects/json";
import type { KubeObject } from "@purlin/kube-objects/object";
import { failedAssertions } from "./xprin-assertions.ts";

const object = (kind: string, name: string, more: JsonObject = {}): KubeObject => ({
  apiVersion: "v1",
  kind,
  metadata: { name },
  ...more,
});

const objects: readonly KubeObject[] = [
  object("App", "shop", {
    spec: {
      size: "s",
      replicas: 3,
      big: 9007199254740993n,
      ratio: 0.5,
      on: true,
      none: null,
      list: [{ port: 80 }],
      map: {},
    },
  }),
  object("Bucket", "logs"),
  object("Bucket", "data-1"),
  object("Bucket", "data-2"),
  object("Role", "a.b"),
];

/** The lines about assertions over the objects above, with files by name. */
const failures = (assertions: readonly JsonValue[], files: Readonly<Record<string, string>> = {}): Promise<string[]> =>
  failedAssertions(assertions, {
    objects,
    readFile: async (name) => files[name] ?? Promise.reject(new Error(`${name}: no such file`)),
  });

test("Count counts everything, or what a pattern matches", async () => {
  const cases: readonly (readonly [resource: string | undefined, count: number])[] = [
    [undefined, 5],
    ["  ", 5],
    ["Bucket", 3],
    ["Bucket/logs", 1],
    ["Bucket/data-*", 2],
    ["*/logs", 1],
    ["*/*", 5],
    ["Bucket/data-?", 2],
    ["Bucket/data-[1]", 1],
    ["Bucket/data-[^1]", 1],
    ["Bucket/data-[1-9]", 2],
    ["Bucket/[z-a]", 0],
    ["Role/a.b", 1],
    ["Role/a?b", 1],
    ["Role/axb", 0],
    ["Role/a\\.b", 1],
    ["bucket", 0],
    ["Buck", 0],
    [" Bucket ", 3],
  ];
  for (const [resource, value] of cases) {
    const assertion = { name: "n", type: "Count", value, ...(resource !== undefined && { resource }) };
    assert.deepEqual(await failures([assertion]), [], String(resource));
  }
});

test("a wrong Count reports both numbers, and the pattern if there is one", async () => {
  assert.deepEqual(
    await failures([
      { name: "all", type: "Count", value: 2 },
      { name: "buckets", type: "Count", resource: "Bucket", value: "3" },
      { type: "Count" },
    ]),
    ["all: expected 2, got 5", 'buckets: Bucket: expected "3", got 3', "Count: expected null, got 5"],
  );
});

test("Exists names the objects of the same kind when there is none of the name", async () => {
  assert.deepEqual(
    await failures([
      { name: "a", type: "Exists", resource: "Bucket/logs" },
      { name: "b", type: "Exists", resource: "Bucket/missing" },
      { name: "c", type: "Exists", resource: "Queue/missing" },
      { name: "d", type: "Exists", resource: "Queue" },
    ]),
    [
      "b: resource Bucket/missing not found; there are Bucket/logs, Bucket/data-1, Bucket/data-2",
      "c: resource Queue/missing not found",
      "d: resource Queue not found",
    ],
  );
});

test("NotExists names what a pattern found, and not the name that it has itself", async () => {
  assert.deepEqual(
    await failures([
      { name: "a", type: "NotExists", resource: "Queue" },
      { name: "b", type: "NotExists", resource: "Bucket/logs" },
      { name: "c", type: "NotExists", resource: "Bucket/data-*" },
      { name: "d", type: "NotExists", resource: "App" },
    ]),
    [
      "b: resource Bucket/logs exists",
      "c: resource Bucket/data-* exists: Bucket/data-1, Bucket/data-2",
      "d: resource App exists: App/shop",
    ],
  );
});

test("a resource with more than one slash, and an unknown type, are errors of their assertion", async () => {
  assert.deepEqual(
    await failures([
      { name: "a", type: "Exists", resource: "v1/Bucket/logs" },
      { name: "b", type: "Exist", resource: "Bucket" },
      { name: "c", resource: "Bucket" },
      "not an assertion",
    ]),
    [
      "a: resource v1/Bucket/logs: expected Kind or Kind/name",
      'b: unknown assertion type "Exist"',
      "c: unknown assertion type null",
    ],
  );
});

const field = (type: string, path: string, more: JsonObject = {}): JsonObject => ({
  ...{ name: path, type, resource: "App/shop", field: path },
  ...more,
});

test("FieldExists and FieldNotExists: a field that is null exists", async () => {
  for (const path of ["spec.size", "spec.none", "spec.list.0.port", "spec.map", "metadata.name"]) {
    assert.deepEqual(await failures([field("FieldExists", path)]), [], path);
    assert.deepEqual(await failures([field("FieldNotExists", path)]), [`${path}: ${path}: exists`]);
  }
  for (const path of [
    "spec.other",
    "spec.list.1",
    "spec.list.x",
    "spec.list.-1",
    "spec.size.length",
    "spec.none.x",
    "",
  ]) {
    assert.deepEqual(await failures([field("FieldNotExists", path)]), [], path);
    assert.deepEqual(await failures([field("FieldExists", path, { name: "n" })]), [`n: ${path}: does not exist`]);
  }
});

test("FieldType supports the types of JSON; integers of any size are numbers", async () => {
  const types: Readonly<Record<string, string>> = {
    "spec.size": "string",
    "spec.replicas": "number",
    "spec.big": "number",
    "spec.ratio": "number",
    "spec.on": "boolean",
    "spec.none": "null",
    "spec.list": "array",
    "spec.map": "object",
  };
  for (const [path, value] of Object.entries(types)) {
    assert.deepEqual(await failures([field("FieldType", path, { value })]), [], path);
  }
  assert.deepEqual(await failures([field("FieldType", "spec.size", { name: "n", value: "number" })]), [
    'n: spec.size: expected "number", got "string"',
  ]);
  assert.deepEqual(await failures([field("FieldType", "spec.no", { name: "n", value: "null" })]), [
    "n: spec.no: does not exist",
  ]);
});

test("FieldValue compares whole values, with the operators == and is", async () => {
  assert.deepEqual(
    await failures([
      field("FieldValue", "spec.size", { value: "s" }),
      field("FieldValue", "spec.replicas", { value: 3, operator: "==" }),
      field("FieldValue", "spec.list", { value: [{ port: 80 }], operator: "is" }),
      field("FieldValue", "spec.big", { value: 9007199254740993n }),
      field("FieldValue", "spec.none", { value: null }),
    ]),
    [],
  );
  assert.deepEqual(
    await failures([
      field("FieldValue", "spec.size", { name: "a", value: "l" }),
      field("FieldValue", "spec.replicas", { name: "b", value: "3" }),
      field("FieldValue", "spec.big", { name: "c", value: 9007199254740992n }),
      field("FieldValue", "spec.size", { name: "d", value: "s", operator: "!=" }),
      field("FieldValue", "spec.other", { name: "e", value: null }),
      field("FieldValue", "spec.size", { name: "f" }),
    ]),
    [
      'a: spec.size: expected "l", got "s"',
      'b: spec.replicas: expected "3", got 3',
      "c: spec.big: expected 9007199254740992, got 9007199254740993",
      'd: operator "!=": expected == or is',
      "e: spec.other: does not exist",
      'f: spec.size: expected null, got "s"',
    ],
  );
});

test("a field assertion holds for every object that a pattern matches, and names those for which it does not", async () => {
  assert.deepEqual(
    await failures([
      { name: "a", type: "FieldExists", resource: "Bucket", field: "metadata.name" },
      { name: "b", type: "FieldValue", resource: "Bucket/data-*", field: "metadata.name", value: "data-1" },
      { name: "c", type: "FieldExists", resource: "Bucket/none", field: "metadata.name" },
    ]),
    [
      'b: Bucket/data-2: metadata.name: expected "data-1", got "data-2"',
      "c: resource Bucket/none not found; there are Bucket/logs, Bucket/data-1, Bucket/data-2",
    ],
  );
});

const yaml = (kind: string, name: string, more = ""): string =>
  `---\napiVersion: v1\nkind: ${kind}\nmetadata: {name: ${name}}\n${more}`;

test("Golden: each document of the file is part of an object; results and what a server sets do not count", async () => {
  const golden = [
    yaml("App", "shop", "spec: {size: s}\n"),
    "---\napiVersion: v1\nkind: Bucket\nmetadata: {name: logs, uid: x, resourceVersion: '1', creationTimestamp: now, ownerReferences: [{uid: y}]}\n",
    "---\napiVersion: render.crossplane.io/v1beta1\nkind: Result\nmessage: hello\n",
    "--- just a text\n",
  ].join("");
  const assertion = { name: "g", type: "Golden", expected: "g.yaml" };
  assert.deepEqual(await failures([{ ...assertion, resource: "[AB]*" }], { "g.yaml": golden }), []);
  assert.deepEqual(await failures([assertion], { "g.yaml": golden }), [
    "g: Bucket/data-1: not in g.yaml",
    "g: Bucket/data-2: not in g.yaml",
    "g: Role/a.b: not in g.yaml",
  ]);
});

test("Golden: fields that differ and objects that are missing are named", async () => {
  const golden = yaml("App", "shop", "spec: {size: l, replicas: 3}\n") + yaml("Bucket", "old");
  const assertion = { name: "g", type: "Golden", expected: "g.yaml", resource: "App" };
  assert.deepEqual(await failures([assertion], { "g.yaml": golden }), [
    'g: App/shop.spec.size: expected "l", got "s"',
    "g: Bucket/old: not rendered",
  ]);
});

test("Golden: a file that cannot be read fails its assertion only", async () => {
  assert.deepEqual(
    await failures([
      { name: "g", type: "Golden", expected: "none.yaml" },
      { name: "h", type: "Golden" },
      { name: "i", type: "Count", value: 1 },
    ]),
    ["g: none.yaml: no such file", "h: : no such file", "i: expected 1, got 5"],
  );
});
