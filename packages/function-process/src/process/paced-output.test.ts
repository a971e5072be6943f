// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { once } from "node:events";
import { Readable } from "node:stream";
import { test } from "node:test";
import { setImmediate as turn } from "node:timers/promises";
import { readPaced } from "./launch-function.ts";

const chunk = 64 * 1024;

/** Writes one letter after the other, each as often as a pipe holds, and counts how often it was asked. */
function writer(chunks: number): { readonly output: Readable; readonly asked: () => number } {
  let asked = 0;
  const output = new Readable({
    highWaterMark: chunk,
    read() {
      const letter = String.fromCharCode(97 + (asked % 26));
      this.push(asked++ < chunks ? Buffer.alloc(chunk, letter) : null);
    },
  });
  return { output, asked: () => asked };
}

async function turns(count: number): Promise<void> {
  for (let at = 0; at < count; at++) await turn();
}

test("a program that writes without end is paused after each 128 KiB and resumed", async () => {
  const { output, asked } = writer(Number.POSITIVE_INFINITY);
  const waiting: (() => void)[] = [];
  let taken = "";
  readPaced(
    output,
    (text) => {
      taken += text;
    },
    (task) => waiting.push(task),
  );
  for (let round = 1; round <= 3; round++) {
    await turns(100);
    assert.equal(taken.length, round * 2 * chunk, "it is not read while it waits");
    assert.ok(asked() <= round * 2 + 2, "nor kept in memory");
    assert.equal(waiting.length, 1);
    waiting.pop()?.();
  }
  output.destroy();
  assert.match(taken, /^a+b+c+d+e+f+$/);
});

test("output is read to its end, with characters split across chunks intact", async () => {
  const text = "grüße ☃\n".repeat(60_000);
  const bytes = Buffer.from(text);
  const pieces = Array.from({ length: Math.ceil(bytes.length / 10_001) }, (_, at) =>
    bytes.subarray(at * 10_001, (at + 1) * 10_001),
  );
  const output = Readable.from(pieces, { objectMode: false });
  let taken = "";
  readPaced(output, (some) => {
    taken += some;
  });
  await once(output, "end");
  assert.equal(taken, text);
});
