// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import { sink } from "./io.ts";

type Size = { readonly columns?: number; readonly rows?: number };
const cases: Record<
  string,
  { readonly size: Size; readonly shown: readonly [number, number]; readonly reason: string }
> = {
  Window: { size: { columns: 80, rows: 50 }, shown: [80, 50], reason: "a window says how large it is" },
  Pipe: { size: {}, shown: [100, 24], reason: "a file has no size" },
  ZeroSize: {
    size: { columns: 0, rows: 0 },
    shown: [100, 24],
    reason: "a terminal of CI may say 0, which fits no word",
  },
};
for (const [name, { size, shown, reason }] of Object.entries(cases)) {
  test(`the size of a terminal: ${name}`, () => {
    const stream = { write: () => true, isTTY: true, ...size };
    const { columns, rows } = sink(stream as unknown as NodeJS.WriteStream);
    assert.deepEqual([columns, rows], shown, reason);
  });
}
