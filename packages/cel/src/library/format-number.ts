// SPDX-License-Identifier: Apache-2.0

/** A number as `digits` with `scale` of them behind the point. */
interface Decimal {
  readonly digits: bigint;
  readonly scale: number;
}

// No double has more digits behind the point than this.
const maxFractionDigits = 1074;

/** A double with `precision` digits behind the point and commas between groups of three: 1,234.50. */
export function formatFixed(value: number, precision: number): string {
  if (!Number.isFinite(value)) return notFinite(value);
  const scale = Math.min(precision, maxFractionDigits);
  const { digits } = rescale(exactDecimal(value), scale);
  const all = String(digits).padStart(scale + 1, "0");
  const whole = all.slice(0, all.length - scale).replace(/\B(?=(\d{3})+$)/g, ",");
  const fraction = all.slice(all.length - scale) + "0".repeat(precision - scale);
  const isNegative = value < 0;
  return `${isNegative ? "-" : ""}${whole}${precision === 0 ? "" : `.${fraction}`}`;
}

const superscripts = "\u2070\u00b9\u00b2\u00b3\u2074\u2075\u2076\u2077\u2078\u2079";

/**
 * A double in scientific notation with six digits: 1.500000×10⁰³. The precision of the clause is the least width,
 * because that is what Kubernetes' CEL makes of it.
 */
export function formatScientific(value: number, width: number): string {
  return (Number.isFinite(value) ? scientific(value) : notFinite(value)).padStart(width, " ");
}

function scientific(value: number): string {
  const exact = exactDecimal(value);
  const length = String(exact.digits).length;
  let exponent = value === 0 ? 0 : length - 1 - exact.scale;
  let digits = String(rescale(exact, 6 - exponent).digits);
  if (digits.length > 7) {
    exponent++;
    digits = digits.slice(0, 7);
  }
  const padded = digits.padEnd(7, "0");
  const sign = value < 0 ? "-" : "";
  return `${sign}${padded[0]}.${padded.slice(1)}\u00d710${superscript(exponent)}`;
}

function superscript(exponent: number): string {
  const digits = String(Math.abs(exponent)).padStart(2, "0");
  return (exponent < 0 ? "\u207b" : "") + [...digits].map((digit) => superscripts[Number(digit)]).join("");
}

function notFinite(value: number): string {
  if (Number.isNaN(value)) return "NaN";
  return value > 0 ? "\u221e" : "-\u221e";
}

/** The exact decimal expansion of a finite double without its sign: every double has one. */
function exactDecimal(value: number): Decimal {
  const bits = new DataView(new ArrayBuffer(8));
  bits.setFloat64(0, Math.abs(value));
  const raw = bits.getBigUint64(0);
  const biased = Number(raw >> 52n);
  const fraction = raw & (2n ** 52n - 1n);
  const mantissa = biased === 0 ? fraction : fraction + 2n ** 52n;
  const exponent = Math.max(biased, 1) - 1075;
  if (exponent >= 0) return { digits: mantissa << BigInt(exponent), scale: 0 };
  return { digits: mantissa * 5n ** BigInt(-exponent), scale: -exponent };
}

/** The same number with another number of digits behind the point; a tie goes to the even digit. */
function rescale({ digits, scale }: Decimal, newScale: number): Decimal {
  if (newScale >= scale) return { digits: digits * 10n ** BigInt(newScale - scale), scale: newScale };
  const unit = 10n ** BigInt(scale - newScale);
  const quotient = digits / unit;
  const twice = (digits % unit) * 2n;
  const roundsUp = twice > unit || (twice === unit && quotient % 2n === 1n);
  return { digits: roundsUp ? quotient + 1n : quotient, scale: newScale };
}
