// SPDX-License-Identifier: Apache-2.0

/**
 * The amount of a Kubernetes quantity: `value` times ten to the power `exponent`. Kubernetes keeps small amounts in 64
 * bits and others as decimals, and only the former count as integers, so the difference is kept.
 */
export interface Amount {
  readonly value: bigint;
  readonly exponent: number;
  readonly isSmall: boolean;
}

export class QuantitySyntaxError extends Error {}

// No two parts match the same digits next to each other: a text of a megabyte is refused in one pass.
const form = /^([+-]?)(\d*)(?:\.(\d*))?((?:[eEinumkKMGTP]+[-+]?|[-+])\d*)?$/;
const formProblem = "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'";

const decimalSuffixes: ReadonlyMap<string, number> = new Map([
  ["", 0],
  ["n", -9],
  ["u", -6],
  ["m", -3],
  ["k", 3],
  ["M", 6],
  ["G", 9],
  ["T", 12],
  ["P", 15],
  ["E", 18],
]);
const binarySuffixes: ReadonlyMap<string, number> = new Map(
  ["Ki", "Mi", "Gi", "Ti", "Pi", "Ei"].map((suffix, index) => [suffix, (index + 1) * 10] as const),
);

const max64 = 2n ** 63n - 1n;
const fits64 = (value: bigint): boolean => value >= -max64 - 1n && value <= max64;
const nano = -9;

/** Reads a quantity such as `1.5Gi`, `200m` or `1e3`. */
export function parseAmount(text: string): Amount {
  const match = text === "" ? null : form.exec(text);
  if (!match) throw new QuantitySyntaxError(formProblem);
  const [, sign, digits = "", fraction = "", suffix = ""] = match;
  const number: Parsed = { sign: sign === "-" ? -1n : 1n, whole: digits.replace(/^0+/, "") || "0", fraction };
  const binary = binarySuffixes.get(suffix);
  if (binary !== undefined) return parseBinary(number, binary);
  return parseDecimal(number, decimalSuffixes.get(suffix) ?? parseExponent(suffix));
}

interface Parsed {
  readonly sign: bigint;
  readonly whole: string;
  readonly fraction: string;
}

function parseExponent(suffix: string): number {
  const problem = new QuantitySyntaxError("unable to parse quantity's suffix");
  const [, digits] = /^[eE]([+-]?\d+)$/.exec(suffix) ?? [];
  if (digits === undefined || digits.length > 20 || !fits64(BigInt(digits))) throw problem;
  return Number(BigInt.asIntN(32, BigInt(digits)));
}

function parseDecimal({ sign, whole, fraction }: Parsed, exponent: number): Amount {
  const lowest = exponent - fraction.length;
  const value = sign * BigInt(whole + fraction);
  if (whole.length + fraction.length <= 18 && lowest >= nano) return { value, exponent: lowest, isSmall: true };
  return roundUpToNano(value, lowest);
}

function parseBinary({ sign, whole, fraction }: Parsed, power: number): Amount {
  const scaled = sign * BigInt(whole + fraction) * 2n ** BigInt(power);
  const spareDigits = 14 - whole.length - Math.trunc(Math.fround(Math.fround(power * 3) / 10));
  if (fraction === "" && spareDigits >= 0 && fits64(scaled)) return { value: scaled, exponent: 0, isSmall: true };
  const amount = roundUpToNano(scaled, -fraction.length);
  const cap: Amount = { value: max64, exponent: 0, isSmall: false };
  if (compareAmounts(absolute(amount), cap) <= 0) return amount;
  return { ...cap, value: sign * cap.value };
}

const absolute = (amount: Amount): Amount => ({ ...amount, value: amount.value < 0n ? -amount.value : amount.value });

/** Rounds up to a billionth: a quantity above zero never becomes zero. */
function roundUpToNano(value: bigint, exponent: number): Amount {
  if (exponent >= nano || value === 0n) return { value, exponent, isSmall: false };
  const drop = nano - exponent;
  const size = value < 0n ? -value : value;
  const sign = value < 0n ? -1n : 1n;
  // Beyond its own length a number leaves nothing but the unit it is rounded up to.
  if (drop > String(size).length) return { value: sign, exponent: nano, isSmall: false };
  const unit = 10n ** BigInt(drop);
  return { value: sign * ((size + unit - 1n) / unit), exponent: nano, isSmall: false };
}

export function compareAmounts(a: Amount, b: Amount): -1 | 0 | 1 {
  const [left, right] = [signOf(a), signOf(b)];
  if (left !== right) return left < right ? -1 : 1;
  if (left === 0) return 0;
  // Numbers of different length need no exact comparison, and aligning them could take long.
  const lengths = lengthOf(a) - lengthOf(b);
  if (lengths !== 0) return lengths > 0 === left > 0 ? 1 : -1;
  const [x, y] = aligned(a, b);
  if (x === y) return 0;
  return x < y ? -1 : 1;
}

export const signOf = ({ value }: Amount): -1 | 0 | 1 => (value === 0n ? 0 : value < 0n ? -1 : 1);

/** Digits before the point. */
const lengthOf = ({ value, exponent }: Amount): number => String(value < 0n ? -value : value).length + exponent;

function aligned(a: Amount, b: Amount): readonly [bigint, bigint] {
  const lowest = Math.min(a.exponent, b.exponent);
  return [a.value * 10n ** BigInt(a.exponent - lowest), b.value * 10n ** BigInt(b.exponent - lowest)];
}

/** The digits an addition has to write, which exponents can make many. */
export function additionSize(a: Amount, b: Amount): number {
  return Math.abs(a.exponent - b.exponent) + String(a.value).length + String(b.value).length;
}

export function addAmounts(a: Amount, b: Amount): Amount {
  if (a.isSmall && b.isSmall) {
    if (b.value === 0n) return a;
    if (a.value === 0n) return b;
  }
  const [x, y] = aligned(a, b);
  const isSmall = a.isSmall && b.isSmall && [x, y, x + y].every(fits64);
  return { value: x + y, exponent: Math.min(a.exponent, b.exponent), isSmall };
}

/** The amount as a 64-bit integer; undefined when it does not fit or was not stored as one. */
export function amountToInt({ value, exponent, isSmall }: Amount): bigint | undefined {
  if (!isSmall || exponent < 0) return undefined;
  if (exponent === 0 || value === 0n) return value;
  if (exponent > 18) return undefined;
  const scaled = value * 10n ** BigInt(exponent);
  return fits64(scaled) ? scaled : undefined;
}

export function amountToDouble({ value, exponent }: Amount): number {
  if (exponent === 0) return Number(value);
  if (exponent > 308) return Number(value) * Number.POSITIVE_INFINITY;
  return Number(value) * Number(`1e${exponent}`);
}
