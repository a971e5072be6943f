// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import { status } from "@grpc/grpc-js";
import type { FunctionTarget } from "../function-runner.ts";
import { functionFailure, statusName } from "./rpc-failure.ts";

const target: FunctionTarget = {
  functionName: "fn",
  revisionName: "fn-1",
  packageRef: "",
  endpoint: "localhost:1",
  revision: 1,
};

const texts: Readonly<Record<string, { reason: string; text: string; want: string }>> = {
  Plain: { reason: "one line stays as it is", text: " no  such bucket ", want: " no  such bucket " },
  Lines: { reason: "lines become one", text: "panic:\n  at a\r\n\tat b", want: "panic: at a at b" },
  Empty: { reason: "empty lines are left out", text: "panic:\n\n \r\nat a", want: "panic: at a" },
  Spaces: {
    reason: "as many spaces as fit into a trailer are looked at once",
    text: `a${" ".repeat(500_000)}b\nc`,
    want: `a${" ".repeat(500_000)}b c`,
  },
};

for (const [name, { reason, text, want }] of Object.entries(texts)) {
  test(`the text of a failure, ${name}: ${reason}`, () => {
    const { message } = functionFailure(target, { code: status.INTERNAL, text });
    assert.equal(message, `cannot run Function "fn": rpc error: code = Internal desc = ${want}`);
  });
}

test("every status has the name Crossplane gives it, and an unknown one its number", () => {
  assert.deepEqual([0, 1, 4, 14, 16, 17].map(statusName), [
    "OK",
    "Canceled",
    "DeadlineExceeded",
    "Unavailable",
    "Unauthenticated",
    "Code(17)",
  ]);
});
