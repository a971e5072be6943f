// SPDX-License-Identifier: Apache-2.0

import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import { once } from "node:events";
import { type AddressInfo, createServer } from "node:net";
import { join } from "node:path";
import { test } from "node:test";
import { status } from "@grpc/grpc-js";
import { manualClock } from "@purlin/base/testing";
import { create, encode, RequestMeta, Resource, RunFunctionRequest, State, Struct } from "@purlin/function-protocol";
import { answer, serveFunction, statusError, temporaryDirectory } from "../../test/function-server.ts";
import { call, dial, gate, rejectsSoon, request, targetAt } from "../../test/runs.ts";
import { drainLimitMs } from "./connection-pool.ts";

async function freePort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return port;
}

test("a request arrives as it was made, and its answer comes back", async (t) => {
  await using fn = await serveFunction({
    handler: (received, { requestBytes }) => {
      assert.deepEqual(requestBytes, encode(RunFunctionRequest, sent));
      return answer(received);
    },
  });
  const desired = create(State, {
    resources: new Map([["bucket", create(Resource, { resource: Struct.from({ kind: "Bucket" }) })]]),
  });
  const sent = request({ meta: create(RequestMeta, { tag: "t", capabilities: [1, 2] }), desired });
  const response = await dial(t).run(targetAt(fn.endpoint), sent, call());
  assert.equal(response.meta?.tag, "t");
  assert.deepEqual(response.desired?.resources.get("bucket")?.resource?.value, { kind: "Bucket" });
});

test("the deadline travels with the call", async (t) => {
  const deadline = Date.now() + 45_000;
  let received = 0;
  await using fn = await serveFunction({
    handler: (incoming, { deadline: seen }) => {
      received = seen;
      return answer(incoming);
    },
  });
  await dial(t).run(targetAt(fn.endpoint), request(), call({ deadline }));
  assert.ok(Math.abs(received - deadline) < 5_000, `sent ${deadline}, received ${received}`);
});

test("a function on a unix socket is reached", async (t) => {
  await using fn = await serveFunction({ listen: { path: join(temporaryDirectory(t), "fn.sock") } });
  const response = await dial(t).run(targetAt(fn.endpoint), request(), call());
  assert.deepEqual(response.results, []);
});

test("after the endpoint changed, calls go to the new one while the call in flight on the old one completes", async (t) => {
  const finish = gate();
  const started = gate();
  await using old = await serveFunction({
    handler: async (incoming) => {
      started.open();
      await finish.opened;
      return answer(incoming);
    },
  });
  await using next = await serveFunction();
  const runner = dial(t);
  const inFlight = runner.run(targetAt(old.endpoint), request(), call());
  await started.opened;

  await runner.run(targetAt(next.endpoint), request(), call());
  assert.deepEqual([old.calls.length, next.calls.length], [1, 1]);
  assert.deepEqual(
    { ...runner.stats(), openSockets: old.open + next.open },
    { connections: 1, draining: 1, openSockets: 2, callsInFlight: 1 },
  );

  finish.open();
  await inFlight;
  await old.drained();
  assert.deepEqual(
    { ...runner.stats(), openSockets: next.open },
    { connections: 1, draining: 0, openSockets: 1, callsInFlight: 0 },
  );
});

test("a run of several calls stays on the old endpoint to its end", async (t) => {
  const started = gate();
  const finish = gate();
  await using old = await serveFunction({
    handler: async (incoming, { version }) => {
      started.open();
      await finish.opened;
      if (version === "v1") throw statusError(status.UNIMPLEMENTED, "not this one");
      return answer(incoming);
    },
  });
  await using next = await serveFunction();
  const runner = dial(t);
  const inFlight = runner.run(targetAt(old.endpoint), request(), call());
  await started.opened;
  await runner.run(targetAt(next.endpoint), request(), call());
  // As a requirements loop does that began before the endpoint changed.
  const nextRound = runner.run(targetAt(old.endpoint), request(), call());
  finish.open();
  await Promise.all([inFlight, nextRound]);
  await old.drained();
  await runner.run(targetAt(next.endpoint), request(), call());
  assert.equal(old.accepted, 1);
  assert.equal(next.accepted, 1, "the new endpoint's connection was never given up");
});

