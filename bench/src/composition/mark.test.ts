// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import { mark, scaled } from "./mark.ts";

test("the mark is slower on a slower machine, and faster on a faster one", () => {
  assert.equal(scaled(mark.thousandSeconds, mark.createsPerSecond), 53);
  assert.equal(scaled(mark.thousandSeconds, mark.createsPerSecond / 2), 106);
  assert.equal(scaled(mark.thousandSeconds, mark.createsPerSecond * 2), 26.5);
});
