// SPDX-License-Identifier: Apache-2.0

import assert from "node:assert/strict";
import { test } from "node:test";
import { type ManualClock, manualClock } from "@purlin/base/testing";
import type { KubeClient } from "@purlin/kube-client";
import type { KubeObject } from "@purlin/kube-objects/object";
import { type EmbeddedCluster, eventually, startEmbeddedCluster } from "../../test/test-server.ts";
import { type LeaderElectionOptions, leaseSpecOf, leaseType, runWhileLeading } from "./leader-election.ts";

const lease = { namespace: "default", name: "core" };
const start = Date.UTC(2030, 0, 1);

interface Candidate {
  readonly name: string;
  readonly leading: () => boolean;
  readonly terms: () => number;
  /** Goes away properly. */
  leave(): Promise<void>;
  /** Its requests fail from now on, as if its machine had lost the network. */
  cut(): void;
  heal(): void;
}

function candidate(
  name: string,
  { cluster, clock }: { readonly cluster: EmbeddedCluster; readonly clock: ManualClock },
  options: Partial<LeaderElectionOptions> = {},
): Candidate {
  const leaving = new AbortController();
  let leading = false;
  let terms = 0;
  let cut = false;
  const reach = <T>(call: () => Promise<T>): Promise<T> => (cut ? Promise.reject(new Error("unreachable")) : call());
  const client: LeaderElectionOptions["client"] = {
    get: (...args) => reach(() => cluster.client.get(...args)),
    create: (...args) => reach(() => cluster.client.create(...args)),
    update: (...args) => reach(() => cluster.client.update(...args)),
  };
  const ended = runWhileLeading(
    { client, lease, identity: name, clock, signal: leaving.signal, ...options },
    async (signal) => {
      leading = true;
      terms++;
      await new Promise<void>((resolve) => signal.addEventListener("abort", () => resolve(), { once: true }));
      leading = false;
      // Work that is cut off may well fail.
      if (!leaving.signal.aborted) throw new Error("cut off");
    },
  );
  return {
    name,
    leading: () => leading,
    terms: () => terms,
    async leave() {
      leaving.abort();
      await ended;
    },
    cut: () => {
      cut = true;
    },
    heal: () => {
      cut = false;
    },
  };
}

async function withElection(
  use: (setting: { cluster: EmbeddedCluster; clock: ManualClock }) => Promise<void>,
): Promise<void> {
  await using cluster = await startEmbeddedCluster();
  await use({ cluster, clock: manualClock(start) });
}

/** Lets candidates try again, one period after the other, until something holds. */
async function whileTimePasses(clock: ManualClock, holds: () => boolean, what: string): Promise<number> {
  const from = clock.now();
  await eventually(what, () => {
    if (holds()) return true;
    clock.advance(100);
    return false;
  });
  return clock.now() - from;
}

const read = (client: KubeClient): Promise<KubeObject> => client.get(leaseType, lease);

test("the first to come leads; the other takes over at once when it leaves", async () => {
  await withElection(async (setting) => {
    const { cluster, clock } = setting;
    const one = candidate("one", setting);
    await eventually("the first one leads", one.leading);
    const two = candidate("two", setting);
    const renewed = async (): Promise<string> => leaseSpecOf(await read(cluster.client)).renewTime ?? "";
    for (let i = 0; i < 10; i++) {
      const before = await renewed();
      clock.advance(10_000);
      await eventually("the Lease is renewed", async () => (await renewed()) > before);
    }
    assert.deepEqual([one.leading(), two.leading()], [true, false], "for as long as it renews");
    const held = leaseSpecOf(await read(cluster.client));
    assert.equal(held.holderIdentity, "one");
    assert.equal(held.leaseDurationSeconds, 60);
    assert.equal(held.acquireTime, "2030-01-01T00:00:00.000000Z");
    assert.notEqual(held.renewTime, held.acquireTime);
    await one.leave();
    const took = await whileTimePasses(clock, two.leading, "the second one leads");
    assert.ok(took <= 5000, `took over after ${took} ms`);
    assert.equal(leaseSpecOf(await read(cluster.client)).holderIdentity, "two");
    await two.leave();
    const left = leaseSpecOf(await read(cluster.client));
    assert.deepEqual([left.holderIdentity ?? "", left.leaseDurationSeconds], ["", 1]);
  });
});

