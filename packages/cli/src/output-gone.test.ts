// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import { runInProcess } from "../test/test-io.ts";
import { isOutputGone, OutputClosedError } from "./io.ts";

const failing = (code: string): NodeJS.ErrnoException => Object.assign(new Error(`${code}: no`), { code });

const rows: Record<string, { readonly code: string; readonly exitCode: number; readonly problem: string | undefined }> =
  {
    AReaderThatHasSeenEnough: { code: "EPIPE", exitCode: 141, problem: undefined },
    AFullDisk: { code: "ENOSPC", exitCode: 1, problem: "cannot write to stdout: ENOSPC: no" },
  };
for (const [name, { code, exitCode, problem }] of Object.entries(rows)) {
  test(`a command whose output goes nowhere stops without another word: ${name}`, async () => {
    const gone = new OutputClosedError(failing(code));
    assert.deepEqual([isOutputGone(gone), gone.exitCode, gone.problem], [true, exitCode, problem]);
    const stop = new AbortController();
    stop.abort(gone);
    const outcome = await runInProcess(["apply", "-"], { signal: stop.signal, stdin: "kind: X" });
    assert.deepEqual(outcome, { exitCode, stdout: "", stderr: "" });
  });
}

test("other reasons to stop are none of these", () => {
  for (const other of [undefined, null, "x", new Error("x")]) assert.equal(isOutputGone(other), false);
});
