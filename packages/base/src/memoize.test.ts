// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import { memoize } from "./memoize.ts";

test("a result is made once for each object", () => {
  const seen: number[] = [];
  const double = memoize(({ value }: { readonly value: number }) => {
    seen.push(value);
    return { doubled: 2 * value };
  });
  const [one, same] = [{ value: 1 }, { value: 1 }];
  assert.equal(double(one), double(one));
  assert.deepEqual(double(same), { doubled: 2 });
  assert.notEqual(double(one), double(same));
  assert.deepEqual(seen, [1, 1]);
});

test("an error is not kept", () => {
  let calls = 0;
  const failing = memoize((_: object): string => {
    calls += 1;
    throw new Error(`call ${calls}`);
  });
  const key = {};
  assert.throws(() => failing(key), /call 1/);
  assert.throws(() => failing(key), /call 2/);
});
