// SPDX-License-Identifier: Apache-2.0
import { compareSemanticVersions } from "@purlin/base";

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

/** Compares versions as semver does: a prerelease comes before its release, builds do not count. */
export function compareVersions(a: Version, b: Version): number {
  return compareSemanticVersions(ordered(a), ordered(b));
}

const ordered = ({ prerelease, ...numbers }: Version): Parameters<typeof compareSemanticVersions>[0] => ({
  ...numbers,
  prerelease: prerelease === "" ? [] : prerelease.split("."),
});
