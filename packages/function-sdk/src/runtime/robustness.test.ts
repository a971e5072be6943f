// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import { once } from "node:events";
import { connect as connectHttp2 } from "node:http2";
import { connect } from "node:net";
import { type TestContext, test } from "node:test";
import { status } from "@grpc/grpc-js";
import { decode, encode, RunFunctionRequest, RunFunctionResponse, runFunctionPaths } from "@purlin/function-protocol";
import fc from "fast-check";
import { hasCode, RawClient } from "../../test/raw-client.ts";
import { nopLogger } from "../logging/new-logger.ts";
import * as request from "../request.ts";
import * as response from "../response.ts";
import { newRequest } from "../testing/new-request.ts";
import type { FunctionHandler } from "./serve-options.ts";
import { type RunningFunction, start } from "./start.ts";

async function serving(t: TestContext, handler: FunctionHandler): Promise<RunningFunction> {
  const running = await start(handler, { address: "127.0.0.1:0", insecure: true, metricsAddress: "", log: nopLogger });
  t.after(() => running.stop(0));
  return running;
}

/** Looks at everything in a request. */
const curious: FunctionHandler = (req, ctx) => {
  const rsp = ctx.to(req);
  const xr = request.getObservedCompositeResource(req).resource;
  const names = [...request.getObservedComposedResources(req)].map(([name, one]) => `${name} ${one.resource.kind}`);
  response.setOutput(rsp, { names, xr: xr.object, input: request.getInput(req) ?? null });
  return rsp;
};

async function isAlive(t: TestContext, running: RunningFunction): Promise<void> {
  const client = new RawClient(t, running.address);
  const bytes = await client.call(runFunctionPaths.v1, encode(RunFunctionRequest, newRequest({ tag: "alive" })));
  assert.equal(decode(RunFunctionResponse, bytes).meta?.tag, "alive");
}

test("property: whatever bytes arrive, the answer is a response or a clean status", async (t) => {
  const running = await serving(t, curious);
  const client = new RawClient(t, running.address);
  const valid = encode(RunFunctionRequest, newRequest({ xr: { a: [1, { b: null }] }, observed: { x: { kind: "X" } } }));
  const broken = fc.tuple(fc.nat(valid.length - 1), fc.nat(255)).map(([at, byte]) => {
    const bytes = Buffer.from(valid);
    bytes[at] = byte;
    return bytes;
  });
  const cut = fc.nat(valid.length).map((length) => valid.subarray(0, length));
  const random = fc.uint8Array({ maxLength: 64 }).map((bytes) => Buffer.from(bytes));
  await fc.assert(
    fc.asyncProperty(fc.oneof(broken, cut, random), async (bytes) => {
      try {
        decode(RunFunctionResponse, await client.call(runFunctionPaths.v1, bytes));
      } catch (error) {
        assert.ok(hasCode(status.INTERNAL)(error), String(error));
      }
    }),
    { numRuns: 300 },
  );
  await isAlive(t, running);
});

test("a hundred calls at once get their own answers", async (t) => {
  const running = await serving(t, async (req, ctx) => {
    const rsp = ctx.to(req);
    // Half of them finish in another order than they came.
    if (Number(req.meta?.tag) % 2 === 0) await new Promise((resolve) => setImmediate(resolve));
    response.normal(rsp, String(request.getInput(req)?.["n"]));
    return rsp;
  });
  const clients = [new RawClient(t, running.address), new RawClient(t, running.address)] as const;
  const calls = Array.from({ length: 100 }, async (_, n) => {
    const req = newRequest({ tag: String(n), input: { n } });
    const client = n % 3 === 0 ? clients[0] : clients[1];
    const rsp = decode(
      RunFunctionResponse,
      await client.call(n % 5 === 0 ? runFunctionPaths.v1beta1 : runFunctionPaths.v1, encode(RunFunctionRequest, req)),
    );
    assert.deepEqual([rsp.meta?.tag, rsp.results[0]?.message], [String(n), String(n)]);
  });
  await Promise.all(calls);
});

test("a client that disconnects during its request does no harm", async (t) => {
  const running = await serving(t, curious);
  const session = connectHttp2(`http://${running.address}`);
  session.on("error", () => {});
  const stream = session.request({
    ":method": "POST",
    ":path": runFunctionPaths.v1,
    "content-type": "application/grpc",
    te: "trailers",
  });
  stream.on("error", () => {});
  // Announces a kilobyte and sends three bytes of it.
  stream.write(Buffer.from([0, 0, 0, 4, 0, 1, 2, 3]));
  await once(stream, "ready");
  session.destroy();
  await isAlive(t, running);
});

test("a caller that vanishes while its call runs aborts that call alone", async (t) => {
  const { promise: entered, resolve: enter } = Promise.withResolvers<void>();
  const { promise: aborted, resolve: abort } = Promise.withResolvers<void>();
  const running = await serving(t, async (req, ctx) => {
    if (req.meta?.tag !== "doomed") return ctx.to(req);
    ctx.signal.addEventListener("abort", () => abort());
    enter();
    return new Promise(() => {});
  });
  const doomed = new RawClient(t, running.address);
  const rejected = assert.rejects(
    doomed.call(runFunctionPaths.v1, encode(RunFunctionRequest, newRequest({ tag: "doomed" }))),
  );
  await entered;
  doomed.client.close();
  await isAlive(t, running);
  await running.stop(0);
  await Promise.all([aborted, rejected]);
});

test("peers of other protocols get no response and break nothing", async (t) => {
  const running = await serving(t, curious);
  for (const text of [
    "GET / HTTP/1.1\r\nHost: x\r\n\r\n",
    "\x00\x00\x00",
    "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\xff\xff\xff",
  ]) {
    const socket = connect(running.port, "127.0.0.1");
    socket.on("error", () => {});
    await once(socket, "connect");
    socket.end(text, "latin1");
    socket.resume();
    await once(socket, "close");
  }
  await isAlive(t, running);
});

test("methods and services that do not exist are UNIMPLEMENTED", async (t) => {
  const client = new RawClient(t, (await serving(t, curious)).address);
  const paths = [
    "/apiextensions.fn.proto.v1.FunctionRunnerService/Other",
    "/apiextensions.fn.proto.v1alpha1.ContainerizedFunctionRunnerService/RunFunction",
    "/",
  ];
  for (const path of paths)
    await assert.rejects(client.call(path, Buffer.alloc(0)), hasCode(status.UNIMPLEMENTED), path);
});
