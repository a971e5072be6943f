// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { once } from "node:events";
import { PassThrough } from "node:stream";
import { test } from "node:test";
import { readLimited } from "./exchange.ts";

test("the body of a client that has gone is not waited for", async () => {
  const stream = new PassThrough();
  const closed = once(stream, "close");
  stream.destroy();
  await closed;
  await assert.rejects(readLimited(stream, 10, undefined), /the request body was cut off/);
});

test("a body is read to its end, and no further than the limit", async () => {
  const whole = new PassThrough();
  whole.end("12345");
  assert.equal(Buffer.from(await readLimited(whole, 5, undefined)).toString(), "12345");
  const long = new PassThrough();
  long.end("123456");
  await assert.rejects(readLimited(long, 5, undefined), /limit is 5/);
});
