// SPDX-License-Identifier: Apache-2.0
import { compareSemanticVersions } from "@purlin/base";
import { goQuote } from "@purlin/kube-objects/json";
import { boolType, intType, stringType, structType } from "../types/types.ts";
import { CelError, isError, noSuchOverload, OpaqueValue, type Value } from "../values/value.ts";
import { fixedCost, traversal } from "./costs.ts";
import { type FunctionDecl, type Implementation, memberOverload, overload, signature } from "./function.ts";

interface Version {
  readonly major: bigint;
  readonly minor: bigint;
  readonly patch: bigint;
  /** Numbers are bigints. */
  readonly prerelease: readonly (bigint | string)[];
  readonly build: readonly string[];
}

class VersionSyntaxError extends Error {}

function fail(message: string): never {
  throw new VersionSyntaxError(message);
}

const maxPart = 2n ** 64n - 1n;

/** Cuts at the first `count - 1` separators only. */
function splitFirst(text: string, separator: string, count: number): string[] {
  const parts = text.split(separator);
  if (parts.length <= count) return parts;
  return [...parts.slice(0, count - 1), parts.slice(count - 1).join(separator)];
}

/** Reads a version as Semantic Versioning 2.0 has it. */
function parseVersion(text: string): Version {
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
function normalizeVersion(text: string): string {
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

const semverType = structType("kubernetes.Semver");

/** A semantic version. */
class SemverValue extends OpaqueValue {
  readonly typeName = "kubernetes.Semver";
  readonly version: Version;

  constructor(version: Version) {
    super();
    this.version = version;
  }

  equals(other: Value): boolean | CelError {
    if (!(other instanceof SemverValue)) return isError(other) ? other : noSuchOverload;
    return compareSemanticVersions(this.version, other.version) === 0;
  }

  override toString(): string {
    const { major, minor, patch, prerelease, build } = this.version;
    const pre = prerelease.length === 0 ? "" : `-${prerelease.join(".")}`;
    return `${major}.${minor}.${patch}${pre}${build.length === 0 ? "" : `+${build.join(".")}`}`;
  }
}

const parseSemver: Implementation = ([text, normalizes = false]) => {
  if (typeof text !== "string" || typeof normalizes !== "boolean") return noSuchOverload;
  try {
    return new SemverValue(parseVersion(normalizes ? normalizeVersion(text) : text));
  } catch (problem) {
    if (problem instanceof VersionSyntaxError) return new CelError(problem.message);
    throw problem;
  }
};

const isSemver: Implementation = (args, meter) => {
  if (args.some((arg) => typeof arg !== "string" && typeof arg !== "boolean")) return noSuchOverload;
  return !isError(parseSemver(args, meter));
};

const onOne =
  (run: (version: Version) => Value): Implementation =>
  ([version]) =>
    version instanceof SemverValue ? run(version.version) : noSuchOverload;

const onTwo =
  (run: (order: number) => Value): Implementation =>
  ([a, b]) => {
    if (!(a instanceof SemverValue) || !(b instanceof SemverValue)) return noSuchOverload;
    return run(compareSemanticVersions(a.version, b.version));
  };

// Numbers are kept in 64 bits without sign and read as signed ones.
const asInt = (value: bigint): bigint => BigInt.asIntN(64, value);

function partFunction(name: "major" | "minor" | "patch"): FunctionDecl {
  const run = onOne((version) => asInt(version[name]));
  return {
    name,
    cost: fixedCost,
    overloads: [memberOverload(signature(`semver_${name}`, [semverType], intType), run)],
  };
}

const both = [semverType, semverType];

/** Functions on semantic versions. */
export const semverFunctions: readonly FunctionDecl[] = [
  {
    name: "semver",
    cost: traversal(),
    overloads: [
      overload(signature("string_to_semver", [stringType], semverType), parseSemver),
      overload(signature("string_bool_to_semver", [stringType, boolType], semverType), parseSemver),
    ],
  },
  {
    name: "isSemver",
    cost: traversal(),
    overloads: [
      overload(signature("is_semver_string", [stringType], boolType), isSemver),
      overload(signature("is_semver_string_bool", [stringType, boolType], boolType), isSemver),
    ],
  },
  {
    name: "isGreaterThan",
    cost: fixedCost,
    overloads: [
      memberOverload(
        signature("semver_is_greater_than", both, boolType),
        onTwo((order) => order > 0),
      ),
    ],
  },
  {
    name: "isLessThan",
    cost: fixedCost,
    overloads: [
      memberOverload(
        signature("semver_is_less_than", both, boolType),
        onTwo((order) => order < 0),
      ),
    ],
  },
  {
    name: "compareTo",
    cost: fixedCost,
    overloads: [
      memberOverload(
        signature("semver_compare_to", both, intType),
        onTwo((order) => BigInt(order)),
      ),
    ],
  },
  partFunction("major"),
  partFunction("minor"),
  partFunction("patch"),
];
