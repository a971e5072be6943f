// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import { once } from "node:events";
import { readFile, writeFile } from "node:fs/promises";
import { createServer } from "node:net";
import { join } from "node:path";
import process from "node:process";
import { type TestContext, test } from "node:test";
import { status } from "@grpc/grpc-js";
import {
  decode,
  encode,
  RunFunctionRequest,
  RunFunctionResponse,
  runFunctionPaths,
  Severity,
} from "@purlin/function-protocol";
import { hasCode, RawClient, temporaryDirectory } from "../../test/raw-client.ts";
import { isFunctionError } from "../errors/function-error.ts";
import { newLogger, nopLogger } from "../logging/new-logger.ts";
import * as request from "../request.ts";
import * as response from "../response.ts";
import { newRequest } from "../testing/new-request.ts";
import type { CallContext, FunctionHandler, ServeOptions } from "./serve-options.ts";
import { type RunningFunction, start } from "./start.ts";

const quiet = { address: "127.0.0.1:0", insecure: true, metricsAddress: "", log: nopLogger } as const;

const noOp: FunctionHandler = (req, ctx) => ctx.to(req);

async function serving(
  t: TestContext,
  handler: FunctionHandler,
  options: ServeOptions = {},
): Promise<{ running: RunningFunction; client: RawClient }> {
  const running = await start(handler, { ...quiet, ...options });
  t.after(() => running.stop(0));
  return { running, client: new RawClient(t, running.address) };
}

async function call(client: RawClient, req: RunFunctionRequest): Promise<RunFunctionResponse> {
  return decode(RunFunctionResponse, await client.call(runFunctionPaths.v1, encode(RunFunctionRequest, req)));
}

/** A request of a given size, most of it a field of a newer protocol. */
function requestOfSize(size: number): Buffer {
  const bytes = Buffer.alloc(size);
  const header = Buffer.from([0x9a, 0x06, 0x80, 0x80, 0x80, 0x00]);
  let rest = size - header.length;
  for (let i = 2; i < 6; i++, rest = Math.floor(rest / 128)) header[i] = (rest % 128) | (i < 5 ? 0x80 : 0);
  header.copy(bytes);
  return bytes;
}

test("a function is called over the network, as a function or as an object", async (t) => {
  const handler = {
    greeting: "hello",
    runFunction(req: RunFunctionRequest, ctx: CallContext): RunFunctionResponse {
      const rsp = ctx.to(req);
      response.normal(rsp, `${this.greeting} ${request.getObservedCompositeResource(req).resource.name}`);
      return rsp;
    },
  };
  const { client } = await serving(t, handler);
  const rsp = await call(client, newRequest({ tag: "t", xr: { metadata: { name: "xr" } } }));
  assert.equal(rsp.results[0]?.message, "hello xr");
  assert.equal(rsp.meta?.tag, "t");
});

test("a handler that throws answers OK with a FATAL result, or UNKNOWN when asked to", async (t) => {
  const failing: FunctionHandler = async () => {
    throw new Error("no such region");
  };
  const { client } = await serving(t, failing);
  const rsp = await call(client, newRequest({ tag: "t" }));
  assert.deepEqual(
    rsp.results.map(({ severity, message }) => [severity, message]),
    [[Severity.SEVERITY_FATAL, "no such region"]],
  );
  assert.equal(rsp.meta?.tag, "t");
  const { client: strict } = await serving(t, failing, { onHandlerError: "status" });
  await assert.rejects(
    call(strict, newRequest()),
    (error: unknown) => hasCode(status.UNKNOWN)(error) && (error as Error).message.includes("no such region"),
  );
});

test("a request that cannot be read is answered INTERNAL, naming the field, and harms no other call", async (t) => {
  const { client } = await serving(t, noOp);
  await assert.rejects(
    client.call(runFunctionPaths.v1, Buffer.from("0a040a02fffe", "hex")),
    (error: unknown) => hasCode(status.INTERNAL)(error) && (error as Error).message.includes("RequestMeta.tag"),
  );
  assert.equal((await call(client, newRequest({ tag: "t" }))).meta?.tag, "t");
});

test("an empty request is a request", async (t) => {
  const { client } = await serving(t, noOp);
  const rsp = decode(RunFunctionResponse, await client.call(runFunctionPaths.v1, Buffer.alloc(0)));
  assert.equal(rsp.desired?.resources.size, 0);
});

test("both protocol versions give the same bytes, unknown fields included", async (t) => {
  const protocols: string[] = [];
  const { client } = await serving(t, (req, ctx) => {
    protocols.push(ctx.protocol);
    return ctx.to(req);
  });
  const req = newRequest({ desired: { a: { kind: "A" } }, context: { k: 1 } });
  assert.ok(req.desired);
  req.desired.$unknown = [Uint8Array.of(0x98, 0x06, 0x05)];
  const bytes = encode(RunFunctionRequest, req);
  const v1 = await client.call(runFunctionPaths.v1, bytes);
  const v1beta1 = await client.call(runFunctionPaths.v1beta1, bytes);
  assert.deepEqual(v1beta1, v1);
  assert.ok(v1.includes(Buffer.from([0x98, 0x06, 0x05])), "C7 the field of a newer protocol is still there");
  assert.deepEqual(protocols, ["v1", "v1beta1"]);
});

