// SPDX-License-Identifier: Apache-2.0
// Functions that misbehave: each gives the exact error, and nothing is left behind.
import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import { test } from "node:test";
import { status } from "@grpc/grpc-js";
import { create, maxMessageDepth, Resource, State, Struct } from "@purlin/function-protocol";
import { answer, type FunctionServerOptions, serveFunction, statusError } from "../../test/function-server.ts";
import { assertNothingLeft, call, request, resources, targetAt } from "../../test/runs.ts";
import { createDiallingRunner } from "./dialling-runner.ts";

const prefix = 'cannot run Function "fn": rpc error: code = ';

// The outermost object is one message, every further one three: a map entry, a value and the object in it.
const deepest = Math.floor((maxMessageDepth - 1) / 3);

/** A Struct of nested objects, made without encoding it as one. */
function nested(levels: number): Struct {
  let bytes: Uint8Array = new Uint8Array(0);
  const wrap = (tag: number, inner: Uint8Array): Uint8Array => {
    const size: number[] = [];
    let rest = inner.length;
    for (; rest >= 0x80; rest >>>= 7) size.push((rest & 0x7f) | 0x80);
    size.push(rest);
    return Buffer.concat([Buffer.from([tag, ...size]), inner]);
  };
  for (let level = 0; level < levels; level++) bytes = wrap(0x0a, wrap(0x12, wrap(0x2a, bytes)));
  return Struct.fromBytes(bytes);
}

const faults: Readonly<
  Record<string, { reason: string; server: FunctionServerOptions; limitMs?: number; want: string }>
> = {
  Hangs: {
    reason: "a function that never answers costs one deadline, and its error names function and step",
    server: { handler: () => new Promise(() => {}) },
    limitMs: 150,
    want: `${prefix}DeadlineExceeded desc = function did not respond to pipeline step "compose" before its deadline`,
  },
  Garbage: {
    reason: "a malformed message is distinguished from a failing function",
    server: { handler: () => Buffer.from("not a message") },
    want: `${prefix}Internal desc = the function's answer is not a RunFunctionResponse: RunFunctionResponse.field 13: wire type 6 does not exist`,
  },
  Truncated: {
    reason: "a message that ends early is not half a message",
    server: { handler: () => Buffer.from([0x12, 0x7f, 0x00]) },
    want: `${prefix}Internal desc = the function's answer is not a RunFunctionResponse: RunFunctionResponse.desired: the message ends in the middle of a field`,
  },
  Oversized: {
    reason: "a response beyond the limit names both sizes",
    server: { handler: (incoming) => answer(incoming, { output: Struct.from({ pad: "x".repeat(100_000) }) }) },
    want: `${prefix}ResourceExhausted desc = Received message larger than max (100023 vs 65536): the function's answer has 100023 bytes (limit answerBytes=65536): correct the function, or raise the limit with --function-limit`,
  },
  DeepDesired: {
    reason: "an object that cannot be read must not reach the next function",
    server: {
      handler: (incoming) =>
        answer(incoming, {
          desired: create(State, { resources: new Map([["a", create(Resource, { resource: nested(deepest + 1) })]]) }),
        }),
    },
    want: `${prefix}Internal desc = the function's answer is nested too deeply in desired.resources["a"].resource`,
  },
  DeepContext: {
    reason: "the context travels on as well",
    server: { handler: (incoming) => answer(incoming, { context: nested(deepest + 1) }) },
    want: `${prefix}Internal desc = the function's answer is nested too deeply in context`,
  },
  Throws: {
    reason: "a function's own error is quoted",
    server: {
      handler: () => {
        throw statusError(status.UNKNOWN, "no such bucket");
      },
    },
    want: `${prefix}Unknown desc = no such bucket`,
  },
  OwnDeadline: {
    reason: "a deadline the function ran into itself is its own story",
    server: {
      handler: () => {
        throw statusError(status.DEADLINE_EXCEEDED, "backend too slow");
      },
    },
    want: `${prefix}DeadlineExceeded desc = backend too slow`,
  },
  UnknownStatus: {
    reason: "a status outside the standard is shown as a number",
    server: {
      handler: () => {
        throw statusError(77, "eh");
      },
    },
    want: `${prefix}Code(77) desc = eh`,
  },
  UnimplementedTwice: {
    reason: "C61: a function that implements neither version fails with the answer of the second attempt",
    server: {
      versions: ["v1"],
      handler: () => {
        throw statusError(status.UNIMPLEMENTED, "not today");
      },
    },
    want: `${prefix}Unimplemented desc = The server does not implement the method /apiextensions.fn.proto.v1beta1.FunctionRunnerService/RunFunction`,
  },
};

for (const [name, { reason, server, limitMs = 60_000, want }] of Object.entries(faults)) {
  test(`fault ${name}: ${reason}`, async () => {
    const before = resources();
    await using fn = await serveFunction(server);
    const runner = createDiallingRunner({ security: "plaintext", answerLimits: { answerBytes: 65_536 } });
    const run = runner.run(targetAt(fn.endpoint), request(), call({ deadline: Date.now() + limitMs }));
    await assert.rejects(run, { name: "RunnerError", code: "RPC", message: want });
    await assertNothingLeft(before, runner, fn);
  });
}

test("a function that dies in the middle of a call fails it at once, and the next call reaches its successor", async () => {
  const before = resources();
  await using fn = await serveFunction({
    handler: (incoming) => {
      if (fn.calls.length > 1) return answer(incoming);
      fn.cut();
      return new Promise(() => {});
    },
  });
  const runner = createDiallingRunner({ security: "plaintext" });
  const target = targetAt(fn.endpoint);
  await assert.rejects(runner.run(target, request(), call()), {
    message: `${prefix}Unavailable desc = Connection dropped`,
  });
  await runner.run(target, request(), call());
  assert.equal(fn.accepted, 2);
  await assertNothingLeft(before, runner, fn);
});

test("objects as deep as peers can read pass", async () => {
  const before = resources();
  await using fn = await serveFunction({ handler: (incoming) => answer(incoming, { output: nested(deepest) }) });
  const runner = createDiallingRunner({ security: "plaintext" });
  const response = await runner.run(targetAt(fn.endpoint), request(), call());
  assert.equal(response.output?.isEmpty, false);
  await assertNothingLeft(before, runner, fn);
});

test("a hundred runs leave no timer, listener or connection behind", async () => {
  const before = resources();
  await using fn = await serveFunction();
  const runner = createDiallingRunner({ security: "plaintext" });
  const { signal } = new AbortController();
  for (let i = 0; i < 100; i++) await runner.run(targetAt(fn.endpoint), request(), call({ signal }));
  assert.equal(resources()["Timeout"] ?? 0, before["Timeout"] ?? 0, "a timer a call");
  assert.deepEqual([fn.accepted, fn.open], [1, 1]);
  await assertNothingLeft(before, runner, fn);
});
