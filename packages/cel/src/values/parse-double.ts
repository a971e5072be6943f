// SPDX-License-Identifier: Apache-2.0

const decimal = /^[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?$/;
const hexadecimal = /^([+-]?)0x([0-9a-f]*)\.?([0-9a-f]*)p([+-]?\d{1,6})$/i;
const infinity = /^([+-]?)inf(?:inity)?$/i;

/** Reads a floating-point number as Go does; too large a number is none. */
export function parseDouble(text: string): number | undefined {
  if (/^nan$/i.test(text)) return Number.NaN;
  const sign = infinity.exec(text)?.[1];
  if (sign !== undefined) return sign === "-" ? Number.NEGATIVE_INFINITY : Number.POSITIVE_INFINITY;
  const plain = withoutUnderscores(text);
  if (plain === undefined) return undefined;
  const value = decimal.test(plain) ? Number(plain) : parseHexadecimal(plain);
  return value !== undefined && Number.isFinite(value) ? value : undefined;
}

/** Underscores may stand between digits, and after the base prefix. */
function withoutUnderscores(text: string): string | undefined {
  if (!text.includes("_")) return text;
  const isHex = /^[+-]?0x/i.test(text);
  const misplaced = isHex ? /(?<![0-9a-fx])_|_(?![0-9a-f])/i : /(?<!\d)_|_(?!\d)/;
  return misplaced.test(text) ? undefined : text.replaceAll("_", "");
}

function parseHexadecimal(text: string): number | undefined {
  const [, sign, whole = "", fraction = "", exponent] = hexadecimal.exec(text) ?? [];
  const digits = whole + fraction;
  if (exponent === undefined || digits === "" || digits.length > 256) return undefined;
  const value = Number(BigInt(`0x${digits}`)) * 2 ** (Number(exponent) - 4 * fraction.length);
  return sign === "-" ? -value : value;
}
