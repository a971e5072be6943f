// SPDX-License-Identifier: Apache-2.0

/** A number as `digits` with `scale` of them behind the point. */
export interface Decimal {
  readonly digits: bigint;
  readonly scale: number;
}

/** The exact decimal expansion of a finite double without its sign: every double has one. */
export function exactDecimal(value: number): Decimal {
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
export function rescale({ digits, scale }: Decimal, newScale: number): Decimal {
  if (newScale >= scale) return { digits: digits * 10n ** BigInt(newScale - scale), scale: newScale };
  const unit = 10n ** BigInt(scale - newScale);
  const quotient = digits / unit;
  const twice = (digits % unit) * 2n;
  const roundsUp = twice > unit || (twice === unit && quotient % 2n === 1n);
  return { digits: roundsUp ? quotient + 1n : quotient, scale: newScale };
}
