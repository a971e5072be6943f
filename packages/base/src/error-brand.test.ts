// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import { createErrorBrand } from "./error-brand.ts";

test("marked errors are known, also by another copy of the brand, and nothing else is", () => {
  const [brand, copy, other] = ["a", "a", "b"].map((name) => createErrorBrand(`purlin.dev/test/${name}`));
  const error = new Error("x");
  brand?.mark(error);
  assert.deepEqual(
    [brand, copy, other].map((one) => one?.has(error)),
    [true, true, false],
  );
  for (const value of [new Error("x"), {}, null, undefined, "text", 7]) assert.equal(brand?.has(value), false);
});

test("a brand is invisible: it is not listed, copied or changed", () => {
  const brand = createErrorBrand("purlin.dev/test/hidden");
  const error = new Error("x");
  brand.mark(error);
  assert.deepEqual(Object.keys(error), []);
  assert.equal(brand.has({ ...error }), false);
});
