// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import { test } from "node:test";
import { shortened } from "./shortened.ts";

const rows: Readonly<Record<string, { reason: string; message: string; end: string }>> = {
  Short: { reason: "what fits stays", message: "no such bucket", end: "no such bucket" },
  Exact: { reason: "so does what just fits", message: `${"x".repeat(32_767)}y`, end: "xy" },
  Long: { reason: "what does not is cut, and shows it", message: "x".repeat(32_769), end: "x…" },
  Wide: { reason: "no character is cut in two", message: "é".repeat(20_000), end: "é…" },
};

for (const [name, { reason, message, end }] of Object.entries(rows)) {
  test(`${name}: ${reason}`, () => {
    const short = shortened(message);
    assert.ok(short.endsWith(end), short.slice(-10));
    assert.ok(Buffer.byteLength(short) <= 32_768);
    assert.equal(shortened(short), short);
  });
}