test("a leader that cannot renew stops before another one starts, and may lead again", async () => {
  await withElection(async (setting) => {
    const { clock } = setting;
    const one = candidate("one", setting);
    await eventually("the first one leads", one.leading);
    const two = candidate("two", setting);
    await whileTimePasses(clock, () => clock.now() - start > 4000, "both have tried");
    one.cut();
    const both: boolean[] = [];
    const stopped = await whileTimePasses(
      clock,
      () => {
        both.push(one.leading() && two.leading());
        return !one.leading();
      },
      "the first one stops",
    );
    assert.ok(stopped <= 52_000, `stopped after ${stopped} ms`);
    await whileTimePasses(clock, two.leading, "the second one leads");
    assert.ok(!both.includes(true), "never two at a time");
    assert.equal(leaseSpecOf(await read(setting.cluster.client)).leaseTransitions, 1);
    one.heal();
    await two.leave();
    await whileTimePasses(clock, one.leading, "the first one leads again");
    assert.equal(one.terms(), 2);
    await one.leave();
  });
});

test("an expired Lease is taken by the local clock, whatever its times say", async () => {
  await withElection(async (setting) => {
    const { cluster, clock } = setting;
    const spec = {
      holderIdentity: "crossplane",
      leaseDurationSeconds: 60,
      acquireTime: "2019-01-01T00:00:00.000000Z",
      renewTime: "2019-01-01T00:00:00.000000Z",
      leaseTransitions: 4,
    };
    await cluster.client.create({ ...leaseType, metadata: lease, spec });
    const holders: unknown[] = [];
    const one = candidate("one", setting, { onHolder: (holder) => holders.push(holder) });
    await eventually("it says whom it waits for", () => holders.length === 1);
    const took = await whileTimePasses(clock, one.leading, "the Lease is taken");
    assert.ok(took >= 60_000 && took < 70_000, `after ${took} ms`);
    assert.deepEqual(holders, ["crossplane", "one"]);
    const held = leaseSpecOf(await read(cluster.client));
    assert.deepEqual([held.holderIdentity, held.leaseTransitions], ["one", 5]);
    await one.leave();
  });
});

test("a leader that loses the Lease to another process stops at its next renewal", async () => {
  await withElection(async (setting) => {
    const { cluster, clock } = setting;
    const one = candidate("one", setting);
    await eventually("it leads", one.leading);
    const held = await read(cluster.client);
    await cluster.client.update({ ...held, spec: { ...leaseSpecOf(held), holderIdentity: "thief" } });
    const took = await whileTimePasses(clock, () => !one.leading(), "it stops");
    assert.ok(took <= 15_000, `after ${took} ms`);
    await one.leave();
    assert.equal(
      leaseSpecOf(await read(cluster.client)).holderIdentity,
      "thief",
      "nothing is given back that is not ours",
    );
  });
});

test("a candidate that stops while it waits writes nothing", async () => {
  await withElection(async (setting) => {
    const one = candidate("one", setting);
    await eventually("the first one leads", one.leading);
    const two = candidate("two", setting);
    await two.leave();
    assert.deepEqual([one.leading(), two.terms()], [true, 0]);
    await one.leave();
  });
});

test("work that ends or fails by itself gives the Lease back and says so", async () => {
  await withElection(async ({ cluster, clock }) => {
    const options = { client: cluster.client, lease, identity: "x", clock, signal: new AbortController().signal };
    await runWhileLeading(options, async () => {});
    assert.equal(leaseSpecOf(await read(cluster.client)).holderIdentity ?? "", "");
    const failed = runWhileLeading(options, () => Promise.reject(new Error("boom")));
    await assert.rejects(failed, /boom/);
    assert.equal(leaseSpecOf(await read(cluster.client)).holderIdentity ?? "", "");
  });
});
