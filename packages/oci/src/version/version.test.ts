// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { compareVersions, parseConstraint, parseVersion, type Version } from "./version.ts";

// What the Go library that real package managers use answers (github.com/Masterminds/semver/v3, 3.5.0), recorded by asking it.
const recorded = JSON.parse(readFileSync(new URL("testdata/masterminds-semver.json", import.meta.url), "utf8")) as {
  versions: string[];
  constraints: { constraint: string; valid: boolean; satisfied?: string[] }[];
  parses: Record<string, string>;
  compares: Record<string, number[]>;
};

function version(text: string): Version {
  const parsed = parseVersion(text);
  assert.ok(parsed, text);
  return parsed;
}

for (const { constraint, valid, satisfied = [] } of recorded.constraints) {
  test(`constraint ${JSON.stringify(constraint)}`, () => {
    if (!valid) return assert.throws(() => parseConstraint(constraint), /is not a version constraint/);
    const parsed = parseConstraint(constraint);
    assert.deepEqual(
      recorded.versions.filter((text) => parsed.allows(version(text))),
      satisfied,
    );
  });
}

test("valid and invalid versions", () => {
  for (const [text, expected] of Object.entries(recorded.parses)) {
    const parsed = parseVersion(text);
    const printed = parsed === undefined ? "error" : print(parsed);
    assert.equal(printed, expected, JSON.stringify(text));
  }
});

function print({ major, minor, patch, prerelease, build }: Version): string {
  return `${major}.${minor}.${patch}${prerelease && `-${prerelease}`}${build && `+${build}`}`;
}

test("the order of versions", () => {
  for (const [text, orders] of Object.entries(recorded.compares)) {
    const ours = recorded.versions.map((other) => Math.sign(compareVersions(version(text), version(other))));
    assert.deepEqual(ours, orders, text);
  }
});

test("how much of a version was written", () => {
  assert.deepEqual(
    ["v1", "v1.2", "v1.2.3"].map((text) => parseVersion(text)?.written),
    [1, 2, 3],
  );
});

test("a long constraint is rejected quickly", () => {
  assert.throws(() => parseConstraint(">=1.0.0 ".repeat(10_000)), /is not a version constraint/);
  assert.throws(() => parseConstraint(`${"1.".repeat(200)}x`), /is not a version constraint/);
});