test("without certificates and without --insecure nothing starts", async () => {
  for (const tlsCertsDir of [undefined, ""]) {
    await assert.rejects(
      start(noOp, { ...quiet, insecure: false, tlsCertsDir }),
      (error: unknown) => isFunctionError(error, "NO_CREDENTIALS") && error.message.includes("--insecure"),
    );
  }
});

test("insecure wins over a certificate directory, which is not even read", async (t) => {
  const { client } = await serving(t, noOp, { tlsCertsDir: "/nonexistent" });
  assert.equal((await call(client, newRequest({ tag: "t" }))).meta?.tag, "t");
});

test("requests up to 64 MiB are served, larger ones refused", async (t) => {
  const { client } = await serving(t, noOp);
  await client.call(runFunctionPaths.v1, requestOfSize(5 * 1024 * 1024));
  await assert.rejects(
    client.call(runFunctionPaths.v1, requestOfSize(65 * 1024 * 1024)),
    hasCode(status.RESOURCE_EXHAUSTED),
  );
  const { client: small } = await serving(t, noOp, { maxRecvMessageSize: 4 });
  await small.call(runFunctionPaths.v1, requestOfSize(4 * 1024 * 1024));
  await assert.rejects(
    small.call(runFunctionPaths.v1, requestOfSize(4 * 1024 * 1024 + 1)),
    hasCode(status.RESOURCE_EXHAUSTED),
  );
});

test("responses beyond the limit are refused too", async (t) => {
  const long = "x".repeat(1024 * 1024);
  const talkative: FunctionHandler = (req, ctx) => {
    const rsp = ctx.to(req);
    response.normal(rsp, long);
    return rsp;
  };
  const { client } = await serving(t, talkative, { maxSendMessageSize: 1 });
  await assert.rejects(call(client, newRequest()), hasCode(status.RESOURCE_EXHAUSTED));
});

/** A handler that waits until its caller gives up, and what it saw. */
function waiting(): { handler: FunctionHandler; entered: Promise<CallContext>; aborted: Promise<void> } {
  const { promise: entered, resolve: enter } = Promise.withResolvers<CallContext>();
  const { promise: aborted, resolve: abort } = Promise.withResolvers<void>();
  const handler: FunctionHandler = async (req, ctx) => {
    ctx.signal.addEventListener("abort", () => abort());
    enter(ctx);
    await aborted;
    return ctx.to(req);
  };
  return { handler, entered, aborted };
}

test("the signal aborts when the caller cancels", async (t) => {
  const { handler, entered, aborted } = waiting();
  const { client } = await serving(t, handler);
  const controller = new AbortController();
  const cancelled = client.call(runFunctionPaths.v1, Buffer.alloc(0), { signal: controller.signal });
  assert.equal((await entered).deadline, undefined, "no deadline was set");
  controller.abort();
  await assert.rejects(cancelled, hasCode(status.CANCELLED));
  await aborted;
});

test("the signal aborts when the caller's deadline passes", async (t) => {
  const { handler, entered, aborted } = waiting();
  const { client } = await serving(t, handler);
  const before = Date.now();
  const late = client.call(runFunctionPaths.v1, Buffer.alloc(0), { deadline: before + 1_500 });
  const rejected = assert.rejects(late, hasCode(status.DEADLINE_EXCEEDED));
  const { deadline } = await entered;
  assert.ok(deadline !== undefined && deadline.getTime() >= before, "the handler can see how long it has");
  await rejected;
  await aborted;
});

test("an address in use, or one that makes no sense, is named", async (t) => {
  const occupied = createServer().listen(0, "127.0.0.1");
  await once(occupied, "listening");
  t.after(() => occupied.close());
  const { port } = occupied.address() as { port: number };
  const cases: Record<string, "LISTEN_FAILED" | "INVALID_OPTION"> = {
    [`127.0.0.1:${port}`]: "LISTEN_FAILED",
    "256.0.0.1:0": "LISTEN_FAILED",
    "9443": "INVALID_OPTION",
    ":99999": "INVALID_OPTION",
    "::1:80": "INVALID_OPTION",
  };
  for (const [address, code] of Object.entries(cases)) {
    await assert.rejects(
      start(noOp, { ...quiet, address }),
      (error: unknown) => isFunctionError(error, code) && error.message.includes(address),
      address,
    );
  }
});

test("without a host all interfaces are served, IPv4 for certain", async (t) => {
  const { running } = await serving(t, noOp, { address: ":0" });
  const client = new RawClient(t, `127.0.0.1:${running.port}`);
  assert.equal((await call(client, newRequest({ tag: "t" }))).meta?.tag, "t");
});

