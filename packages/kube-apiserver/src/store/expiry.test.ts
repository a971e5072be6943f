// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import { Expiry } from "./memory.ts";

test("a key is due once its time has come, never before, and at most a second late", () => {
  const expiry = new Expiry();
  expiry.set("/a", 5500);
  assert.deepEqual(expiry.due(5499, 10), []);
  assert.deepEqual(expiry.due(6000, 10), ["/a"]);
});

test("a refreshed key moves, a cleared one is forgotten, and neither leaves anything behind", () => {
  const expiry = new Expiry();
  for (let time = 0; time < 100_000; time += 100) {
    expiry.set("/a", time);
    expiry.set("/b", time);
  }
  expiry.set("/b", undefined);
  assert.equal(expiry.size, 1);
  assert.deepEqual(expiry.due(99_000, 10), []);
  assert.deepEqual(expiry.due(100_000, 10), ["/a"]);
  expiry.set("/a", undefined);
  expiry.set("/never", undefined);
  assert.deepEqual([expiry.size, expiry.due(Number.MAX_SAFE_INTEGER, 10)], [0, []]);
});

test("due keys come in portions and stay until they are set again", () => {
  const expiry = new Expiry();
  for (let i = 0; i < 10; i += 1) {
    expiry.set(`/${i}`, i * 1000);
  }
  assert.equal(expiry.due(20_000, 4).length, 4);
  assert.equal(expiry.due(20_000, 100).length, 10);
});
