// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import { ProtocolError } from "@purlin/function-protocol";
import { RunnerError } from "@purlin/function-runner";
import { adviceOn } from "./call-command.ts";

const cases: Record<string, { readonly error: unknown; readonly says: RegExp }> = {
  NeverSettles: { error: new ProtocolError("UNSTABLE_REQUIREMENTS", "x"), says: /the same requirements on every call/ },
  UnknownKind: { error: new Error('no matches for kind "A" in version "v1"'), says: /--crds/ },
  TooSlow: { error: new RunnerError("RPC", "x", { status: "DeadlineExceeded" }), says: /--timeout/ },
  NotAFunction: { error: new RunnerError("RPC", "x", { status: "Unimplemented" }), says: /not a composition function/ },
  OtherStatus: { error: new RunnerError("RPC", "x", { status: "Internal" }), says: /^$/ },
  Other: { error: new Error("x"), says: /^$/ },
};
for (const [name, { error, says }] of Object.entries(cases)) {
  test(`advice: ${name}`, () => assert.match(adviceOn(error), says));
}
