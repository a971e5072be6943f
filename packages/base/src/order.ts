// SPDX-License-Identifier: Apache-2.0

/** Compares two strings by their UTF-8 bytes, as Go does. JavaScript compares UTF-16 code units. */
export function compareUtf8(a: string, b: string): -1 | 0 | 1 {
  if (a === b) return 0;
  const length = Math.min(a.length, b.length);
  for (let index = 0; index < length; index++) {
    const x = a.charCodeAt(index);
    const y = b.charCodeAt(index);
    if (x !== y) return isSurrogate(x) === isSurrogate(y) ? (x < y ? -1 : 1) : isSurrogate(y) ? -1 : 1;
  }
  return a.length < b.length ? -1 : 1;
}

/** Surrogates encode code points above U+FFFF, so in UTF-8 they come after all other code units. */
const isSurrogate = (unit: number): boolean => unit >= 0xd800 && unit <= 0xdfff;

/** The parts of a semantic version that order it. */
export interface SemanticVersion {
  readonly major: number | bigint;
  readonly minor: number | bigint;
  readonly patch: number | bigint;
  /** The identifiers of a prerelease, without leading zeros in numbers; empty for a release. */
  readonly prerelease: readonly (string | bigint)[];
}

/** Compares versions as Semantic Versioning 2.0 does: a prerelease comes before its release, and build metadata does not count. */
export function compareSemanticVersions(a: SemanticVersion, b: SemanticVersion): -1 | 0 | 1 {
  for (const part of ["major", "minor", "patch"] as const) {
    if (a[part] < b[part]) return -1;
    if (a[part] > b[part]) return 1;
  }
  if (a.prerelease.length === 0 || b.prerelease.length === 0) return sign(b.prerelease.length - a.prerelease.length);
  for (const [index, identifier] of a.prerelease.entries()) {
    const other = b.prerelease[index];
    if (other === undefined) return 1;
    const order = compareIdentifiers(String(identifier), String(other));
    if (order !== 0) return order;
  }
  return sign(a.prerelease.length - b.prerelease.length);
}

/** Numbers by value and before words; words by their characters, which are ASCII. */
function compareIdentifiers(a: string, b: string): -1 | 0 | 1 {
  if (a === b) return 0;
  const [isNumber, isOtherNumber] = [/^\d+$/.test(a), /^\d+$/.test(b)];
  if (isNumber !== isOtherNumber) return isNumber ? -1 : 1;
  if (isNumber && a.length !== b.length) return a.length < b.length ? -1 : 1;
  return a < b ? -1 : 1;
}

const sign = (difference: number): -1 | 0 | 1 => (difference < 0 ? -1 : difference > 0 ? 1 : 0);
