// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import { isDeeperThan } from "../patch/json-patch.ts";
import { goJson, goNumber, goPlain, goQuote, goSyntax, goTypeName } from "./go-text.ts";
import {
  compareUtf8,
  type JsonValue,
  jsonEqual,
  ownValue,
  setOwnValue,
  sortedKeys,
  utf8Length,
  withOwnValue,
  withoutOwnValue,
} from "./json-value.ts";

test("strings are quoted as %q does", () => {
  const rows: ReadonlyArray<readonly [string, string]> = [
    ["", '""'],
    ["plain text", '"plain text"'],
    ['a"b\\c', '"a\\"b\\\\c"'],
    ["a\u0001\u2028é😀\n\u00a0", '"a\\x01\\u2028é😀\\n\\u00a0"'],
    ["\u0007\b\f\r\t\v\u007f\u0080", '"\\a\\b\\f\\r\\t\\v\\x7f\\u0080"'],
    ["\u{e0001}", '"\\U000e0001"'],
    ["\ud800", '"�"'],
  ];
  for (const [text, want] of rows) assert.equal(goQuote(text), want);
});

test("numbers are printed as %v does", () => {
  const rows: ReadonlyArray<readonly [number | bigint, string]> = [
    [0, "0"],
    [-5, "-5"],
    [1000000, "1000000"],
    [1.5, "1.5"],
    [123456.5, "123456.5"],
    [1234567.5, "1.2345675e+06"],
    [0.0001234, "0.0001234"],
    [0.00001234, "1.234e-05"],
    [1e300, "1e+300"],
    [9007199254740993n, "9007199254740993"],
  ];
  for (const [value, want] of rows) assert.equal(goNumber(value), want);
});

test("values are printed as json.Marshal does: keys sorted by bytes, markup escaped", () => {
  assert.equal(
    goJson({ b: ["<a>", null, true, 1.5, 9007199254740993n], a: "x&y", "\uffff": 1, "😀": 2 }),
    '{"a":"x\\u0026y","b":["\\u003ca\\u003e",null,true,1.5,9007199254740993],"\uffff":1,"😀":2}',
  );
  assert.equal(goJson("\b\u2028\ud800"), '"\\b\\u2028�"');
});

test("strings are ordered and measured as UTF-8", () => {
  const sorted = ["", "a", "a-b", "a.b", "aa", "b", "é", "\uffff", "😀", "😀a"];
  for (const [i, a] of sorted.entries()) {
    for (const [j, b] of sorted.entries()) {
      assert.equal(Math.sign(compareUtf8(a, b)), Math.sign(i - j), `${a} against ${b}`);
      assert.equal(Math.sign(Buffer.compare(Buffer.from(a), Buffer.from(b))), Math.sign(i - j));
    }
  }
  assert.deepEqual(sortedKeys({ "😀": 1, "\uffff": 1, a: 1 }), ["a", "\uffff", "😀"]);
  assert.equal(utf8Length("é😀"), 6);
});

test("equality is deep, by own keys, and by value for numbers", () => {
  const equal: ReadonlyArray<readonly [JsonValue, JsonValue]> = [
    [1, 1],
    [9007199254740993n, 9007199254740993n],
    [9007199254740992n, 9007199254740992],
    [{ a: [1, { b: null }] }, { a: [1, { b: null }] }],
    [
      { a: 1, b: 2 },
      { b: 2, a: 1 },
    ],
  ];
  const different: ReadonlyArray<readonly [JsonValue, JsonValue]> = [
    [1, "1"],
    [null, {}],
    [[], {}],
    [[1], [1, 2]],
    [{ a: 1 }, { b: 1 }],
    [{ toString: 1 }, {}],
    [{ a: 1 }, JSON.parse('{"__proto__":1}') as JsonValue],
    [0, false],
    [9007199254740993n, 5],
  ];
  for (const [a, b] of equal) assert.ok(jsonEqual(a, b) && jsonEqual(b, a));
  for (const [a, b] of different) assert.ok(!jsonEqual(a, b) && !jsonEqual(b, a));
});

test("own values: inherited names are absent, __proto__ is an ordinary key", () => {
  const object = Object.freeze({ a: 1 });
  assert.equal(ownValue(object, "constructor"), undefined);
  assert.equal(ownValue(object, "a"), 1);
  const target: Record<string, JsonValue> = {};
  setOwnValue(target, "__proto__", { x: 1 });
  assert.deepEqual(ownValue(target, "__proto__"), { x: 1 });
  assert.equal(Object.getPrototypeOf(target), Object.prototype);
  const copy = withOwnValue(target, "b", 2);
  assert.deepEqual(Object.keys(copy), ["__proto__", "b"]);
  assert.deepEqual(Object.keys(withoutOwnValue(copy, "__proto__")), ["b"]);
  assert.equal(withoutOwnValue(object, "zzz"), object);
  assert.deepEqual(object, { a: 1 });
});

test("depth is counted in containers, at any depth", () => {
  const nest = (levels: number): JsonValue => {
    let value: JsonValue = 1;
    for (let i = 0; i < levels; i++) value = i % 2 === 0 ? [value] : { a: value, b: [] };
    return value;
  };
  assert.equal(isDeeperThan(1, 0), false);
  assert.equal(isDeeperThan([], 0), true);
  assert.equal(isDeeperThan(nest(5), 5), false);
  assert.equal(isDeeperThan(nest(5), 4), true);
  assert.equal(isDeeperThan(nest(200_000), 1000), true);
});

test("values are printed as %v and %#v do", () => {
  const value: JsonValue = { b: [1, "x", null], a: { c: true, d: 1.5 } };
  assert.equal(goPlain(value), "map[a:map[c:true d:1.5] b:[1 x <nil>]]");
  assert.equal(
    goSyntax(value),
    'map[string]interface {}{"a":map[string]interface {}{"c":true, "d":1.5}, "b":[]interface {}{1, "x", interface {}(nil)}}',
  );
  const names = [1, 1.5, 2n, "x", true, null, [], {}].map((one) => goTypeName(one));
  assert.deepEqual(names, [
    "int64",
    "float64",
    "int64",
    "string",
    "bool",
    "<nil>",
    "[]interface {}",
    "map[string]interface {}",
  ]);
});
