// SPDX-License-Identifier: Apache-2.0
// Amounts of quantities as Kubernetes keeps them: small ones in 64 bits, others as decimals of at least a billionth.
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import {
  type Amount,
  addAmounts,
  additionSize,
  amountToDouble,
  amountToInt,
  compareAmounts,
  parseAmount,
  QuantitySyntaxError,
  signOf,
} from "./quantity-amount.ts";

const max64 = 2n ** 63n - 1n;
const small = (value: bigint, exponent = 0): Amount => ({ value, exponent, isSmall: true });
const large = (value: bigint, exponent = 0): Amount => ({ value, exponent, isSmall: false });

describe("reading an amount", () => {
  const rows: Readonly<Record<string, Amount>> = {
    "0": small(0n),
    "-": small(0n),
    ".": small(0n),
    "1": small(1n),
    "+1": small(1n),
    "-1": small(-1n),
    "1.": small(1n),
    ".5": small(5n, -1),
    "-.5": small(-5n, -1),
    "0.50": small(50n, -2),
    "100m": small(100n, -3),
    "1n": small(1n, -9),
    "1u": small(1n, -6),
    "1k": small(1n, 3),
    "1M": small(1n, 6),
    "1G": small(1n, 9),
    "1T": small(1n, 12),
    "1P": small(1n, 15),
    "1E": small(1n, 18),
    "1e3": small(1n, 3),
    "1E3": small(1n, 3),
    "1e-3": small(1n, -3),
    "1e+3": small(1n, 3),
    "1.5e3": small(15n, 2),
    "1Ki": small(1024n),
    "1Mi": small(1024n ** 2n),
    "1Gi": small(1024n ** 3n),
    "1Ti": small(1024n ** 4n),
    "00000000000000000000000001": small(1n),
    "999999999999999999": small(999_999_999_999_999_999n),
    "1000000000000000000": large(1_000_000_000_000_000_000n),
    "0.0000000001": large(1n, -9),
    "-0.0000000001": large(-1n, -9),
    "1.0000000001": large(1_000_000_001n, -9),
    "0.1n": large(1n, -9),
    "1.5Ki": large(15_360n, -1),
    "1000000000Ei": large(max64),
    "-1000000000Ei": large(-max64),
  };
  for (const [text, amount] of Object.entries(rows)) test(text, () => assert.deepEqual(parseAmount(text), amount));

  test("an amount with a binary suffix is small while 14 digits are left for it", () => {
    const isSmall = (text: string): boolean => parseAmount(text).isSmall;
    assert.deepEqual(["99999999999Ki", "-99999999999Ki", "99999999Mi", "99999Gi"].map(isSmall), [
      true,
      true,
      true,
      true,
    ]);
    assert.deepEqual(["100000000000Ki", "-100000000000Ki", "100000000Mi", "100000Gi"].map(isSmall), [
      false,
      false,
      false,
      false,
    ]);
    assert.equal(parseAmount("100000000000Ki").value, 102_400_000_000_000n);
  });

  test("an amount far below a billionth is a billionth, in no time", () => {
    assert.deepEqual(parseAmount("1e-1000000000"), large(1n, -9));
    assert.deepEqual(parseAmount("-1e-1000000000"), large(-1n, -9));
    assert.deepEqual(parseAmount("0e-1000000000").value, 0n);
  });

  const form = "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'";
  const suffix = "unable to parse quantity's suffix";
  const refused: readonly (readonly [text: string, problem: string])[] = [
    ["", form],
    [" 1", form],
    ["1 ", form],
    ["a", form],
    ["1.2.3", form],
    ["--1", suffix],
    ["1Ki5x", form],
    ["1K", suffix],
    ["1ki", suffix],
    ["1mi", suffix],
    ["1Kii", suffix],
    ["1e", suffix],
    ["1e+", suffix],
    ["1e1e1", form],
    ["1-1", suffix],
    ["1e99999999999999999999", suffix],
  ];
  for (const [text, problem] of refused) {
    test(`${JSON.stringify(text)} is refused`, () => {
      assert.throws(() => parseAmount(text), new QuantitySyntaxError(problem));
    });
  }
});

