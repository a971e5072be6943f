// SPDX-License-Identifier: Apache-2.0

/** A semantic version. */
export interface Version {
  readonly major: number;
  readonly minor: number;
  readonly patch: number;
  /** Without its hyphen; empty for a release. */
  readonly prerelease: string;
  readonly build: string;
  /** How many of the three numbers were written: `v1` has one. */
  readonly written: 1 | 2 | 3;
}

const identifier = "[0-9A-Za-z-]+(?:\\.[0-9A-Za-z-]+)*";
const pattern = new RegExp(`^v?(\\d+)(?:\\.(\\d+))?(?:\\.(\\d+))?(?:-(${identifier}))?(?:\\+(${identifier}))?$`);

/** Parses a version, with or without its `v`, complete or partial. Undefined when the text is not a version. */
export function parseVersion(text: string): Version | undefined {
  if (text.length > 256) return undefined;
  const found = pattern.exec(text);
  if (found === null) return undefined;
  const [, major, minor, patch, prerelease = "", build = ""] = found;
  const numbers = [major, minor, patch].map((digits) => Number(digits ?? 0));
  if (!numbers.every(Number.isSafeInteger)) return undefined;
  if (prerelease.split(".").some((part) => /^0\d+$/.test(part))) return undefined;
  const [first = 0, second = 0, third = 0] = numbers;
  const written = patch !== undefined ? 3 : minor !== undefined ? 2 : 1;
  return { major: first, minor: second, patch: third, prerelease, build, written };
}

/** Orders versions as semver does: a prerelease comes before its release, builds do not count. */
export function compareVersions(a: Version, b: Version): number {
  return a.major - b.major || a.minor - b.minor || a.patch - b.patch || comparePrereleases(a.prerelease, b.prerelease);
}

function comparePrereleases(a: string, b: string): number {
  if (a === b) return 0;
  if (a === "") return 1;
  if (b === "") return -1;
  const [left, right] = [a.split("."), b.split(".")];
  for (const [at, part] of left.entries()) {
    const other = right[at];
    if (other === undefined) return 1;
    const order = compareIdentifiers(part, other);
    if (order !== 0) return order;
  }
  return left.length - right.length;
}

/** Numbers by value and before words; words by their characters. */
function compareIdentifiers(a: string, b: string): number {
  if (a === b) return 0;
  const [aIsNumber, bIsNumber] = [/^\d+$/.test(a), /^\d+$/.test(b)];
  if (aIsNumber && bIsNumber) return a.length - b.length || (a < b ? -1 : 1);
  if (aIsNumber !== bIsNumber) return aIsNumber ? -1 : 1;
  return a < b ? -1 : 1;
}
