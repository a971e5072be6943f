// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import { isBadRequest } from "@purlin/kube-objects/errors";
import type { JsonValue } from "@purlin/kube-objects/json";
import { readYaml } from "./yaml-body.ts";

const cases: Record<string, { reason: string; text: string; want: JsonValue; duplicates?: string[] }> = {
  Json: { reason: "JSON is YAML", text: '{"a": [1, "x", null, true]}', want: { a: [1, "x", null, true] } },
  Booleans: {
    reason: "the words of YAML 1.1",
    text: "a: yes\nb: Off\nc: n\nd: 'yes'",
    want: { a: true, b: false, c: false, d: "yes" },
  },
  Octal: { reason: "file modes", text: "a: 0644\nb: 0o17\nc: 0x1f\nd: 08", want: { a: 420, b: 15, c: 31, d: 8 } },
  Big: { reason: "64 bits", text: "a: 9007199254740993", want: { a: 9007199254740993n } },
  Dates: { reason: "dates are text", text: "a: 2026-01-02", want: { a: "2026-01-02" } },
  Merge: { reason: "merge keys", text: "x: &x {a: 1}\nz:\n  <<: *x\n  b: 2", want: { x: { a: 1 }, z: { a: 1, b: 2 } } },
  Empty: { reason: "nothing", text: "# only a comment", want: null },
  Twice: {
    reason: "the last one counts, and the first is reported",
    text: "a: 1\nb:\n  c: 1\n  c: 2\na: 3",
    want: { a: 3, b: { c: 2 } },
    duplicates: ['line 4: key "c" already set in map', 'line 5: key "a" already set in map'],
  },
  Same: { reason: "the same key in different maps is fine", text: "- a: 1\n- a: 2", want: [{ a: 1 }, { a: 2 }] },
};

for (const [name, { reason, text, want, duplicates = [] }] of Object.entries(cases)) {
  test(`YAML: ${name}`, () => assert.deepEqual(readYaml(text), { value: want, duplicates }, reason));
}

const deep = "[".repeat(2000) + "]".repeat(2000);
const bomb = `a: &a [1,1,1,1,1,1,1,1,1,1]\n${[..."bcdefg"].map((key, i) => `${key}: &${key} [${Array(10).fill(`*${"abcdef"[i]}`)}]`).join("\n")}`;

for (const [name, text] of Object.entries({
  Broken: "a: [",
  Tab: "a:\n\t- b",
  Deep: deep,
  Bomb: bomb,
  Infinite: "a: .inf",
  NotANumber: "a: .nan",
})) {
  test(`not YAML we take: ${name}`, () => assert.throws(() => readYaml(text), isBadRequest));
}

test("a long tag or directive is refused, and long names are cut in messages", () => {
  const long = "x".repeat(1025);
  assert.throws(() => readYaml(`a: !${long} b`), /: yaml: a tag has more than 1024 characters$/);
  assert.throws(() => readYaml(`%TAG ${long}\n---\na: b`), /: yaml: a directive has more than 1024 characters$/);
  assert.throws(() => readYaml(`a: *b"c`), /: yaml: unknown anchor 'b"c' referenced$/);
  const named = (length: number) => () => readYaml(`a: *${"x".repeat(length)}`);
  assert.throws(named(900), /: yaml: unknown anchor 'x{900}' referenced$/);
  assert.throws(named(90_000), /: yaml: unknown anchor 'x{900,1024}' referenced$/);
  const text = `a: |\n  %${long}\n  !${long}\n`;
  assert.deepEqual(readYaml(text).value, { a: `%${long}\n!${long}\n` });
});

test("a long text that is repeated by aliases is refused", () => {
  const text = `a: &a "${"x".repeat(100_000)}"\nb: [${Array(10_000).fill("*a").join(",")}]\n`;
  assert.throws(() => readYaml(text), /document contains excessive aliasing/);
  assert.throws(() => readYaml("a: &a [*a]\n"), /document contains excessive aliasing/);
});

for (const [name, breaks] of Object.entries({ LF: "\n", CR: "\r", CRLF: "\r\n", commas: "," })) {
  test(`a text has at most 100,000 lines and commas: ${name}`, () => {
    const text = (count: number): string => `a: "${`${breaks} x`.repeat(count)}"`;
    assert.doesNotThrow(() => readYaml(text(100_000)));
    assert.throws(() => readYaml(text(100_001)), /limit is 100000 lines and commas of YAML/);
  });
}

test("a text with null bytes is refused in the words of the reference", () => {
  const message = /^error converting YAML to JSON: yaml: control characters are not allowed$/;
  assert.throws(() => readYaml("a: \0"), { message });
});
