// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import { compareVersions, parseVersion, type Version } from "@purlin/oci";
import fc from "fast-check";
import { commonDigest, highestAllowed, nearestAllowed } from "./lock-store.ts";

const highest: { why: string; tags: string; constraints: string[]; tag: string | undefined }[] = [
  {
    why: "incomplete versions and prereleases are not taken",
    tags: "v1 v1.1.0 v2.0.0-rc.1 latest v1.2",
    constraints: [">=v1.0.0"],
    tag: "v1.1.0",
  },
  { why: "with and without v", tags: "1.0.0 v0.9.0", constraints: ["*"], tag: "1.0.0" },
  { why: "numbers, not texts", tags: "v1.9.0 v1.10.0", constraints: ["*"], tag: "v1.10.0" },
  { why: "all constraints count", tags: "v1.0.0 v1.5.0 v2.0.0", constraints: [">=v1", "<v2"], tag: "v1.5.0" },
  {
    why: "a prerelease where one is asked for",
    tags: "v1.0.0 v2.0.0-rc.1",
    constraints: [">=v1.0.0-0"],
    tag: "v2.0.0-rc.1",
  },
  { why: "alternatives", tags: "v1.0.0 v2.0.0 v3.0.0", constraints: ["v1.0.0 || v2.0.0"], tag: "v2.0.0" },
  { why: "none will do", tags: "v1.0.0", constraints: [">=v2"], tag: undefined },
  { why: "none at all", tags: "", constraints: ["*"], tag: undefined },
];

for (const { why, tags, constraints, tag } of highest) {
  test(`the highest of ${tags || "nothing"} for ${constraints.join(" and ")}: ${why}`, () => {
    assert.equal(highestAllowed(tags.split(" "), constraints), tag);
  });
}

const nearest: { why: string; installed: string; constraints: string[]; down?: boolean; tag: string | undefined }[] = [
  { why: "up as little as possible", installed: "v1.0.0", constraints: [">=1.1", "<2"], tag: "v1.1.0" },
  { why: "what is installed may stay", installed: "v1.1.0", constraints: [">=1"], tag: "v1.1.0" },
  { why: "not down", installed: "v1.5.0", constraints: ["<1.5.0"], tag: undefined },
  {
    why: "down as little as possible where allowed",
    installed: "v1.5.0",
    constraints: ["<1.5.0"],
    down: true,
    tag: "v1.1.0",
  },
  { why: "up is preferred", installed: "v1.0.0", constraints: ["!=1.0.0"], down: true, tag: "v1.1.0" },
  {
    why: "an installed digest has no place in the order",
    installed: `sha256:${"0".repeat(64)}`,
    constraints: ["<2"],
    tag: "v1.5.0",
  },
  { why: "nothing there will do", installed: "v1.0.0", constraints: [">=3"], down: true, tag: undefined },
];

for (const { why, installed, constraints, down = false, tag } of nearest) {
  test(`from ${installed.slice(0, 12)} to ${constraints.join(" and ")}: ${why}`, () => {
    const tags = ["v0.9.0", "v1.0.0", "v1.1.0", "v1.5.0", "v2.0.0"];
    assert.equal(nearestAllowed(tags, { installed, constraints, allowDowngrade: down }), tag);
  });
}

const part = fc.nat({ max: 3 });
const versions = fc.array(
  fc.tuple(part, part, part).map((numbers) => `v${numbers.join(".")}`),
  { maxLength: 15 },
);
const version = (text: string): Version => parseVersion(text) as Version;

test("the chosen version satisfies all constraints, and no better one exists", () => {
  fc.assert(
    fc.property(versions, fc.constantFrom("*", ">=1", "<2", "^1.1", "~2.0", "!=1.0.0"), (tags, constraint) => {
      const chosen = highestAllowed(tags, [constraint]);
      const allowed = tags.filter((tag) => highestAllowed([tag], [constraint]) !== undefined);
      if (chosen === undefined) return assert.deepEqual(allowed, []);
      assert.ok(allowed.every((tag) => compareVersions(version(tag), version(chosen)) <= 0));
    }),
  );
});

test("all constraints have the same digest, or none has one", () => {
  const [one, two] = [`sha256:${"1".repeat(64)}`, `sha256:${"2".repeat(64)}`];
  assert.equal(commonDigest([], "a"), undefined);
  assert.equal(commonDigest([">=1", "<2"], "a"), undefined);
  assert.equal(commonDigest([one, one], "a"), one);
  assert.throws(() => commonDigest([one, two], "a"), { message: `a is wanted in different digests: ${one}, ${two}` });
  assert.throws(() => commonDigest([one, ">=1"], "a"), {
    message: `a is wanted both by digest and by version: ${one}, >=1`,
  });
});
