// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import { createHmac } from "node:crypto";
import { mkdtempSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import {
  isMark,
  keyedMark,
  plainMark,
  readMarkKey,
  SensitiveKinds,
  sensitiveFieldsAt,
  sensitiveFieldsIn,
} from "./sensitive-fields.ts";

/** Fields have no prototype, which a comparison would count. */
const plain = (fields: unknown): unknown => JSON.parse(JSON.stringify(fields ?? null));

const schemas: readonly (readonly [name: string, schema: unknown, want: unknown])[] = [
  ["a password", { format: "password" }, true],
  ["a field for writing only", { writeOnly: true }, true],
  ["a field with the own extension", { "x-purlin-sensitive": true }, true],
  ["another format", { type: "string", format: "date" }, null],
  ["extensions that say no", { writeOnly: false, "x-purlin-sensitive": "true" }, null],
  [
    "members",
    { properties: { a: { writeOnly: true }, b: { type: "string" }, c: { properties: { d: { format: "password" } } } } },
    { a: true, c: { d: true } },
  ],
  ["items", { items: { properties: { token: { format: "password" } } } }, { "*": { token: true } }],
  ["any members", { additionalProperties: { format: "password" } }, { "*": true }],
  [
    "members and any members",
    { properties: { a: { writeOnly: true } }, additionalProperties: { writeOnly: true } },
    { a: true, "*": true },
  ],
  ["a boolean in the place of a schema", { additionalProperties: true }, null],
  ["what is not a schema", [null, 7, "x", []], null],
];

for (const [name, schema, want] of schemas) {
  test(`sensitive fields of a schema: ${name}`, () => {
    assert.deepEqual(plain(sensitiveFieldsIn(schema)), want);
  });
}

test("a field may have the name of a member of every object", () => {
  const schema = JSON.parse(
    '{"properties":{"__proto__":{"writeOnly":true},"constructor":{"writeOnly":true}}}',
  ) as unknown;
  assert.deepEqual(Object.keys(sensitiveFieldsIn(schema) ?? {}).sort(), ["__proto__", "constructor"]);
});

test("a schema that is nested without end is read to a depth", () => {
  const node: Record<string, unknown> = { properties: { secret: { writeOnly: true } } };
  (node["properties"] as Record<string, unknown>)["next"] = node;
  let fields: unknown = sensitiveFieldsIn(node);
  let depth = 0;
  for (; typeof fields === "object" && fields !== null; depth++) fields = (fields as Record<string, unknown>)["next"];
  assert.ok(depth > 10 && depth < 100, String(depth));
});

const paths: readonly (readonly [paths: readonly string[], want: unknown])[] = [
  [[], null],
  [["spec.password"], { spec: { password: true } }],
  [["spec.a", "spec.b.c"], { spec: { a: true, b: { c: true } } }],
  [["spec.users[*].token"], { spec: { users: { "*": { token: true } } } }],
  [["spec.users[0].token"], { spec: { users: { "*": { token: true } } } }],
  [['metadata.annotations["example.org/key"]'], { metadata: { annotations: { "example.org/key": true } } }],
  [["metadata.annotations['a.b']"], { metadata: { annotations: { "a.b": true } } }],
  [["spec", "spec.a"], { spec: true }],
  [["spec.a", "spec"], { spec: true }],
];

for (const [list, want] of paths) {
  test(`sensitive fields at ${JSON.stringify(list)}`, () => {
    assert.deepEqual(plain(sensitiveFieldsAt(list)), want);
  });
}

test("kinds are found by their name, and a new field changes the version", () => {
  const kinds = new SensitiveKinds();
  kinds.set("example.org/v1", "Account", true);
  assert.equal(kinds.version, 1);
  assert.equal(kinds.get("example.org/v1", "Account"), true);
  assert.equal(kinds.get("example.org/v2", "Account"), undefined);
  assert.equal(kinds.mayBeIn(Buffer.from("…kind: Account…")), true);
  assert.equal(kinds.mayBeIn(Buffer.from("example.org/v1")), false);
  kinds.set("example.org/v1", "Account", undefined);
  assert.deepEqual([kinds.get("example.org/v1", "Account"), kinds.version], [undefined, 1]);
});

test("a mark has the beginning of an HMAC of the value", () => {
  for (const key of [Buffer.from("key"), Buffer.alloc(64, 7), Buffer.alloc(100, 9)]) {
    const digits = createHmac("sha256", key).update("value").digest("hex").slice(0, 8);
    assert.equal(keyedMark(key)(Buffer.from("value")), `**REDACTED:${digits}**`);
  }
  assert.equal(plainMark(Buffer.from("value")), "**REDACTED**");
});

test("only a whole mark is a mark", () => {
  const marks = [
    "**REDACTED**",
    "**REDACTED:0123abcd**",
    "x**REDACTED**",
    "**REDACTED**\n",
    "**REDACTED:0123ABCD**",
    "**REDACTED:0123abc**",
    "",
  ];
  assert.deepEqual(marks.map(isMark), [true, true, false, false, false, false, false]);
});

test("a key is made once, for its owner alone, and one that is too short is refused", (t) => {
  const directory = mkdtempSync(join(tmpdir(), "key-"));
  t.after(() => rmSync(directory, { recursive: true }));
  const path = join(directory, "key");
  const key = readMarkKey(path);
  assert.equal(key.length, 32);
  assert.equal(statSync(path).mode & 0o777, 0o600);
  assert.deepEqual(readMarkKey(path), key);
  const short = join(directory, "short");
  writeFileSync(short, "abc");
  assert.throws(() => readMarkKey(short), { message: `${short} is not a key of 32 bytes: remove it` });
});
