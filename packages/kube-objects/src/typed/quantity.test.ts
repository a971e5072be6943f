// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import {
  canonicalQuantity,
  compareQuantities,
  quantityNanos,
  quantityText,
  quantityValue,
  roundedToMilli,
} from "./quantity.ts";

const canonical: readonly (readonly [string, string | undefined])[] = [
  // Decimal suffixes: the largest one that needs no fraction.
  ["0", "0"],
  ["-0", "0"],
  ["0Ki", "0"],
  ["00.10", "100m"],
  ["+1", "1"],
  ["1000", "1k"],
  ["1500", "1500"],
  ["1000m", "1"],
  ["1000000u", "1"],
  ["0.001", "1m"],
  ["1.5k", "1500"],
  ["1.", "1"],
  [".5", "500m"],
  ["1E", "1E"],
  ["12E", "12E"],
  ["1000P", "1E"],
  // Exponents stay exponents, in steps of three.
  ["1e3", "1e3"],
  ["1E3", "1e3"],
  ["1e4", "10e3"],
  ["1e1", "10"],
  ["1e-3", "1e-3"],
  ["1e+6", "1e6"],
  // Binary suffixes, unless the amount is small or has a fraction.
  ["1024", "1024"],
  ["1Ki", "1Ki"],
  ["1024Ki", "1Mi"],
  ["1.5Gi", "1536Mi"],
  ["0.5Ki", "512"],
  ["0.5Mi", "512Ki"],
  ["0.1Ki", "102400m"],
  ["1023Ki", "1023Ki"],
  ["-2048Ki", "-2Mi"],
  // What is smaller than a billionth is rounded up.
  ["0.1n", "1n"],
  ["0.00000000050", "1n"],
  ["0.00000012345", "124n"],
  ["-0.1n", "-1n"],
  // Binary amounts have 64 bits; decimal ones do not.
  ["7Ei", "7Ei"],
  ["8Ei", "9223372036854775807"],
  ["9223372036854775807Ki", "9223372036854775807"],
  ["-9Ei", "-9223372036854775807"],
  ["9223372036854775808", "9223372036854775808"],
  // Not quantities.
  ["", undefined],
  ["1 ", undefined],
  ["1K", undefined],
  ["1ki", undefined],
  ["1e", undefined],
  ["1e3k", undefined],
  ["1.2.3", undefined],
  ["--1", undefined],
  ["0x10", undefined],
  ["١", undefined],
  ["1e301", undefined],
];

for (const [text, expected] of canonical) {
  test(`the canonical text of ${JSON.stringify(text)} is ${expected}`, () => {
    assert.equal(canonicalQuantity(text), expected);
  });
}

test("amounts are rounded up to thousandths, away from zero, and others are left as they are", () => {
  const rounded: readonly (readonly [string, string])[] = [
    ["1", "1"],
    ["100m", "100m"],
    ["1001u", "2m"],
    ["999999n", "1m"],
    ["1n", "1m"],
    ["-1n", "-1m"],
    ["1000u", "1000u"],
    ["1500001u", "1501m"],
    ["1Gi", "1Gi"],
  ];
  for (const [text, expected] of rounded) assert.equal(roundedToMilli(text), expected, text);
});

test("the value of a quantity is a number", () => {
  assert.equal(quantityValue("1500m"), 1.5);
  assert.equal(quantityValue("-2Ki"), -2048);
  assert.equal(quantityValue("1e3"), 1000);
  assert.equal(quantityValue("x"), undefined);
});

test("quantities are compared by amount, whatever their suffix; malformed ones are zero", () => {
  assert.equal(compareQuantities("1024Ki", "1Mi"), 0);
  assert.equal(compareQuantities("999m", "1"), -1);
  assert.equal(compareQuantities("1", "999999999n"), 1);
  assert.equal(compareQuantities("-1", "0"), -1);
  assert.equal(compareQuantities("x", "0"), 0);
  assert.equal(compareQuantities("9007199254740993", "9007199254740992"), 1);
});

test("an exact value is in billionths, and is printed in the format of another quantity", () => {
  assert.equal(quantityNanos("9007199254740993"), 9_007_199_254_740_993_000_000_000n);
  assert.equal(quantityNanos("1n"), 1n);
  assert.equal(quantityNanos("x"), 0n);
  assert.equal(quantityText(2_048_000_000_000n, "1Ki"), "2Ki");
  assert.equal(quantityText(2_048_000_000_000n, "1"), "2048");
  assert.equal(quantityText(2_000_000_000_000n, "1e3"), "2e3");
  assert.equal(quantityText(2_000_000_000_000n, "x"), "2k");
  assert.equal(quantityText(0n, "1Ki"), "0");
});

test("property: sums of exact values keep every billionth", () => {
  const amount = fc.tuple(fc.bigInt({ min: -(10n ** 15n), max: 10n ** 15n }), fc.constantFrom("n", "u", "m", "", "k"));
  fc.assert(
    fc.property(amount, amount, ([a, aSuffix], [b, bSuffix]) => {
      const [one, other] = [`${a}${aSuffix}`, `${b}${bSuffix}`];
      const sum = quantityText(quantityNanos(one) + quantityNanos(other), one);
      assert.equal(quantityNanos(sum) - quantityNanos(other), quantityNanos(one));
    }),
  );
});
