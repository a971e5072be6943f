// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import { collecting } from "./collecting.ts";

test("entries are decoded one after the other, and those of which nothing is needed are left out", () => {
  const decoded: number[] = [];
  const entries = [1, 2, 3].map((value) => ({
    get value() {
      decoded.push(value);
      return value;
    },
  }));
  const work = collecting(entries, ({ value }) => (value === 2 ? undefined : `v${value}`));
  assert.equal(work.next().done, false);
  assert.deepEqual(decoded, [1]);
  work.next();
  assert.deepEqual(decoded, [1, 2]);
  work.next();
  assert.deepEqual(work.next(), { done: true, value: ["v1", "v3"] });
});
