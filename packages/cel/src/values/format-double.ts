// SPDX-License-Identifier: Apache-2.0

interface Digits {
  /** Without leading or trailing zeros. */
  readonly digits: string;
  /** The decimal exponent of the first digit. */
  readonly exponent: number;
}

/** The fewest digits that read back as the same number. */
function shortestDigits(value: number): Digits {
  const [mantissa = "0", exponent = "0"] = Math.abs(value).toExponential().split("e");
  return { digits: mantissa.replace(".", ""), exponent: Number(exponent) };
}

/** A double as Go's `%g` and `%v` print it, which is also what `string(x)` gives: 1.5, 1e+06, 1e-05, +Inf. */
export function formatDouble(value: number): string {
  if (Number.isNaN(value)) return "NaN";
  if (!Number.isFinite(value)) return value > 0 ? "+Inf" : "-Inf";
  const sign = value < 0 || Object.is(value, -0) ? "-" : "";
  if (value === 0) return `${sign}0`;
  const { digits, exponent } = shortestDigits(value);
  const isPlain = exponent >= -4 && exponent < 6;
  return sign + (isPlain ? plainDigits(digits, exponent) : exponentDigits(digits, exponent));
}

/** A double without exponent and with no more digits than it needs. */
export function formatPlain(value: number): string {
  if (Number.isNaN(value)) return "NaN";
  if (!Number.isFinite(value)) return value > 0 ? "+Inf" : "-Inf";
  const sign = value < 0 || Object.is(value, -0) ? "-" : "";
  if (value === 0) return `${sign}0`;
  const { digits, exponent } = shortestDigits(value);
  return sign + plainDigits(digits, exponent);
}

function plainDigits(digits: string, exponent: number): string {
  if (exponent < 0) return `0.${"0".repeat(-exponent - 1)}${digits}`;
  const whole = digits.slice(0, exponent + 1).padEnd(exponent + 1, "0");
  const fraction = digits.slice(exponent + 1);
  return fraction === "" ? whole : `${whole}.${fraction}`;
}

function exponentDigits(digits: string, exponent: number): string {
  const fraction = digits.slice(1);
  const mantissa = fraction === "" ? digits : `${digits[0]}.${fraction}`;
  const size = String(Math.abs(exponent)).padStart(2, "0");
  return `${mantissa}e${exponent < 0 ? "-" : "+"}${size}`;
}