test("a call that hangs on the old endpoint ends when draining has taken two minutes", async (t) => {
  const clock = manualClock(Date.UTC(2026, 0, 1));
  const started = gate();
  await using old = await serveFunction({
    handler: () => {
      started.open();
      return new Promise(() => {});
    },
  });
  await using next = await serveFunction();
  const runner = dial(t, { clock });
  const hanging = runner.run(targetAt(old.endpoint), request(), call());
  const failed = assert.rejects(hanging, {
    message: 'cannot run Function "fn": rpc error: code = Canceled desc = the connection to the function was closed',
  });
  await started.opened;
  await runner.run(targetAt(next.endpoint), request(), call());

  clock.advance(drainLimitMs - 1);
  assert.equal(runner.stats().draining, 1);
  clock.advance(1);
  await failed;
  await old.drained();
  assert.equal(runner.stats().draining, 0);
});

test("fifty concurrent first calls make one connection", async (t) => {
  await using fn = await serveFunction();
  const runner = dial(t);
  await Promise.all(Array.from({ length: 50 }, () => runner.run(targetAt(fn.endpoint), request(), call())));
  assert.equal(fn.calls.length, 50);
  assert.equal(fn.accepted, 1);
  assert.equal(runner.stats().connections, 1);
});

test("packages case 71: two revisions of one function have connections of their own", async (t) => {
  await using fn = await serveFunction();
  const runner = dial(t);
  await runner.run(targetAt(fn.endpoint), request(), call());
  await runner.run(targetAt(fn.endpoint, { revisionName: "fn-2" }), request(), call());
  assert.equal(runner.stats().connections, 2);
});

test("the next collection closes the connection of a revision that is gone, and only that", async (t) => {
  await using gone = await serveFunction();
  await using stays = await serveFunction();
  const runner = dial(t);
  await runner.run(targetAt(gone.endpoint, { revisionName: "gone-1" }), request(), call());
  await runner.run(targetAt(stays.endpoint, { revisionName: "stays-1" }), request(), call());

  assert.equal(await runner.collect({ list: async () => ["stays-1", "other-1"] }), 1);
  await gone.drained();
  assert.deepEqual([gone.open, stays.open, runner.stats().connections], [0, 1, 1]);
});

test("an empty pool does not ask which revisions exist", async (t) => {
  const runner = dial(t);
  assert.equal(await runner.collect({ list: () => assert.fail("nothing to collect, nothing to list") }), 0);
});

test("a list that fails closes nothing", async (t) => {
  await using fn = await serveFunction();
  const runner = dial(t);
  await runner.run(targetAt(fn.endpoint), request(), call());
  const boom = new Error("boom");
  await assert.rejects(runner.collect({ list: () => Promise.reject(boom) }), boom);
  assert.equal(runner.stats().connections, 1);
});

test("a revision called for the first time while the list is read is not collected", async (t) => {
  await using fn = await serveFunction();
  const runner = dial(t);
  await runner.run(targetAt(fn.endpoint), request(), call());
  const list = async (): Promise<string[]> => {
    await runner.run(targetAt(fn.endpoint, { revisionName: "fn-2" }), request(), call());
    return [];
  };
  assert.equal(await runner.collect({ list }), 1);
  assert.equal(runner.stats().connections, 1);
});

test("a call waits for a function that is not listening yet", async (t) => {
  const port = await freePort();
  const runner = dial(t);
  const waiting = runner.run(targetAt(`127.0.0.1:${port}`), request(), call());
  // The first attempt is refused before the function comes up.
  await new Promise((resolve) => setImmediate(resolve));
  await using fn = await serveFunction({ listen: { host: "127.0.0.1", port } });
  await waiting;
  assert.equal(fn.calls.length, 1);
});

