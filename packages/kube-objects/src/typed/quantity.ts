// SPDX-License-Identifier: Apache-2.0

type Format = "decimal" | "binary" | "exponent";

interface Amount {
  readonly format: Format;
  /** The value in billionths. */
  readonly nanos: bigint;
}

const decimalSuffixes: Readonly<Record<string, number>> = {
  n: -9,
  u: -6,
  m: -3,
  "": 0,
  k: 3,
  M: 6,
  G: 9,
  T: 12,
  P: 15,
  E: 18,
};
const binarySuffixes = ["", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei"];
const billion = 1_000_000_000n;
/** The reference keeps binary quantities within 64 bits: larger ones are this one. */
const mostBinary = (2n ** 63n - 1n) * billion;
const syntax = /^([+-]?)(\d{1,1000})?(?:\.(\d{0,1000}))?(?:([eE][+-]?\d{1,4})|([numkMGTPE]|[KMGTPE]i)?)$/;

/** Most amounts: a few digits, without a sign, a point or a suffix. Numbers hold them exactly. */
const plainSyntax = /^(?:0|[1-9]\d{0,14})$/;

/**
 * The canonical text of a resource quantity: no fraction, no leading zeros, the largest suffix that needs none. The same
 * amounts have the same text. Undefined when the text is not a quantity.
 */
export function canonicalQuantity(text: string): string | undefined {
  if (plainSyntax.test(text) && (text === "0" || !text.endsWith("000"))) return text;
  const amount = parse(text);
  return amount === undefined ? undefined : print(amount);
}

const million = 1_000_000n;

/** A canonical quantity rounded up to thousandths, as amounts of resources by name are stored. */
export function roundedToMilli(canonical: string): string {
  if (!/[nu.]/.test(canonical)) return canonical;
  const amount = parse(canonical);
  if (amount === undefined || amount.nanos % million === 0n) return canonical;
  const { format, nanos } = amount;
  const size = nanos < 0n ? -nanos : nanos;
  const rounded = ((size + million - 1n) / million) * million;
  return print({ format, nanos: nanos < 0n ? -rounded : rounded });
}

/** The value of a resource quantity; undefined when the text is not a quantity. */
export function quantityValue(text: string): number | undefined {
  const amount = parse(text);
  return amount === undefined ? undefined : Number(amount.nanos) / 1e9;
}

/** Compares two resource quantities: below zero when the second is larger. A malformed quantity counts as zero. */
export function compareQuantities(one: string, other: string): number {
  if (plainSyntax.test(one) && plainSyntax.test(other)) return Math.sign(Number(one) - Number(other));
  const [a, b] = [parse(one)?.nanos ?? 0n, parse(other)?.nanos ?? 0n];
  return a < b ? -1 : a > b ? 1 : 0;
}

/** The exact value of a resource quantity in billionths. A malformed quantity counts as zero. */
export function quantityNanos(text: string): bigint {
  return parse(text)?.nanos ?? 0n;
}

/** The canonical text of a value in billionths, in the format of another quantity: with binary or with decimal suffixes. */
export function quantityText(nanos: bigint, like: string): string {
  return print({ format: parse(like)?.format ?? "decimal", nanos });
}

function parse(text: string): Amount | undefined {
  if (plainSyntax.test(text)) return { format: "decimal", nanos: BigInt(text) * billion };
  const match = syntax.exec(text);
  const [, sign = "", whole = "", fraction = "", exponent, suffix = ""] = match ?? [];
  if (match === null || (whole === "" && fraction === "")) return undefined;
  const digits = BigInt(`${whole}${fraction}`);
  const scaled = scale(digits, -fraction.length, { exponent, suffix });
  if (scaled === undefined) return undefined;
  const format: Format = exponent !== undefined ? "exponent" : suffix.endsWith("i") ? "binary" : "decimal";
  const size = format === "binary" && scaled > mostBinary ? mostBinary : scaled;
  return { format, nanos: sign === "-" ? -size : size };
}

/** Digits times a power, in billionths; what is smaller than one is rounded up, away from zero. */
function scale(
  digits: bigint,
  point: number,
  { exponent, suffix }: { readonly exponent: string | undefined; readonly suffix: string },
): bigint | undefined {
  if (suffix.endsWith("i")) {
    const factor = 1024n ** BigInt(binarySuffixes.indexOf(suffix));
    return shift(digits * factor, point + 9);
  }
  const power = exponent === undefined ? decimalSuffixes[suffix] : Number(exponent.slice(1));
  if (power === undefined || Math.abs(power) > 300) return undefined;
  return shift(digits, point + power + 9);
}

function shift(value: bigint, power: number): bigint {
  if (power >= 0) return value * 10n ** BigInt(power);
  const divisor = 10n ** BigInt(-power);
  return (value + divisor - 1n) / divisor;
}

function print({ format, nanos }: Amount): string {
  if (nanos === 0n) return "0";
  const sign = nanos < 0n ? "-" : "";
  const size = nanos < 0n ? -nanos : nanos;
  const isWhole = size % billion === 0n;
  // A binary quantity below 1024, or with a fraction, has no binary suffix to stand on.
  if (format === "binary" && isWhole && size / billion >= 1024n) return `${sign}${printBinary(size / billion)}`;
  return `${sign}${printDecimal(size, format === "exponent")}`;
}

function printBinary(value: bigint): string {
  let power = 0;
  let rest = value;
  while (rest % 1024n === 0n && power < binarySuffixes.length - 1) {
    rest /= 1024n;
    power++;
  }
  return `${rest}${binarySuffixes[power]}`;
}

function printDecimal(nanos: bigint, asExponent: boolean): string {
  let power = -9;
  let rest = nanos;
  while (rest % 1000n === 0n && power < 18) {
    rest /= 1000n;
    power += 3;
  }
  if (asExponent) return power === 0 ? `${rest}` : `${rest}e${power}`;
  const suffix = Object.entries(decimalSuffixes).find(([, value]) => value === power)?.[0] ?? "";
  return `${rest}${suffix}`;
}