test("a unix socket is served, also over one whose server died", async (t) => {
  const path = join(await temporaryDirectory(t), "fn.sock");
  const { running } = await serving(t, noOp, { network: "unix", address: path });
  assert.deepEqual([running.address, running.port], [path, 0]);
  const client = new RawClient(t, `unix:${path}`);
  assert.equal((await call(client, newRequest({ tag: "t" }))).meta?.tag, "t");
  await assert.rejects(start(noOp, { ...quiet, network: "unix", address: path }), (error: unknown) =>
    isFunctionError(error, "LISTEN_FAILED"),
  );
  await running.stop();
  // What a killed process leaves behind: a socket file without a listener.
  const abandoned = createServer().listen(path);
  await once(abandoned, "listening");
  const handle = abandoned as unknown as { _handle: { close(): void }; _pipeName?: string };
  handle._pipeName = "";
  handle._handle.close();
  const again = await start(noOp, { ...quiet, network: "unix", address: path });
  await again.stop();
  await writeFile(path, "not a socket");
  await assert.rejects(start(noOp, { ...quiet, network: "unix", address: path }), (error: unknown) =>
    isFunctionError(error, "LISTEN_FAILED"),
  );
  assert.equal(await readFile(path, "utf8"), "not a socket", "a file that is not a socket is kept");
});

test("stopping lets calls in flight finish and refuses new ones", async (t) => {
  const { promise: entered, resolve: enter } = Promise.withResolvers<void>();
  const { promise: release, resolve: finish } = Promise.withResolvers<void>();
  const { running, client } = await serving(t, async (req, ctx) => {
    enter();
    await release;
    return ctx.to(req);
  });
  const inFlight = call(client, newRequest({ tag: "in flight" }));
  await entered;
  const stopped = running.stop(60_000);
  await assert.rejects(call(new RawClient(t, running.address), newRequest()), hasCode(status.UNAVAILABLE));
  finish();
  assert.equal((await inFlight).meta?.tag, "in flight");
  await stopped;
  await assert.rejects(call(client, newRequest()), hasCode(status.UNAVAILABLE));
});

test("what does not finish within the grace period is cut", async (t) => {
  const { promise: entered, resolve: enter } = Promise.withResolvers<AbortSignal>();
  const { running, client } = await serving(t, (_, ctx) => {
    enter(ctx.signal);
    return new Promise(() => {});
  });
  const rejected = assert.rejects(call(client, newRequest()), {
    code: status.UNAVAILABLE,
    details: "the function stopped before the call completed",
  });
  const signal = await entered;
  const aborted = new Promise((resolve) => signal.addEventListener("abort", resolve));
  await running.stop(20);
  await rejected;
  await aborted;
});

test("stopping twice is stopping once; a second, impatient stop ends the grace period", async (t) => {
  const { promise: entered, resolve: enter } = Promise.withResolvers<void>();
  const { running, client } = await serving(t, () => {
    enter();
    return new Promise(() => {});
  });
  const rejected = assert.rejects(call(client, newRequest()), hasCode(status.UNAVAILABLE));
  await entered;
  const first = running.stop(600_000);
  assert.equal(running.stop(600_000), first);
  await running.stop(0);
  await first;
  await rejected;
});

/** How many of each kind of handle the process has open. */
function openHandles(): Readonly<Record<string, number>> {
  const counts: Record<string, number> = {};
  for (const kind of process.getActiveResourcesInfo()) counts[kind] = (counts[kind] ?? 0) + 1;
  return counts;
}

test("a stopped server leaves nothing behind", async (t) => {
  const before = openHandles();
  for (let round = 0; round < 3; round++) {
    const running = await start(noOp, { ...quiet, metricsAddress: "127.0.0.1:0" });
    const client = new RawClient(t, running.address);
    await call(client, newRequest());
    await fetch(`http://${running.metricsAddress}/metrics`, { headers: { connection: "close" } }).then((a) => a.text());
    client.client.close();
    await running.stop();
  }
  const after = openHandles();
  for (const kind of ["TCPServerWrap", "FSEventWrap", "PipeServerWrap"]) {
    assert.equal(after[kind] ?? 0, before[kind] ?? 0, kind);
  }
  // The clients of this test may keep their own side of a closed connection for a moment.
  assert.ok((after["TCPSocketWrap"] ?? 0) <= (before["TCPSocketWrap"] ?? 0) + 1, `sockets: ${after["TCPSocketWrap"]}`);
});

test("a server says where it listens and when it stopped", async () => {
  const lines: string[] = [];
  const running = await start(noOp, { ...quiet, log: newLogger({ write: (line) => lines.push(line) }) });
  await running[Symbol.asyncDispose]();
  assert.match(lines[0] ?? "", new RegExp(`"msg":"serving","address":"127.0.0.1:${running.port}","tls":false`));
  assert.match(lines[1] ?? "", /"msg":"stopped"/);
});

test("options that make no sense are refused by name", async () => {
  const cases: [ServeOptions, string][] = [
    [{ maxRecvMessageSize: 0 }, "maxRecvMessageSize"],
    [{ maxSendMessageSize: Number.NaN }, "maxSendMessageSize"],
    [{ ttl: -1 }, "TTL"],
  ];
  for (const [options, name] of cases) {
    await assert.rejects(
      start(noOp, { ...quiet, ...options }),
      (error: unknown) => isFunctionError(error) && error.message.includes(name),
    );
  }
});
