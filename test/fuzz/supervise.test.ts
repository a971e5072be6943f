// SPDX-License-Identifier: Apache-2.0
// How the end of a fuzzing thread is judged.
import assert from "node:assert/strict";
import { test } from "node:test";
import { runThread, type ThreadEnd } from "./engine/supervise.ts";

const ends: Readonly<Record<string, { readonly program: string; readonly want: ThreadEnd["kind"] }>> = {
  "a thread that ends by itself is done": { program: "process.exit(0)", want: "done" },
  "a promise that never settles is a finding": { program: "await new Promise(() => {})", want: "hang" },
  "an error that is not caught is a finding": { program: "throw new Error('broken')", want: "crash" },
};

for (const [title, { program, want }] of Object.entries(ends)) {
  test(title, async () => {
    const order = { target: "", seed: 1, milliseconds: 1000 };
    const url = new URL(`data:text/javascript,${encodeURIComponent(program)}`);
    const { kind } = await runThread(order, () => {}, url);
    assert.equal(kind, want);
  });
}