test("a function that never listens gives DeadlineExceeded with the reason", async (t) => {
  const port = await freePort();
  const runner = dial(t);
  await rejectsSoon((call) => runner.run(targetAt(`127.0.0.1:${port}`), request(), call), {
    name: "RunnerError",
    code: "RPC",
    status: "DeadlineExceeded",
    message: `cannot run Function "fn": rpc error: code = DeadlineExceeded desc = function unreachable for pipeline step "compose" before its deadline: connect ECONNREFUSED 127.0.0.1:${port}`,
  });
});

test("a peer that came up and sends nothing is reported as that, not as one that was down before", async (t) => {
  const port = await freePort();
  const runner = dial(t);
  await rejectsSoon((call) => runner.run(targetAt(`127.0.0.1:${port}`), request(), call), /ECONNREFUSED/);
  const mute = createServer((socket) => socket.on("error", () => {})).listen(port, "127.0.0.1");
  t.after(() => mute.close());
  await rejectsSoon((call) => runner.run(targetAt(`127.0.0.1:${port}`), request(), call), {
    message: /before its deadline: connected, but no HTTP\/2 response$/,
  });
});

test("a cancelled run ends at once and says so", async (t) => {
  const started = gate();
  const ended = gate();
  await using fn = await serveFunction({
    handler: (_request, { cancelled }) => {
      started.open();
      cancelled.addEventListener("abort", ended.open);
      return new Promise(() => {});
    },
  });
  const controller = new AbortController();
  const run = dial(t).run(targetAt(fn.endpoint), request(), call({ signal: controller.signal }));
  await started.opened;
  controller.abort();
  await assert.rejects(run, {
    message: 'cannot run Function "fn": rpc error: code = Canceled desc = the run was cancelled',
  });
  await ended.opened;
});

test("a run that was cancelled before it began makes no call", async (t) => {
  await using fn = await serveFunction();
  const run = dial(t).run(targetAt(fn.endpoint), request(), call({ signal: AbortSignal.abort() }));
  await assert.rejects(run, { status: "Canceled" });
  assert.equal(fn.calls.length, 0);
});

test("an endpoint that cannot be parsed is a bad target, named with its revision", async (t) => {
  await assert.rejects(dial(t).run(targetAt("dns:///fn.ns"), request(), call()), {
    code: "BAD_TARGET",
    message:
      'cannot get gRPC client connection for Function "fn": FunctionRevision "fn-1" has a bad target: endpoint "dns:///fn.ns" has no valid host and port: expected dns:///host:port, host:port or unix:path',
  });
});

test("a runner that was shut down ends calls in flight and takes no new ones", async (t) => {
  const started = gate();
  await using fn = await serveFunction({
    handler: () => {
      started.open();
      return new Promise(() => {});
    },
  });
  const runner = dial(t);
  const run = runner.run(targetAt(fn.endpoint), request(), call());
  await started.opened;
  runner.close();
  await assert.rejects(run, { status: "Canceled" });
  await fn.drained();
  await assert.rejects(runner.run(targetAt(fn.endpoint), request(), call()), { code: "CLOSED" });
  assert.deepEqual(runner.stats(), { connections: 0, draining: 0, openSockets: 0, callsInFlight: 0 });
});

test("a v1 function that fails with INTERNAL is not asked again as v1beta1", async (t) => {
  await using fn = await serveFunction({
    handler: () => {
      throw statusError(status.INTERNAL, "out of\n  luck");
    },
  });
  await assert.rejects(dial(t).run(targetAt(fn.endpoint), request(), call()), {
    status: "Internal",
    message: 'cannot run Function "fn": rpc error: code = Internal desc = out of luck',
  });
  assert.deepEqual(
    fn.calls.map(({ version }) => version),
    ["v1"],
  );
});

