// SPDX-License-Identifier: Apache-2.0

import assert from "node:assert/strict";
import { test } from "node:test";
import { type ManualClock, manualClock } from "@purlin/base/testing";
import { type FunctionServer, serveFunction } from "../../test/function-server.ts";
import { assertNothingLeft, call, dial, patience, rejectsSoon, request, resources, targetAt } from "../../test/runs.ts";
import { type NameResolver, refreshMs } from "./channel-resolver.ts";
import { createDiallingRunner, type DiallingRunner } from "./dialling-runner.ts";

/** A name whose addresses a test decides, as a headless Service's are decided by its Pods. */
function names(...addresses: readonly string[]): NameResolver & { addresses: readonly string[]; lookups: number } {
  return {
    addresses,
    lookups: 0,
    async resolve(host) {
      assert.equal(host, "fn.ns");
      this.lookups++;
      if (this.addresses.length === 0) throw new Error("not found");
      return this.addresses;
    },
  };
}

/** One function on several addresses with the same port, as Pods behind a Service are. */
async function servePods(addresses: readonly string[]): Promise<FunctionServer[]> {
  for (;;) {
    const pods = [await serveFunction({ listen: { host: addresses[0] ?? "", port: 0 } })];
    const port = pods[0]?.port ?? 0;
    try {
      for (const host of addresses.slice(1)) pods.push(await serveFunction({ listen: { host, port } }));
      return pods;
    } catch {
      // The port is taken on another address; take a new one.
      for (const pod of pods) await pod.stop();
    }
  }
}

const hosts = ["127.0.0.1", "127.0.0.2", "127.0.0.3"];
const served = (pods: readonly FunctionServer[]): number[] => pods.map(({ calls }) => calls.length);

/** Calls until every Pod has been connected to. */
async function warmUp(runner: DiallingRunner, endpoint: string, pods: readonly FunctionServer[]): Promise<void> {
  const giveUp = Date.now() + patience;
  while (pods.some(({ calls }) => calls.length === 0) && Date.now() < giveUp) {
    await runner.run(targetAt(endpoint), request(), call());
  }
}

/** Lets promises and I/O settle, then moves time. */
async function advance(clock: ManualClock, ms: number): Promise<void> {
  clock.advance(ms);
  await new Promise((resolve) => setImmediate(resolve));
}

test("calls spread evenly over three Pods", async (t) => {
  const pods = await servePods(hosts);
  t.after(() => Promise.all(pods.map((pod) => pod.stop())));
  const runner = dial(t, { names: names(...hosts) });
  const endpoint = `dns:///fn.ns:${pods[0]?.port}`;
  await warmUp(runner, endpoint, pods);

  const before = served(pods);
  for (let i = 0; i < 30; i++) await runner.run(targetAt(endpoint), request(), call());
  assert.deepEqual(
    served(pods).map((count, index) => count - (before[index] ?? 0)),
    [10, 10, 10],
  );
  assert.deepEqual(
    pods.map(({ accepted }) => accepted),
    [1, 1, 1],
  );
});

test("when a Pod dies its share goes to the others, and no call fails", async (t) => {
  const pods = await servePods(hosts);
  t.after(() => Promise.all(pods.map((pod) => pod.stop())));
  const clock = manualClock(Date.UTC(2026, 0, 1));
  const resolver = names(...hosts);
  const runner = dial(t, { names: resolver, clock });
  const endpoint = `dns:///fn.ns:${pods[0]?.port}`;
  await warmUp(runner, endpoint, pods);

  resolver.addresses = hosts.slice(0, 2);
  await pods[2]?.stop();
  await t.waitFor(() => assert.equal(runner.stats().openSockets, 2), { interval: 1, timeout: patience });
  const before = served(pods);
  for (let i = 0; i < 20; i++) await runner.run(targetAt(endpoint), request(), call());
  assert.deepEqual(
    served(pods).map((count, index) => count - (before[index] ?? 0)),
    [10, 10, 0],
  );
  assert.equal(resolver.lookups, 1, "however often connections fail, lookups are a second apart");
  await advance(clock, 1_000);
  assert.equal(resolver.lookups, 2, "losing a connection asks for the addresses again");
});

test("a function that moved to another address is found again", async (t) => {
  const before = resources();
  const pods = await servePods(hosts.slice(0, 2));
  t.after(() => Promise.all(pods.map((pod) => pod.stop())));
  const [first, second] = pods;
  const resolver = names("127.0.0.1");
  const runner = createDiallingRunner({ security: "plaintext", names: resolver });
  const endpoint = `dns:///fn.ns:${first?.port}`;
  await runner.run(targetAt(endpoint), request(), call());

  resolver.addresses = ["127.0.0.2"];
  await first?.stop();
  const run = (): Promise<unknown> => runner.run(targetAt(endpoint), request(), call());
  // A call on a connection whose end is not noticed yet fails once.
  await run().catch(run);
  assert.deepEqual(served(pods), [1, 1]);
  assert.equal(second?.accepted, 1);
  await assertNothingLeft(before, runner, ...pods);
});

