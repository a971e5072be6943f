// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { compareVersions, parseConstraint, parseVersion, type Version } from "./version.ts";

const number = fc.nat({ max: 5 });
const identifier = fc.oneof(fc.nat({ max: 12 }).map(String), fc.constantFrom("alpha", "beta", "rc", "x-y"));
const prerelease = fc.option(
  fc.array(identifier, { minLength: 1, maxLength: 3 }).map((parts) => parts.join(".")),
  { nil: undefined },
);
const versionText = fc
  .tuple(fc.boolean(), number, number, number, prerelease)
  .map(
    ([hasV, major, minor, patch, pre]) =>
      `${hasV ? "v" : ""}${major}.${minor}.${patch}${pre === undefined ? "" : `-${pre}`}`,
  );

function version(text: string): Version {
  const parsed = parseVersion(text);
  assert.ok(parsed, text);
  return parsed;
}
const allows = (constraint: string, text: string): boolean => parseConstraint(constraint).allows(version(text));

test("the order of versions is antisymmetric and transitive", () => {
  fc.assert(
    fc.property(versionText, versionText, versionText, (a, b, c) => {
      const [x, y, z] = [version(a), version(b), version(c)];
      assert.equal(Math.sign(compareVersions(x, y)), -Math.sign(compareVersions(y, x)) || 0);
      if (compareVersions(x, y) <= 0 && compareVersions(y, z) <= 0) assert.ok(compareVersions(x, z) <= 0);
    }),
  );
});

test("a version satisfies itself, and is in the ranges that start or end with it", () => {
  fc.assert(
    fc.property(versionText, (text) => {
      for (const constraint of [text, `=${text}`, `>=${text}`, `<=${text}`, `~${text}`, `${text} || v99.0.0`]) {
        assert.ok(allows(constraint, text), `${text} in ${constraint}`);
      }
      for (const constraint of [`!=${text}`, `>${text}`, `<${text}`])
        assert.ok(!allows(constraint, text), `${text} in ${constraint}`);
    }),
  );
});

test("a prerelease satisfies only a constraint that names one", () => {
  fc.assert(
    fc.property(number, number, number, identifier, (major, minor, patch, pre) => {
      const text = `${major}.${minor}.${patch}-${pre}`;
      for (const constraint of ["*", ">=0.0.0", "<100", "!=50.0.0"])
        assert.ok(!allows(constraint, text), `${text} in ${constraint}`);
      assert.ok(allows(">=0.0.0-0", text));
    }),
  );
});

test("constraints with a comma are both, those with bars are either", () => {
  fc.assert(
    fc.property(versionText, versionText, versionText, (low, high, text) => {
      const [a, b] = [allows(`>=${low}`, text), allows(`<${high}`, text)];
      const isPlain = version(text).prerelease === "";
      if (isPlain) assert.equal(allows(`>=${low}, <${high}`, text), a && b);
      assert.equal(allows(`>=${low} || <${high}`, text), a || b);
    }),
  );
});

const refused = [
  "",
  " ",
  "latest",
  ">",
  ">=",
  ">= v",
  "1.2.3.4",
  "v1..2",
  "1,",
  ",1",
  "1 ,, 2",
  "||",
  ">=1 ||",
  "1-",
  "not",
  "^",
  "~",
  "=>=1",
  "1 2 x!",
  "٣",
  "1\u00002",
];
for (const text of refused) {
  test(`invalid constraint ${JSON.stringify(text)}`, () => {
    assert.throws(
      () => parseConstraint(text),
      /is not a version constraint; use for example ">=v1\.2\.0, <v2\.0\.0" or "\^1\.2"$/,
    );
  });
}

test("arbitrary text is parsed or rejected quickly", () => {
  fc.assert(
    fc.property(fc.string({ maxLength: 600 }), (text) => {
      parseVersion(text);
      try {
        parseConstraint(text);
      } catch (error) {
        assert.match(String(error), /is not a version constraint/);
      }
    }),
  );
});

const versions: Record<string, string | undefined> = {
  "1.2.3": "1.2.3",
  "v1.2.3-rc.1+build.5": "1.2.3-rc.1",
  v1: "1.0.0",
  "1.2": "1.2.0",
  "01.2.3": "1.2.3",
  "1.2.3-01": undefined,
  "1.2.3-": undefined,
  "1.2.3+": undefined,
  "1.2.3 ": undefined,
  "V1.2.3": undefined,
  "1.2.3.4": undefined,
  "-1.0.0": undefined,
  "9007199254740993.0.0": undefined,
  "": undefined,
};
for (const [text, expected] of Object.entries(versions)) {
  test(`${JSON.stringify(text)} is ${expected ?? "no version"}`, () => {
    const parsed = parseVersion(text);
    const printed =
      parsed && `${parsed.major}.${parsed.minor}.${parsed.patch}${parsed.prerelease && `-${parsed.prerelease}`}`;
    assert.equal(printed, expected);
  });
}
