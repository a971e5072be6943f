// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { compareSemanticVersions, compareUtf8, type SemanticVersion } from "./order.ts";

function version(text: string): SemanticVersion {
  const [numbers = "", prerelease] = text.split("-");
  const [major = 0, minor = 0, patch = 0] = numbers.split(".").map(Number);
  return { major, minor, patch, prerelease: prerelease?.split(".") ?? [] };
}

test("versions have the order of Semantic Versioning 2.0", () => {
  const ordered = [
    ...["0.9.9", "1.0.0-2", "1.0.0-10", "1.0.0-alpha", "1.0.0-alpha.1", "1.0.0-alpha.beta", "1.0.0-beta"],
    ...["1.0.0-beta.2", "1.0.0-beta.11", "1.0.0-rc.1", "1.0.0", "1.0.1", "1.1.0", "2.0.0"],
  ];
  for (const [at, a] of ordered.entries()) {
    for (const [other, b] of ordered.entries()) {
      assert.equal(compareSemanticVersions(version(a), version(b)), Math.sign(at - other), `${a} and ${b}`);
    }
  }
});

test("numbers may be bigints", () => {
  const big = { major: 1n, minor: 2n, patch: 3n, prerelease: [2n] };
  assert.equal(compareSemanticVersions(big, { ...big, prerelease: [10n] }), -1);
  assert.equal(compareSemanticVersions(big, { ...big, prerelease: ["a"] }), -1);
  assert.equal(compareSemanticVersions(big, { ...big, prerelease: [] }), -1);
});

test("numbers and bigints of the same value are equal", () => {
  const small = version("1.2.3-rc.1");
  const big = { major: 1n, minor: 2n, patch: 3n, prerelease: ["rc", 1n] };
  assert.deepEqual([compareSemanticVersions(small, big), compareSemanticVersions(big, small)], [0, 0]);
  const larger = { ...big, patch: 2n ** 63n };
  assert.deepEqual([compareSemanticVersions(small, larger), compareSemanticVersions(larger, small)], [-1, 1]);
});

test("numbers beyond 2^53 are compared exactly", () => {
  const of = (patch: bigint, identifier: string): SemanticVersion => ({
    ...{ major: 0, minor: 0, patch, prerelease: [identifier] },
  });
  const [n, next] = ["9007199254740992", "9007199254740993"];
  assert.equal(compareSemanticVersions(of(9007199254740992n, "a"), of(9007199254740993n, "a")), -1);
  assert.equal(compareSemanticVersions(of(0n, n), of(0n, next)), -1);
  assert.equal(compareSemanticVersions(of(0n, next), of(0n, n)), 1);
});

test("strings are ordered by their UTF-8 bytes", () => {
  const texts = fc.string({
    unit: fc.constantFrom("a", "b", "\u00e9", "\uffff", "\u{1f600}", "\u{10ffff}"),
    maxLength: 8,
  });
  fc.assert(
    fc.property(texts, texts, (a, b) =>
      assert.equal(compareUtf8(a, b), Buffer.compare(Buffer.from(a), Buffer.from(b))),
    ),
  );
});
