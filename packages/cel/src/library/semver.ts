// SPDX-License-Identifier: Apache-2.0
import { compareSemanticVersions } from "@purlin/base";
import { boolType, intType, stringType, structType } from "../types/types.ts";
import { CelError, isError, noSuchOverload } from "../values/cel-error.ts";
import { OpaqueValue } from "../values/opaque.ts";
import type { Value } from "../values/value.ts";
import { fixedCost, traversal } from "./costs.ts";
import { type FunctionDecl, type Implementation, memberOverload, overload, signature } from "./function.ts";
import { normalizeVersion, parseVersion, type Version, VersionProblem } from "./semantic-version.ts";

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
    if (problem instanceof VersionProblem) return new CelError(problem.message);
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
