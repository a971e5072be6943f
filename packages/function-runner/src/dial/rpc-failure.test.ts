// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { once } from "node:events";
import { type AddressInfo, createServer } from "node:net";
import { test } from "node:test";
import { status } from "@grpc/grpc-js";
import { manualClock } from "@purlin/base/testing";
import { serveFunction } from "../../test/function-server.ts";
import { call, dial, request, targetAt } from "../../test/runs.ts";
import type { FunctionTarget } from "../function-runner.ts";
import { mostWaiting } from "./connection.ts";
import { functionFailure, longOutageMs, Outage, statusName } from "./rpc-failure.ts";

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

// A function that is down must not block every reconcile that needs it: a waiting reconcile can do nothing else.

test("an outage is long when it has lasted, whatever its reasons were", () => {
  const clock = manualClock(Date.UTC(2026, 0, 1));
  let reported = 0;
  const outage = new Outage(clock, () => reported++);
  outage.problem = "refused";
  clock.advance(longOutageMs - 1);
  outage.problem = "reset";
  assert.deepEqual([outage.isLong, reported], [false, 0]);
  clock.advance(1);
  assert.deepEqual([outage.isLong, reported, outage.problem], [true, 1, "reset"]);
  outage.problem = undefined;
  assert.deepEqual([outage.isLong, clock.waiting], [false, 0]);
  outage.problem = "refused";
  clock.advance(longOutageMs - 1);
  outage.problem = undefined;
  clock.advance(longOutageMs);
  assert.deepEqual([outage.isLong, reported], [false, 1], "an outage that ends in time is not reported");
});

async function freePort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return port;
}

test("a few calls wait for a function that stays down, all others fail at once; when it is back all are served", async (t) => {
  const clock = manualClock(Date.UTC(2026, 0, 1));
  const runner = dial(t, { clock });
  const port = await freePort();
  const target = targetAt(`127.0.0.1:${port}`);
  const failures: string[] = [];
  const run = (): Promise<unknown> =>
    runner.run(target, request(), call()).catch((error: Error) => void failures.push(error.message));
  const waiting = Array.from({ length: mostWaiting + 5 }, run);
  // The clock advances only in this test; the connection is refused in its own time.
  while (failures.length < 5) {
    clock.advance(1000);
    await new Promise((resolve) => setImmediate(resolve));
  }
  await run();
  const refused = `connect ECONNREFUSED 127.0.0.1:${port}`;
  const want = `cannot run Function "fn": rpc error: code = Unavailable desc = function unreachable: ${refused}`;
  assert.deepEqual(
    failures,
    Array.from({ length: 6 }, () => want),
  );
  await using fn = await serveFunction({ listen: { host: "127.0.0.1", port } });
  await Promise.all(waiting);
  assert.equal(fn.calls.length, mostWaiting);
  await run();
  assert.deepEqual([failures.length, fn.calls.length], [6, mostWaiting + 1]);
});

test("a call that waits at an address that is down fails as soon as the function has another address", async (t) => {
  const runner = dial(t);
  const port = await freePort();
  const waiting = runner.run(targetAt(`127.0.0.1:${port}`), request(), call());
  const failed = assert.rejects(waiting, new RegExp(`code = Unavailable .*ECONNREFUSED 127.0.0.1:${port}`));
  await using elsewhere = await serveFunction();
  await runner.run(targetAt(elsewhere.endpoint), request(), call());
  await failed;
  await runner.run(targetAt(elsewhere.endpoint), request(), call());
  assert.equal(elsewhere.calls.length, 2);
  assert.equal(runner.stats().callsInFlight, 0);
});
