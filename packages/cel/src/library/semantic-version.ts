// SPDX-License-Identifier: Apache-2.0
import { goQuote } from "@purlin/kube-objects/json";

export interface Version {
  readonly major: bigint;
  readonly minor: bigint;
  readonly patch: bigint;
  /** Numbers are bigints. */
  readonly prerelease: readonly (bigint | string)[];
  readonly build: readonly string[];
}

export class VersionProblem extends Error {}

function fail(message: string): never {
  throw new VersionProblem(message);
}

const maxPart = 2n ** 64n - 1n;

/** Cuts at the first `count - 1` separators only. */
function splitFirst(text: string, separator: string, count: number): string[] {
  const parts = text.split(separator);
  if (parts.length <= count) return parts;
  return [...parts.slice(0, count - 1), parts.slice(count - 1).join(separator)];
}

/** Reads a version as Semantic Versioning 2.0 has it. */
export function parseVersion(text: string): Version {
  if (text === "") fail("Version string empty");
  const [majorText = "", minorText = "", rest] = splitFirst(text, ".", 3);
  if (rest === undefined) return fail("No Major.Minor.Patch elements found");
  const major = parseNumber(majorText, "major");
  const minor = parseNumber(minorText, "minor");
  const plus = rest.indexOf("+");
  const build = plus < 0 ? [] : rest.slice(plus + 1).split(".");
  const core = plus < 0 ? rest : rest.slice(0, plus);
  const dash = core.indexOf("-");
  const prerelease = dash < 0 ? [] : core.slice(dash + 1).split(".");
  const patch = parseNumber(dash < 0 ? core : core.slice(0, dash), "patch");
  return { major, minor, patch, prerelease: prerelease.map(parsePrerelease), build: build.map(checkBuild) };
}

function parseNumber(text: string, name: string): bigint {
  if (!/^\d*$/.test(text)) fail(`Invalid character(s) found in ${name} number ${goQuote(text)}`);
  if (text.length > 1 && text.startsWith("0")) {
    fail(`${name.charAt(0).toUpperCase()}${name.slice(1)} number must not contain leading zeroes ${goQuote(text)}`);
  }
  return toUint(text);
}

function toUint(text: string): bigint {
  if (text === "") fail('strconv.ParseUint: parsing "": invalid syntax');
  const value = text.length > 20 ? maxPart + 1n : BigInt(text);
  if (value > maxPart) fail(`strconv.ParseUint: parsing ${goQuote(text)}: value out of range`);
  return value;
}

function parsePrerelease(text: string): bigint | string {
  if (text === "") fail("Prerelease is empty");
  if (/^\d+$/.test(text)) {
    if (text.length > 1 && text.startsWith("0")) {
      fail(`Numeric PreRelease version must not contain leading zeroes ${goQuote(text)}`);
    }
    return toUint(text);
  }
  if (!/^[0-9A-Za-z-]+$/.test(text)) fail(`Invalid character(s) found in prerelease ${goQuote(text)}`);
  return text;
}

function checkBuild(text: string): string {
  if (text === "") fail("Build meta data is empty");
  if (!/^[0-9A-Za-z-]+$/.test(text)) fail(`Invalid character(s) found in build meta data ${goQuote(text)}`);
  return text;
}

/** Makes a loosely written version (`v1.02`) a strict one: no `v`, no leading zeros, three numbers. */
export function normalizeVersion(text: string): string {
  const parts = splitFirst(text.replace(/^v/, ""), ".", 3).map((part) => {
    if (part.length <= 1) return part;
    const stripped = part.replace(/^0+/, "");
    return /^\d/.test(stripped) ? stripped : `0${stripped}`;
  });
  if (parts.length < 3 && /[+-]/.test(parts.at(-1) ?? "")) {
    fail("short version cannot contain PreRelease/Build meta data");
  }
  while (parts.length < 3) parts.push("0");
  return parts.join(".");
}