test("new replicas get their share within 30 seconds, without any connection failing", async (t) => {
  const pods = await servePods(hosts.slice(0, 2));
  t.after(() => Promise.all(pods.map((pod) => pod.stop())));
  const clock = manualClock(Date.UTC(2026, 0, 1));
  const resolver = names("127.0.0.1");
  const runner = dial(t, { names: resolver, clock });
  const endpoint = `dns:///fn.ns:${pods[0]?.port}`;
  await runner.run(targetAt(endpoint), request(), call());
  resolver.addresses = ["127.0.0.1", "127.0.0.2"];

  await advance(clock, refreshMs - 1);
  assert.equal(resolver.lookups, 1);
  await advance(clock, 1);
  assert.equal(resolver.lookups, 2);
  await warmUp(runner, endpoint, pods);
  assert.equal(pods[0]?.accepted, 1, "the connection that was there stays");
});

test("addresses that have not changed leave the connections alone", async (t) => {
  await using fn = await serveFunction();
  const clock = manualClock(Date.UTC(2026, 0, 1));
  const resolver = names("127.0.0.1");
  const runner = dial(t, { names: resolver, clock });
  for (let lookups = 1; lookups <= 5; lookups++) {
    await runner.run(targetAt(`dns:///fn.ns:${fn.port}`), request(), call());
    assert.equal(resolver.lookups, lookups);
    await advance(clock, refreshMs);
  }
  assert.equal(fn.accepted, 1);
});

test("a name that cannot be looked up yet is tried again until it can", async (t) => {
  await using fn = await serveFunction();
  const clock = manualClock(Date.UTC(2026, 0, 1));
  const resolver = names();
  const runner = dial(t, { names: resolver, clock });
  const waiting = runner.run(targetAt(`dns:///fn.ns:${fn.port}`), request(), call());
  await advance(clock, 0);
  for (const delay of [250, 500, 1_000, 2_000, 4_000, 5_000, 5_000]) {
    await advance(clock, delay - 1);
    const { lookups } = resolver;
    await advance(clock, 1);
    assert.equal(resolver.lookups, lookups + 1, `after ${delay} ms`);
  }
  resolver.addresses = ["127.0.0.1"];
  await advance(clock, 5_000);
  await waiting;
});

test("a lookup that never ends counts as failed, and is tried again", async (t) => {
  await using fn = await serveFunction();
  const clock = manualClock(Date.UTC(2026, 0, 1));
  const answers = [new Promise<string[]>(() => {}), Promise.resolve(["127.0.0.1"])];
  const runner = dial(t, { names: { resolve: () => answers.shift() ?? Promise.resolve([]) }, clock });
  const waiting = runner.run(targetAt(`dns:///fn.ns:${fn.port}`), request(), call());
  await advance(clock, 0);
  await advance(clock, 10_000);
  await advance(clock, 250);
  await waiting;
});

test("the error of a call whose function has no address says so", async (t) => {
  for (const [addresses, reason] of [
    [() => Promise.reject(new Error("no such host")), "no such host"],
    [() => Promise.resolve([]), "it has no addresses"],
  ] as const) {
    const runner = dial(t, { names: { resolve: addresses } });
    await rejectsSoon((call) => runner.run(targetAt("dns:///fn.ns:9443"), request(), call), {
      message: `cannot run Function "fn": rpc error: code = DeadlineExceeded desc = function unreachable for pipeline step "compose" before its deadline: cannot look up host "fn.ns": ${reason}`,
    });
  }
});

test("both addresses of localhost are one function", async (t) => {
  await using fn = await serveFunction();
  const runner = dial(t, { names: { resolve: async () => ["::1", "127.0.0.1"] } });
  await runner.run(targetAt(`localhost:${fn.port}`), request(), call());
  assert.equal(runner.stats().openSockets, 1);
});

test("another address than the endpoint's is connected to, without a lookup", async (t) => {
  await using fn = await serveFunction();
  const resolver = names();
  const asked: string[] = [];
  const via = (host: string, port: number) => {
    asked.push(`${host}:${port}`);
    return { host: "127.0.0.1", port: fn.port };
  };
  const runner = dial(t, { names: { ...resolver, via } });
  await runner.run(targetAt("dns:///fn.ns:9443"), request(), call());
  assert.deepEqual([asked[0], resolver.lookups, fn.accepted], ["fn.ns:9443", 0, 1]);
  const other = dial(t, { names: { ...names("127.0.0.1"), via: () => undefined } });
  await other.run(targetAt(`dns:///fn.ns:${fn.port}`), request(), call());
});

test("an address needs no lookup", async (t) => {
  await using fn = await serveFunction();
  const clock = manualClock(Date.UTC(2026, 0, 1));
  const runner = dial(t, { names: { resolve: () => assert.fail("nothing to look up") }, clock });
  await runner.run(targetAt(fn.endpoint), request(), call());
  await advance(clock, refreshMs * 2);
  await runner.run(targetAt(`dns:///127.0.0.1:${fn.port}`), request(), call());
});
