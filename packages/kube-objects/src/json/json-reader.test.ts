// SPDX-License-Identifier: Apache-2.0
// The JSON reader alone: numbers, strings, duplicate keys, depth, and where each error is. json-text.test.ts compares both
// readers with the reference.
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { finish } from "@purlin/base";
import { JsonSyntaxError, readingJson, readJson } from "./json-reader.ts";
import type { JsonValue } from "./json-value.ts";

const read = (text: string): JsonValue => readJson(text, 100).value;

describe("numbers", () => {
  const rows: Readonly<Record<string, number | bigint>> = {
    "0": 0,
    "-0": 0,
    "-0.0": 0,
    "7": 7,
    "-7": -7,
    "1.0": 1,
    "1e3": 1000,
    "1E+3": 1000,
    "1e-3": 0.001,
    "9007199254740991": 9007199254740991,
    "9007199254740992": 9007199254740992n,
    "-9007199254740992": -9007199254740992n,
    "9223372036854775807": 9223372036854775807n,
    "-9223372036854775808": -9223372036854775808n,
    "9223372036854775808": 2 ** 63,
    "-9223372036854775809": -(2 ** 63),
    "9007199254740993.0": 9007199254740992,
  };
  for (const [text, value] of Object.entries(rows)) {
    test(`${text} is ${value}, a ${typeof value}`, () => assert.equal(read(text), value));
  }

  test("zero is never negative", () => assert.equal(Object.is(read("-0"), 0), true));

  test("a number beyond all doubles is refused", () => {
    assert.throws(() => read("[1e999]"), {
      name: "JsonSyntaxError",
      message: "json: cannot unmarshal number 1e999 into Go value of type float64",
      offset: 1,
    });
    assert.equal(read("1e-999"), 0);
  });
});

describe("strings", () => {
  const rows: Readonly<Record<string, string>> = {
    '""': "",
    '"a b"': "a b",
    '"\\"\\\\\\/\\b\\f\\n\\r\\t"': '"\\/\b\f\n\r\t',
    '"\\u0041\\u00e9"': "Aé",
    '"\\uD83D\\ude00"': "😀",
    '"\u{1f600}\u007f"': "\u{1f600}\u007f",
    '"\\ud83d"': "\ufffd",
    '"\\ude00\\ud83d"': "\ufffd\ufffd",
    '"\\ud83dx"': "\ufffdx",
  };
  for (const [text, value] of Object.entries(rows)) test(`${text} is read`, () => assert.equal(read(text), value));
});

describe("white space and structure", () => {
  test("white space may stand between all tokens", () => {
    assert.deepEqual(read(' \t\r\n{ "a" : [ 1 , true ] , "b" : { } , "c" : [ ] } \n'), { a: [1, true], b: {}, c: [] });
  });

  test("words", () => assert.deepEqual(read("[true,false,null]"), [true, false, null]));

  test("a key of the language is data", () => {
    const value = read('{"__proto__":1,"constructor":2}') as Record<string, JsonValue>;
    assert.deepEqual(Object.entries(value), [
      ["__proto__", 1],
      ["constructor", 2],
    ]);
    assert.equal(Object.getPrototypeOf(value), Object.prototype);
  });

  test("read in parts is read at once", () => {
    const text = '{"a":[1,{"b":1.5}],"a":2}';
    assert.deepEqual(finish(readingJson(text, 10)), readJson(text, 10));
  });
});

describe("duplicate keys", () => {
  const duplicates = (text: string): readonly string[] => readJson(text, 100).duplicates;

  test("the last value counts, at the place of the first", () => {
    assert.deepEqual(Object.entries(read('{"a":1,"b":2,"a":3}') as object), [
      ["a", 3],
      ["b", 2],
    ]);
  });

  const rows: Readonly<Record<string, readonly string[]>> = {
    '{"a":1,"b":1}': [],
    '{"a":1,"a":1}': ["a"],
    '{"a":1,"a":1,"a":1}': ["a"],
    '{"a":{"b":1,"b":2}}': ["a.b"],
    '{"l":[{},{"x":1,"x":2}]}': ["l[1].x"],
    '[{"x":1,"x":2}]': ["[0].x"],
    '{"a":{"x":1},"b":{"x":1}}': [],
    '{"":1,"":2}': [""],
    '{"a":1,"\\u0061":2}': ["a"],
    '{"b":{"c":1,"c":1},"b":1}': ["b.c", "b"],
  };
  for (const [text, paths] of Object.entries(rows)) {
    test(`${text} has ${JSON.stringify(paths)}`, () => assert.deepEqual(duplicates(text), paths));
  }
});

