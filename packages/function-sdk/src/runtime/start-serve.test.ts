// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import process from "node:process";
import { test } from "node:test";
import { runFunctionPaths } from "@purlin/function-protocol";
import { RawClient } from "../../test/raw-client.ts";
import { isFunctionError } from "../errors/function-error.ts";
import { nopLogger } from "../logging/new-logger.ts";
import type { FunctionHandler } from "./serve-options.ts";
import { type RunningFunction, serve } from "./start.ts";

const quiet = { address: "127.0.0.1:0", insecure: true, metricsAddress: "", log: nopLogger } as const;
const noOp: FunctionHandler = (req, ctx) => ctx.to(req);
const listeners = (): number => process.listenerCount("SIGTERM") + process.listenerCount("SIGINT");

test("a function is served until its signal is aborted, and the process is left as it was", async (t) => {
  const before = listeners();
  const controller = new AbortController();
  const { promise: ready, resolve: onReady } = Promise.withResolvers<RunningFunction>();
  const served = serve(noOp, { ...quiet, signal: controller.signal, onReady });
  const { address } = await ready;
  assert.equal(listeners(), before + 2);
  await new RawClient(t, address).call(runFunctionPaths.v1, Buffer.alloc(0));
  controller.abort();
  await served;
  assert.equal(listeners(), before);
});

test("an aborted signal serves nothing", async () => {
  await serve(noOp, { ...quiet, signal: AbortSignal.abort() });
});

test("a function that cannot start leaves the process as it was, too", async () => {
  const before = listeners();
  await assert.rejects(serve(noOp, { ...quiet, insecure: false }), (error: unknown) =>
    isFunctionError(error, "NO_CREDENTIALS"),
  );
  assert.equal(listeners(), before);
});
