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

/** Which versions will do. */
interface VersionConstraint {
  readonly text: string;
  allows(version: Version): boolean;
}

type Operator = "" | "=" | "!=" | ">" | "<" | ">=" | "=>" | "<=" | "=<" | "~" | "~>" | "^";

interface Comparator {
  readonly operator: Operator;
  readonly version: Version;
  /** How many numbers count; the others were `x` or not written. */
  readonly exact: 0 | 1 | 2 | 3;
}

const part = "(?:\\d+|[xX*])";
const number = `v?${part}(?:\\.${part})?(?:\\.${part})?(?:-[0-9A-Za-z.-]+)?(?:\\+[0-9A-Za-z.-]+)?`;
const comparatorPattern = new RegExp(`(=>|=<|>=|<=|!=|~>|=|>|<|~|\\^)?\\s*(${number})`, "y");
const hyphenRange = new RegExp(`\\s*(${number})\\s+-\\s+(${number})\\s*`, "g");
const maxLength = 512;

/** A constraint that cannot be read. */
export class ConstraintError extends Error {
  constructor(text: string) {
    super(`${JSON.stringify(text)} is not a version constraint; use for example ">=v1.2.0, <v2.0.0" or "^1.2"`);
    this.name = "ConstraintError";
  }
}

/**
 * Reads a constraint in the language of package metadata: comparisons joined by commas or blanks, alternatives by `||`,
 * `~`, `^`, wildcards and hyphen ranges. A prerelease satisfies only a group that itself names one.
 */
export function parseConstraint(text: string): VersionConstraint {
  if (text.length > maxLength) throw new ConstraintError(`${text.slice(0, 40)}…`);
  const ranged = text.replaceAll(hyphenRange, (_, from: string, to: string) => `>=${from},<=${to} `);
  const groups = ranged.split("||").map((group) => parseGroup(group, text));
  return { text, allows: (version) => groups.some((group) => groupAllows(group, version)) };
}

function parseGroup(group: string, text: string): readonly Comparator[] {
  const source = group.trim();
  const comparators: Comparator[] = [];
  for (let at = 0; at < source.length; ) {
    comparatorPattern.lastIndex = at;
    const found = comparatorPattern.exec(source);
    if (found === null) throw new ConstraintError(text);
    at = comparatorPattern.lastIndex;
    comparators.push(comparatorOf((found[1] ?? "") as Operator, found[2] ?? "", text));
    const gap = /^(?:\s*,\s*|\s+|\s*$)/.exec(source.slice(at));
    if (gap === null || (gap[0].includes(",") && at + gap[0].length === source.length)) throw new ConstraintError(text);
    at += gap[0].length;
  }
  if (comparators.length === 0) throw new ConstraintError(text);
  return comparators;
}

function comparatorOf(operator: Operator, written: string, text: string): Comparator {
  const [core = "", ...rest] = written.split(/(?=[-+])/);
  const numbers = core.replace(/^v/, "").split(".");
  const wild = numbers.findIndex((one) => /^[xX*]$/.test(one));
  const exact = (wild < 0 ? numbers.length : wild) as 0 | 1 | 2 | 3;
  const concrete = numbers.map((one, at) => (wild >= 0 && at >= wild ? "0" : one)).join(".");
  const version = parseVersion(`${concrete}${rest.join("")}`);
  if (version === undefined) throw new ConstraintError(text);
  return { operator, version, exact };
}

function groupAllows(group: readonly Comparator[], version: Version): boolean {
  const namesPrerelease = group.some((one) => one.version.prerelease !== "");
  if (version.prerelease !== "" && !namesPrerelease) return false;
  return group.every((comparator) => comparatorAllows(comparator, version));
}

function comparatorAllows({ operator, version: wanted, exact }: Comparator, version: Version): boolean {
  const order = compareVersions(version, wanted);
  switch (operator) {
    case ">":
      return order > 0 && !(exact < 3 && exact > 0 && sharesNumbers(version, wanted, exact));
    case "<":
      return order < 0;
    case ">=":
    case "=>":
      return order >= 0;
    case "<=":
    case "=<":
      return order <= 0 || (exact < 3 && sharesNumbers(version, wanted, exact));
    case "!=":
      return exact < 3 ? exact === 0 || !sharesNumbers(version, wanted, exact) : order !== 0;
    case "^":
      return exact > 0 && order >= 0 && sharesCaret(version, wanted, exact);
    case "~":
    case "~>":
      return order >= 0 && sharesNumbers(version, wanted, Math.min(exact, 2));
    default:
      return exact < 3 ? order >= 0 && sharesNumbers(version, wanted, exact) : order === 0;
  }
}

/** Whether the first `count` numbers are the same. */
function sharesNumbers(a: Version, b: Version, count: number): boolean {
  if (count > 0 && a.major !== b.major) return false;
  if (count > 1 && a.minor !== b.minor) return false;
  return count < 3 || a.patch === b.patch;
}

/** `^` keeps the first number that is not zero, or the last one written. */
function sharesCaret(a: Version, b: Version, exact: number): boolean {
  if (b.major > 0 || exact === 1) return a.major === b.major;
  if (b.minor > 0 || exact === 2) return sharesNumbers(a, b, 2);
  return sharesNumbers(a, b, 3);
}
