// SPDX-License-Identifier: Apache-2.0
import { compareVersions, parseVersion, type Version } from "./version.ts";

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

/** Whether the first so many numbers are the same. */
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
