// SPDX-License-Identifier: Apache-2.0
// However slow the network is, and whatever gets lost in it: there are never two leaders, and there is one again when it heals.

import assert from "node:assert/strict";
import { test } from "node:test";
import { type ManualClock, manualClock } from "@purlin/base/testing";
import { alreadyExists, conflict, notFound } from "@purlin/kube-objects/errors";
import type { KubeObject } from "@purlin/kube-objects/object";
import fc from "fast-check";
import { type LeaderElectionOptions, runWhileLeading } from "./leader-election.ts";

const lease = { namespace: "default", name: "core" };
const leases = { group: "coordination.k8s.io", resource: "leases" };

/** What happens to the requests of one candidate for a while. */
interface Weather {
  /** Before the server acts. */
  readonly thereMs: number;
  /** Before the candidate receives the response. */
  readonly backMs: number;
  readonly lost: "nothing" | "requests" | "answers";
}

const calm: Weather = { thereMs: 1, backMs: 1, lost: "nothing" };

/** A server with one Lease. */
class LeaseServer {
  #stored: KubeObject | undefined;
  #version = 0;

  get(): KubeObject {
    if (this.#stored === undefined) throw notFound(leases, lease.name);
    return this.#stored;
  }

  put(object: KubeObject, isNew: boolean): KubeObject {
    if (isNew && this.#stored !== undefined) throw alreadyExists(leases, lease.name);
    const { resourceVersion } = object.metadata;
    if (!isNew && resourceVersion !== this.get().metadata.resourceVersion) {
      throw conflict(leases, lease.name, "the object has been modified");
    }
    this.#stored = { ...object, metadata: { ...object.metadata, resourceVersion: String(++this.#version) } };
    return this.#stored;
  }
}

/** The way of one candidate to the server. */
function networkOf(server: LeaseServer, clock: ManualClock, weather: () => Weather): LeaderElectionOptions["client"] {
  const call = (act: () => KubeObject, signal: AbortSignal | undefined): Promise<KubeObject> => {
    const { thereMs, backMs, lost } = weather();
    const { promise, resolve, reject } = Promise.withResolvers<KubeObject>();
    signal?.addEventListener("abort", () => reject(new Error("given up")), { once: true });
    const arrive = (): void => {
      if (lost === "requests") return;
      let answer: () => void;
      try {
        const stored = act();
        answer = () => resolve(stored);
      } catch (error) {
        answer = () => reject(error);
      }
      if (lost !== "answers") clock.schedule(backMs, answer);
    };
    clock.schedule(thereMs, arrive);
    // No candidate waits for ever.
    clock.schedule(30_000, () => reject(new Error("timed out")));
    return promise;
  };
  return {
    get: (_type, _key, options) => call(() => server.get(), options?.signal),
    create: (object, options) => call(() => server.put(object, true), options?.signal),
    update: (object, options) => call(() => server.put(object, false), options?.signal),
  };
}

interface Candidate {
  isLeading(): boolean;
  setWeather(weather: Weather): void;
  leave(): void;
}

function candidate(identity: string, server: LeaseServer, clock: ManualClock): Candidate {
  const leaving = new AbortController();
  let weather = calm;
  let term: AbortSignal | undefined;
  const client = networkOf(server, clock, () => weather);
  void runWhileLeading({ client, lease, identity, clock, signal: leaving.signal }, async (signal) => {
    term = signal;
    await new Promise<void>((resolve) => signal.addEventListener("abort", () => resolve(), { once: true }));
  }).catch(() => {});
  return {
    isLeading: () => term?.aborted === false,
    setWeather: (next) => {
      weather = next;
    },
    leave: () => leaving.abort(),
  };
}

/** Lets everything happen that can happen now. */
async function settle(): Promise<void> {
  for (let turn = 0; turn < 4; turn++) await new Promise((resolve) => setImmediate(resolve));
}

async function pass(clock: ManualClock, seconds: number, look: () => void): Promise<void> {
  for (let second = 0; second < seconds; second++) {
    clock.advance(1000);
    await settle();
    look();
  }
}

const weather: fc.Arbitrary<Weather> = fc.record({
  thereMs: fc.integer({ min: 1, max: 29_000 }),
  backMs: fc.integer({ min: 1, max: 29_000 }),
  lost: fc.constantFrom("nothing", "nothing", "nothing", "requests", "answers"),
});
const episode = fc.record({
  who: fc.integer({ min: 0, max: 2 }),
  weather: fc.oneof(fc.constant(calm), weather),
  seconds: fc.integer({ min: 1, max: 70 }),
});

test("never two leaders, and one again when the network heals", async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(episode, { minLength: 1, maxLength: 10 }), async (episodes) => {
      const clock = manualClock(Date.UTC(2030, 0, 1));
      const server = new LeaseServer();
      const candidates = ["one", "two", "three"].map((name) => candidate(name, server, clock));
      const leaders = (): number => candidates.filter((one) => one.isLeading()).length;
      const look = (): void => assert.ok(leaders() <= 1, "two leaders at a time");
      try {
        for (const { who, weather: next, seconds } of episodes) {
          candidates[who]?.setWeather(next);
          await pass(clock, seconds, look);
        }
        for (const one of candidates) one.setWeather(calm);
        await pass(clock, 150, look);
        assert.equal(leaders(), 1, "there is a leader in the end");
      } finally {
        for (const one of candidates) one.leave();
        await pass(clock, 40, () => {});
      }
    }),
    { numRuns: 25 },
  );
});

test("a leader counts from when it asked, not from when it was answered", async () => {
  const clock = manualClock(Date.UTC(2030, 0, 1));
  const server = new LeaseServer();
  const one = candidate("one", server, clock);
  // It takes the Lease immediately, as others see, and gets the response 25 seconds later.
  one.setWeather({ thereMs: 1, backMs: 25_000, lost: "nothing" });
  await pass(clock, 5, () => {});
  const two = candidate("two", server, clock);
  await pass(clock, 25, () => {});
  assert.ok(one.isLeading());
  one.setWeather({ ...calm, lost: "requests" });
  await pass(clock, 120, () => assert.ok(!(one.isLeading() && two.isLeading()), "two leaders at a time"));
  assert.deepEqual([one.isLeading(), two.isLeading()], [false, true]);
  one.leave();
  two.leave();
  await pass(clock, 40, () => {});
});