describe("the order of amounts", () => {
  const ascending = [
    "-1Gi",
    "-1.5",
    "-1",
    "-1m",
    "0",
    "1n",
    "1m",
    "999m",
    "1",
    "1001m",
    "1k",
    "1Ki",
    "1M",
    "1Mi",
    "1e400",
  ];
  for (const [at, text] of ascending.entries()) {
    test(`${text} is where it belongs`, () => {
      const amount = parseAmount(text);
      const orders = ascending.map((other) => compareAmounts(amount, parseAmount(other)));
      assert.deepEqual(
        orders,
        ascending.map((_, index) => Math.sign(at - index)),
      );
    });
  }

  const equal: readonly (readonly [string, string])[] = [
    ["1", "1000m"],
    ["1", "1.000"],
    ["1k", "1000"],
    ["1Ki", "1024"],
    ["1e3", "1k"],
    ["0", "-0"],
    ["0", "0Gi"],
    ["1.5Ki", "1536"],
  ];
  for (const [a, b] of equal) {
    test(`${a} is ${b}`, () => assert.equal(compareAmounts(parseAmount(a), parseAmount(b)), 0));
  }

  test("amounts with far exponents are compared without writing them out", () => {
    assert.equal(compareAmounts(large(1n, 2_000_000_000), large(9n, -9)), 1);
    assert.equal(compareAmounts(large(-1n, 2_000_000_000), large(-9n, -9)), -1);
  });

  test("the sign", () => {
    assert.deepEqual(
      ["-1m", "0", "1n"].map((text) => signOf(parseAmount(text))),
      [-1, 0, 1],
    );
  });
});

describe("sums", () => {
  test("the smaller exponent is kept", () => {
    assert.deepEqual(addAmounts(small(1n, 3), small(5n, -3)), small(1_000_005n, -3));
  });

  test("zero changes nothing, not even the exponent", () => {
    assert.deepEqual(addAmounts(small(1n, 3), small(0n, -3)), small(1n, 3));
    assert.deepEqual(addAmounts(small(0n, -3), small(1n, 3)), small(1n, 3));
  });

  test("a sum of 64 bits is small, one more is not", () => {
    assert.deepEqual(addAmounts(small(max64 - 1n), small(1n)), small(max64));
    assert.deepEqual(addAmounts(small(max64), small(1n)), large(max64 + 1n));
    assert.deepEqual(addAmounts(small(-max64), small(-1n)), small(-max64 - 1n));
    assert.deepEqual(addAmounts(small(-max64 - 1n), small(-1n)), large(-max64 - 2n));
  });

  test("what is not small stays so", () => {
    assert.deepEqual(addAmounts(large(1n), small(1n)), large(2n));
    assert.deepEqual(addAmounts(small(1n), large(1n)), large(2n));
  });

  test("the size of an addition is the digits it writes", () => {
    assert.equal(additionSize(small(1n, 100), small(23n, -9)), 109 + 1 + 2);
    assert.equal(additionSize(small(1n), small(1n)), 2);
  });
});

describe("an amount as a number", () => {
  const integers: readonly (readonly [Amount, bigint | undefined])[] = [
    [small(5n), 5n],
    [small(5n, 3), 5_000n],
    [small(-5n, 3), -5_000n],
    [small(9n, 18), 9_000_000_000_000_000_000n],
    [small(10n, 18), undefined],
    [small(1n, 19), undefined],
    [small(0n, 19), 0n],
    [small(1000n, -3), undefined],
    [large(5n), undefined],
  ];
  for (const [amount, is] of integers) {
    test(`${amount.value}e${amount.exponent}, ${amount.isSmall ? "small" : "large"}, as an integer is ${is}`, () => {
      assert.equal(amountToInt(amount), is);
    });
  }

  const doubles: readonly (readonly [Amount, number])[] = [
    [small(5n), 5],
    [small(5n, -3), 0.005],
    [small(15n, 2), 1500],
    [large(1n, 308), 1e308],
    [large(1n, 309), Number.POSITIVE_INFINITY],
    [large(-1n, 309), Number.NEGATIVE_INFINITY],
    [large(1n, -400), 0],
  ];
  for (const [amount, is] of doubles) {
    test(`${amount.value}e${amount.exponent} as a double is ${is}`, () => assert.equal(amountToDouble(amount), is));
  }
});