describe("depth", () => {
  test("arrays and objects count alike, and only while they are open", () => {
    assert.deepEqual(readJson("[[],[],{}]", 2).value, [[], [], {}]);
    assert.deepEqual(readJson('{"a":[{}]}', 3).value, { a: [{}] });
  });

  test("one level too many is refused where it begins", () => {
    assert.throws(() => readJson("[[]]", 1), {
      message: "invalid character '[' exceeded max depth",
      offset: 1,
    });
    assert.throws(() => readJson('{"a":{}}', 1), { message: "invalid character '{' exceeded max depth", offset: 5 });
  });
});

describe("errors", () => {
  const end = "unexpected end of JSON input";
  const invalid = (character: string, context: string): string => `invalid character ${character} ${context}`;
  const rows: readonly (readonly [text: string, offset: number, message: string])[] = [
    ["", 0, end],
    ["  ", 2, end],
    ["[", 1, end],
    ["[1", 2, end],
    ["[1,", 3, end],
    ["{", 1, end],
    ['{"a"', 4, end],
    ['{"a":', 5, end],
    ['{"a":1', 6, end],
    ['"abc', 4, end],
    ["x", 0, invalid("'x'", "looking for beginning of value")],
    ["+1", 0, invalid("'+'", "looking for beginning of value")],
    [".5", 0, invalid("'.'", "looking for beginning of value")],
    ["'a'", 0, invalid("'\\''", "looking for beginning of value")],
    ["[,]", 1, invalid("','", "looking for beginning of value")],
    ["[1,]", 3, invalid("']'", "looking for beginning of value")],
    ["{a:1}", 1, invalid("'a'", "looking for beginning of object key string")],
    ['{"a":1,}', 7, invalid("'}'", "looking for beginning of object key string")],
    ["{1:1}", 1, invalid("'1'", "looking for beginning of object key string")],
    ['{"a" 1}', 5, invalid("'1'", "after object key")],
    ['{"a":1 "b":2}', 7, invalid("'\"'", "after object key:value pair")],
    ["[1 2]", 3, invalid("'2'", "after array element")],
    ["1 2", 2, invalid("'2'", "after top-level value")],
    ["01", 1, invalid("'1'", "after top-level value")],
    ["{}}", 2, invalid("'}'", "after top-level value")],
    ["-", 1, invalid("' '", "in numeric literal")],
    ["-a", 1, invalid("'a'", "in numeric literal")],
    ["1.", 2, invalid("' '", "after decimal point in numeric literal")],
    ["1.e3", 2, invalid("'e'", "after decimal point in numeric literal")],
    ["1e", 2, invalid("' '", "in exponent of numeric literal")],
    ["1e+", 3, invalid("' '", "in exponent of numeric literal")],
    ["1ex", 2, invalid("'x'", "in exponent of numeric literal")],
    ["tru", 3, invalid("' '", "in literal true (expecting 'e')")],
    ["trUe", 2, invalid("'U'", "in literal true (expecting 'u')")],
    ["nul]", 3, invalid("']'", "in literal null (expecting 'l')")],
    ["fa1se", 2, invalid("'1'", "in literal false (expecting 'l')")],
    ['"a\nb"', 2, invalid("'\\n'", "in string literal")],
    ['"\u0000"', 1, invalid("'\\x00'", "in string literal")],
    ['"\\x"', 2, invalid("'x'", "in string escape code")],
    ['"\\', 2, invalid("' '", "in string escape code")],
    ['"\\u12g4"', 5, invalid("'g'", "in \\u hexadecimal character escape")],
    ['"\\u1', 4, invalid("' '", "in \\u hexadecimal character escape")],
    ["é", 0, invalid("'Ã'", "looking for beginning of value")],
    ["😀", 0, invalid("'ð'", "looking for beginning of value")],
    ["\ufeff1", 0, invalid("'ï'", "looking for beginning of value")],
  ];
  for (const [text, offset, message] of rows) {
    test(`${JSON.stringify(text)} is refused at ${offset}`, () => {
      assert.throws(
        () => read(text),
        (error: unknown) => {
          assert.ok(error instanceof JsonSyntaxError && error instanceof SyntaxError);
          assert.deepEqual({ message: error.message, offset: error.offset }, { message, offset });
          return true;
        },
      );
    });
  }
});
