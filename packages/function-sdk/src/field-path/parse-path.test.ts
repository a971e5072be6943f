// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { isFunctionError } from "../errors/function-error.ts";
import { formatPath, parsePath, type Segment, wildcard } from "./parse-path.ts";

const valid: Record<string, { path: string; want: Segment[] }> = {
  OneField: { path: "spec", want: ["spec"] },
  Fields: { path: "metadata.name", want: ["metadata", "name"] },
  Index: { path: "spec.ports[0].name", want: ["spec", "ports", 0, "name"] },
  IndexFirst: { path: "[2]", want: [2] },
  NestedIndexes: { path: "a[0][1]", want: ["a", 0, 1] },
  SingleQuotes: { path: "metadata.annotations['a.b/c']", want: ["metadata", "annotations", "a.b/c"] },
  DoubleQuotes: { path: 'metadata.annotations["a.b/c"].x', want: ["metadata", "annotations", "a.b/c", "x"] },
  Bare: { path: "data[some.key]", want: ["data", "some.key"] },
  BracketInQuotes: { path: "a['x[1]']", want: ["a", "x[1]"] },
  QuotedNumber: { path: "a['0']", want: ["a", "0"] },
  Wildcard: { path: "spec.containers[*].image", want: ["spec", "containers", wildcard, "image"] },
  QuotedStar: { path: "a['*']", want: ["a", "*"] },
  LargestIndex: { path: "a[4294967295]", want: ["a", 4_294_967_295] },
  BeyondIndexes: { path: "a[4294967296]", want: ["a", "4294967296"] },
  NegativeIsName: { path: "a[-1]", want: ["a", "-1"] },
  Proto: { path: "a.__proto__", want: ["a", "__proto__"] },
  EmptyQuoted: { path: "a['']", want: ["a", ""] },
};

for (const [name, { path, want }] of Object.entries(valid)) {
  test(`path ${name}: ${path}`, () => {
    assert.deepEqual(parsePath(path), want);
    assert.deepEqual(parsePath(path), want, "the second time too, when it is remembered");
  });
}

const invalid: Record<string, { path: string; position: number }> = {
  Empty: { path: "", position: 0 },
  LeadingDot: { path: ".a", position: 0 },
  TrailingDot: { path: "a.", position: 1 },
  "C44 DoubleDot": { path: "a..b", position: 2 },
  DotBracket: { path: "a.[0]", position: 2 },
  EmptyBrackets: { path: "a[]", position: 1 },
  Unterminated: { path: "a[0", position: 1 },
  UnterminatedQuote: { path: "a['b]", position: 1 },
  CloseWithoutOpen: { path: "a]b", position: 1 },
  NestedOpen: { path: "a[b[c]", position: 1 },
  TextAfterBracket: { path: "a[0]b", position: 4 },
  DotAtEndAfterBracket: { path: "a[0].", position: 4 },
};

for (const [name, { path, position }] of Object.entries(invalid)) {
  test(`no path, ${name}: ${JSON.stringify(path)}`, () => {
    assert.throws(
      () => parsePath(path),
      (error: unknown) => isFunctionError(error, "INVALID_PATH") && error.message.endsWith(`at position ${position}`),
    );
  });
}

test("property: what is written as a path is read as the same steps", () => {
  const name = fc.string({ unit: "grapheme" }).filter((text) => !(text.includes("']") && text.includes('"]')));
  const segment = fc.oneof(name, fc.nat(1024), fc.constant(wildcard));
  fc.assert(
    fc.property(fc.array(segment, { minLength: 1, maxLength: 6 }), (segments) => {
      // A name that ends in a quote is ambiguous with the closing quote.
      fc.pre(!segments.some((one) => typeof one === "string" && /['"]$/.test(one)));
      assert.deepEqual(parsePath(formatPath(segments)), segments);
    }),
  );
});

test("property: any text is a path or a clear error, never anything else", () => {
  fc.assert(
    fc.property(fc.string(), (text) => {
      try {
        assert.ok(parsePath(text).length > 0);
      } catch (error) {
        assert.ok(isFunctionError(error, "INVALID_PATH"));
      }
    }),
  );
});
