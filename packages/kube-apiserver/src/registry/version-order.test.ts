// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { compareApiVersions } from "./registry.ts";

// The example of the documentation of CustomResourceDefinitions.
const documented = ["v10", "v2", "v1", "v11beta2", "v10beta3", "v3beta1", "v12alpha1", "v11alpha2", "foo1", "foo10"];

test("versions are preferred as the documentation says", () => {
  assert.deepEqual(documented.toReversed().sort(compareApiVersions), documented);
});

test("what only looks like a version is a name", () => {
  const names = ["v0", "v01", "v1beta", "v1beta0", "v1gamma1", "1", "V1", "v1.0"];
  assert.deepEqual([...names, "v1alpha1"].sort(compareApiVersions)[0], "v1alpha1");
  assert.deepEqual([...names].sort(compareApiVersions), [...names].sort());
});

test("property: an order, whatever the names", () => {
  const version = fc.oneof(fc.constantFrom(...documented, "v0", "v1beta", ""), fc.string({ maxLength: 4 }));
  fc.assert(
    fc.property(version, version, version, (a, b, c) => {
      const sign = (x: string, y: string): number => Math.sign(compareApiVersions(x, y));
      assert.equal(sign(a, b) + sign(b, a), 0);
      assert.equal(sign(a, a), 0);
      if (sign(a, b) <= 0 && sign(b, c) <= 0) assert.ok(sign(a, c) <= 0);
    }),
  );
});