test("a response of 5 MiB is accepted, one of 65 MiB is ResourceExhausted", async (t) => {
  let size = 5;
  await using fn = await serveFunction({
    handler: (incoming) => answer(incoming, { output: Struct.from({ pad: "x".repeat(size * 2 ** 20) }) }),
  });
  const runner = dial(t);
  const response = await runner.run(targetAt(fn.endpoint), request(), call());
  assert.equal((response.output?.bytes.length ?? 0) > 5 * 2 ** 20, true);

  size = 65;
  await assert.rejects(runner.run(targetAt(fn.endpoint), request(), call()), (error: Error) => {
    assert.match(
      error.message,
      /^cannot run Function "fn": rpc error: code = ResourceExhausted desc = Received message larger than max \((\d+) vs 67108864\): the function's answer has \1 bytes \(limit answerBytes=67108864\): correct the function, or raise the limit with --function-limit$/,
    );
    return true;
  });
});

test("a request beyond a function's own limit names its size and the flag to raise", async (t) => {
  await using fn = await serveFunction({ serverOptions: { "grpc.max_receive_message_length": 4 * 2 ** 20 } });
  const sent = request({ input: Struct.from({ pad: "x".repeat(5 * 2 ** 20) }) });
  const bytes = encode(RunFunctionRequest, sent).length;
  await assert.rejects(dial(t).run(targetAt(fn.endpoint), sent, call()), (error: Error) => {
    assert.ok(
      error.message.endsWith(
        `: the request has ${bytes} bytes; if that is more than the function accepts, start it with --max-recv-message-size=6 (MiB) or more`,
      ),
      error.message,
    );
    assert.match(error.message, /^cannot run Function "fn": rpc error: code = ResourceExhausted desc = /);
    return true;
  });
});

test("a request beyond the runner's own limit is not sent", async (t) => {
  await using fn = await serveFunction();
  const sent = request({ input: Struct.from({ pad: "x".repeat(2000) }) });
  await assert.rejects(dial(t, { maxRequestBytes: 1000 }).run(targetAt(fn.endpoint), sent, call()), {
    status: "ResourceExhausted",
    message: /the request has \d+ bytes, this runner sends at most 1000; raise its limit for requests$/,
  });
  assert.equal(fn.accepted, 0);
});

test("what a function hands back unchanged is the request's own object, not a copy", async (t) => {
  const struct = (a: number): Struct => Struct.from({ a });
  const resource = (a: number): Resource => create(Resource, { resource: struct(a) });
  await using fn = await serveFunction({
    handler: (incoming) => {
      incoming.desired?.resources.set("changed", resource(9)).set("new", resource(1)).delete("dropped");
      return answer(incoming);
    },
  });
  const desired = create(State, {
    composite: resource(0),
    resources: new Map([
      ["same", resource(1)],
      ["changed", resource(2)],
      ["dropped", resource(3)],
    ]),
  });
  const sent = request({ desired, context: struct(4) });
  const response = await dial(t).run(targetAt(fn.endpoint), sent, call());
  assert.equal(response.context, sent.context);
  assert.equal(response.desired?.composite?.resource, desired.composite?.resource);
  const received = response.desired?.resources;
  assert.deepEqual([...(received?.keys() ?? [])], ["same", "changed", "new"]);
  assert.equal(received?.get("same")?.resource, desired.resources.get("same")?.resource);
  assert.deepEqual(received?.get("changed")?.resource?.value, { a: 9 });
});

test("the runner reads no object of a response: unreadable ones pass through untouched", async (t) => {
  const unreadable = Struct.fromBytes(Buffer.from([0x0a, 0xff]));
  await using fn = await serveFunction({
    handler: (incoming) =>
      answer(incoming, {
        desired: create(State, { resources: new Map([["a", create(Resource, { resource: unreadable })]]) }),
        context: unreadable,
      }),
  });
  const response = await dial(t).run(targetAt(fn.endpoint), request(), call());
  assert.deepEqual(response.context?.bytes, unreadable.bytes);
  assert.throws(() => response.desired?.resources.get("a")?.resource?.value, { code: "MALFORMED" });
});
